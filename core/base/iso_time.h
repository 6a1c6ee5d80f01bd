// Times as text. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace zarrfs {

/// "2026-11-22T12:20:00Z", of seconds since 1970.
std::string iso_time(std::int64_t seconds);

}  // namespace zarrfs
