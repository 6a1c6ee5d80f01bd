// Digests for numbering and comparing, the same on every machine; not against an adversary.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace zarrfs {

/// Two numbers as one that looks random.
std::uint64_t mix_numbers(std::uint64_t a, std::uint64_t b);
/// A 64-bit digest of `text`.
std::uint64_t digest_of(std::string_view text);

}  // namespace zarrfs
