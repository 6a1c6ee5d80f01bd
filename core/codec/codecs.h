// The factories of all codecs, for the table in registry.cc. Each takes the specification (alias
// resolved) and the elements that reach the codec, and fails as make_codec does.
// Pure functions; thread-safe.
#pragma once

#include <memory>

#include "core/codec/codec.h"

namespace zarrfs {

using MadeCodec = Result<std::unique_ptr<Codec>>;

// Array to array.
MadeCodec make_transpose(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_reshape(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_delta(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_fixed_scale_offset(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_scale_offset(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_astype(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_cast_value(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_quantize(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_bitround(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_numcodecs_packbits(const CodecSpec& spec, const Elements& decoded);

// Array to bytes.
MadeCodec make_bytes(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_packbits(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_vlen_utf8(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_vlen_bytes(const CodecSpec& spec, const Elements& decoded);

// Bytes to bytes.
MadeCodec make_gzip(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_zlib(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_zstd(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_blosc(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_lz4(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_bz2(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_lzma(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_shuffle(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_crc32c(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_crc32(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_adler32(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_fletcher32(const CodecSpec& spec, const Elements& decoded);
MadeCodec make_jenkins_lookup3(const CodecSpec& spec, const Elements& decoded);

}  // namespace zarrfs
