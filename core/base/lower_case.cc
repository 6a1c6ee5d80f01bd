#include "core/base/lower_case.h"

namespace zarrfs {

std::string lower_case(std::string_view text) {
  std::string made(text);
  for (char& letter : made) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return made;
}

}  // namespace zarrfs
