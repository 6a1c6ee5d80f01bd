// A chain of v3 codecs in the words of Zarr v2: order, filters and compressor, so that stored bytes
// can be shown as they are, or nearly. Source: Zarr v2 specification ("Metadata"), numcodecs 0.11,
// what readers accept (docs/readers.md). Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/json.h"
#include "core/codecs/codec.h"
#include "core/present/blosc_wrap.h"
#include "core/present/profile.h"

namespace zarrfs {

/// How one chain is said in Zarr v2.
struct V2Codecs {
  /// Why it cannot be said, so that chunks are to be shown decoded; empty where it can.
  std::string decode_because;
  /// Why it must not even be decoded: what the bytes mean is not certain. Empty nearly always.
  std::string hide_because;

  char order = 'C';
  Json filters;     ///< null, or an array of codecs.
  Json compressor;  ///< null, or a codec.
  /// The chain's first steps whose encoding is shown; the steps after them are checksums, trimmed.
  std::size_t kept_steps = 0;
  std::uint32_t trim_front = 0;
  std::uint32_t trim_back = 0;
  /// The blosc container in which the last kept step's bytes are shown.
  Container container = Container::kNone;
  std::uint64_t container_bytes = 0;  ///< Decoded size of what the container holds.
};

/// How `chain` is said to a reader of `profile`. `big_endian`: of its `bytes` codec.
/// `zstd_without_size`: see ArrayCircumstances.
V2Codecs v2_codecs(const CodecChain& chain, bool big_endian, const Profile& profile,
                   bool zstd_without_size);

}  // namespace zarrfs
