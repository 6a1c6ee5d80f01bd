// Names that nobody else has. Thread-safe.
#pragma once

#include <string>

namespace zarrfs {

/// 128 random bits as 32 hexadecimal digits.
std::string random_digits();

}  // namespace zarrfs
