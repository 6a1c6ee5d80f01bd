// Names that are the same in whichever case they are written: of HTTP's fields, hosts, codecs.
// Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace zarrfs {

/// `text` with small letters for the capital ones of ASCII; other bytes stay as they are.
std::string lower_case(std::string_view text);

}  // namespace zarrfs
