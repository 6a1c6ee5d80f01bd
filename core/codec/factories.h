// The factories that the table in registry.cc names; each codec's file defines its own.
// `configuration` is an object; `decoded` are the elements that reach the codec (for bytes to bytes
// codecs: the elements of the last array). kDamaged for a malformed configuration. Thread-safe.
#pragma once

#include <memory>

#include "core/codec/codec.h"

namespace zarrfs {

using CodecFactory = Result<std::unique_ptr<Codec>> (*)(const Json& configuration,
                                                        const Elements& decoded);

// Array to array.
Result<std::unique_ptr<Codec>> make_transpose(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_delta(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_fixedscaleoffset(const Json& configuration,
                                                     const Elements& decoded);
Result<std::unique_ptr<Codec>> make_astype(const Json& configuration, const Elements& decoded);

// Array to bytes.
Result<std::unique_ptr<Codec>> make_bytes(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_vlen_utf8(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_vlen_bytes(const Json& configuration, const Elements& decoded);

// Bytes to bytes.
Result<std::unique_ptr<Codec>> make_gzip(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_zlib(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_zstd(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_blosc(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_lz4(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_bz2(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_lzma(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_shuffle(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_crc32c(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_crc32(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_adler32(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_fletcher32(const Json& configuration, const Elements& decoded);
Result<std::unique_ptr<Codec>> make_jenkins_lookup3(const Json& configuration,
                                                    const Elements& decoded);

/// A whole number of a configuration within [least, most]; `otherwise` where there is none.
Result<std::int64_t> integer_member(const Json& configuration, const char* codec,
                                    const char* member, std::int64_t otherwise, std::int64_t least,
                                    std::int64_t most);

}  // namespace zarrfs
