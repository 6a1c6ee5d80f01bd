// Numbers on the command line. Pure functions.
#pragma once

#include "core/cli/command.h"

namespace zarrfs::tools {

/// Refuses what is no whole decimal number from `least` to what 64 bits hold, naming the value:
/// CLI11 itself would take the nearest number that there is, and read one that begins with 0 as
/// octal. A unit may follow.
CLI::Validator number_from(std::uint64_t least);

/// Refuses what is no whole decimal number from `least` to `most`, naming the value: CLI11's own
/// range takes numbers that are negative enough.
CLI::Validator whole_number_between(std::uint64_t least, std::uint64_t most);

/// Refuses what is no number from `least` to `most`, naming the value: CLI11's own range takes
/// what is not a number.
CLI::Validator number_between(double least, double most);

/// An option whose one value is a shape: "64x64x64", "64,64,64" or "64".
CLI::Option* add_lengths(CLI::App& app, const std::string& name,
                         std::vector<std::uint64_t>& lengths, const std::string& help);

/// An option whose one value is `count` numbers with commas between them.
CLI::Option* add_numbers(CLI::App& app, const std::string& name,
                         std::vector<std::uint64_t>& numbers, std::size_t count,
                         const std::string& help);
CLI::Option* add_numbers(CLI::App& app, const std::string& name, std::vector<double>& numbers,
                         std::size_t count, const std::string& help);

}  // namespace zarrfs::tools
