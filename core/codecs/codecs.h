// The one table of codecs: a row for each name, with the factory that makes it. To add a codec,
// write its factory in a file of its own in this folder, and a row here. A factory takes the
// specification (alias resolved) and the elements that reach the codec, and fails as make_codec
// does. Pure functions; thread-safe.
#pragma once

#include <memory>

#include "core/codecs/codec.h"

namespace zarrfs {

using MadeCodec = Result<std::unique_ptr<Codec>>;

// clang-format off
#define ZARRFS_CODECS(ROW) \
  ROW("bitround", make_bitround) \
  ROW("blosc", make_blosc) \
  ROW("bytes", make_bytes) \
  ROW("cast_value", make_cast_value) \
  ROW("crc32c", make_crc32c) \
  ROW("gzip", make_gzip) \
  ROW("numcodecs.adler32", make_adler32) \
  ROW("numcodecs.astype", make_astype) \
  ROW("numcodecs.bitround", make_bitround) \
  ROW("numcodecs.blosc", make_blosc) \
  ROW("numcodecs.bz2", make_bz2) \
  ROW("numcodecs.crc32", make_crc32) \
  ROW("numcodecs.crc32c", make_crc32c) \
  ROW("numcodecs.delta", make_delta) \
  ROW("numcodecs.fixedscaleoffset", make_fixed_scale_offset) \
  ROW("numcodecs.fletcher32", make_fletcher32) \
  ROW("numcodecs.gzip", make_gzip) \
  ROW("numcodecs.jenkins_lookup3", make_jenkins_lookup3) \
  ROW("numcodecs.lz4", make_lz4) \
  ROW("numcodecs.lzma", make_lzma) \
  ROW("numcodecs.packbits", make_numcodecs_packbits) \
  ROW("numcodecs.quantize", make_quantize) \
  ROW("numcodecs.shuffle", make_shuffle) \
  ROW("numcodecs.zlib", make_zlib) \
  ROW("numcodecs.zstd", make_zstd) \
  ROW("packbits", make_packbits) \
  ROW("reshape", make_reshape) \
  ROW("scale_offset", make_scale_offset) \
  ROW("transpose", make_transpose) \
  ROW("vlen-bytes", make_vlen_bytes) \
  ROW("vlen-utf8", make_vlen_utf8) \
  ROW("zstd", make_zstd)
// clang-format on

#define ZARRFS_DECLARE(name, factory) \
  MadeCodec factory(const CodecSpec& spec, const Elements& decoded);
ZARRFS_CODECS(ZARRFS_DECLARE)
#undef ZARRFS_DECLARE

}  // namespace zarrfs
