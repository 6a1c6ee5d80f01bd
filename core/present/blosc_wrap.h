// The same compressed payload in another container: a zstd frame, lz4 block or zlib stream inside a
// blosc buffer of one block, for readers that know blosc and not the bare codec. Nothing is
// compressed anew, and sizes follow from sizes. Source: c-blosc 1 README_HEADER.rst ("Blosc Header
// Format"), numcodecs (lz4 has a prefix of 4 bytes: the size). Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codecs/codec.h"

namespace zarrfs {

/// What a blosc buffer can hold, by the number its header has for it.
enum class Container : std::uint8_t { kNone = 0, kLz4 = 1, kZlib = 3, kZstd = 4 };

/// The container for payloads of the v2 codec `id`; kNone where blosc has none.
Container container_of(std::string_view id);

/// blosc's name for the compressor: "lz4", "zlib", "zstd".
std::string_view container_name(Container container);

/// The largest decoded size that one block can have.
inline constexpr std::uint64_t kMaxBloscWrapped = std::uint64_t{512} << 20U;

/// Bytes that blosc_wrap() adds.
std::int32_t blosc_wrap_growth(Container container);

/// `payload` as a blosc buffer. `decoded_bytes` is the size it decodes to (1 to kMaxBloscWrapped),
/// `codec` what decodes it: asked only where the payload is just as long as what it decodes to,
/// which blosc takes for not compressed.
Result<Bytes> blosc_wrap(ByteView payload, Container container, std::uint64_t decoded_bytes,
                         std::uint32_t element_size, const CodecChain::Step& codec);

/// The payload of a buffer made by blosc_wrap(), without decoding it; nothing where a program made
/// the buffer otherwise.
std::optional<Bytes> blosc_unwrap(ByteView buffer, Container container,
                                  std::uint64_t decoded_bytes);

}  // namespace zarrfs
