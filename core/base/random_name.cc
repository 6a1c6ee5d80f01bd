#include "core/base/random_name.h"

#include <random>

namespace zarrfs {

std::string random_digits() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string text;
  for (int i = 0; i < 32; ++i) text.push_back(kDigits[random() % 16]);
  return text;
}

}  // namespace zarrfs
