// Parts of a work that several machines do, each some. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrfs::tools {

constexpr std::uint64_t kMostParts = 1'000'000;

struct Part {
  std::uint64_t part = 1;  ///< From 1.
  std::uint64_t parts = 1;
};

/// "3/64"; nothing where it is not such: I is 1 to N, N at most kMostParts.
std::optional<Part> parse_part(std::string_view text);
/// What is wrong with it, for the user; empty where nothing is.
std::string wrong_part(const std::string& text);

/// The numbers from `begin` up to `end`.
struct NumberRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t count() const { return end - begin; }
};

/// What both have; `count()` is 0 where that is nothing.
NumberRange common_range(NumberRange a, NumberRange b);

/// A part of `total` things: as many in each, or one less.
NumberRange range_of_part(std::uint64_t total, Part part);

}  // namespace zarrfs::tools
