// Numbers on the command line. Pure functions.
#pragma once

#include "core/cli/command.h"

namespace zarrfs {

/// Refuses what does not begin with a number from `least` to what 64 bits hold, naming the value:
/// CLI11 itself would take the nearest number that there is. A unit may follow.
CLI::Validator number_from(std::uint64_t least);

}  // namespace zarrfs
