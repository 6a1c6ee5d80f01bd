// Values of options, from text. Pure functions; thread-safe. Errors are kInvalid and name the
// value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// A decimal number from `least` to `most`.
Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most);

/// Bytes: a number, or one with K, M, G, T, or KiB, MiB, GiB, TiB: 1K and 1KiB are 1024 bytes.
Result<std::uint64_t> parse_size(std::string_view text);

/// Seconds, 0 to 365 days, with a fraction if wanted.
Result<double> parse_seconds(std::string_view text);

/// Permission bits in octal, 0 to 777.
Result<std::uint32_t> parse_permissions(std::string_view text);

/// Items of a list separated by commas; "\," and "\\" stand for a comma and a backslash. Empty
/// items are left out.
std::vector<std::string> split_options(std::string_view text);

}  // namespace zarrfs
