#include "fs/session/idle.h"

#include <algorithm>

namespace zarrfs {

int IdleWatch::pause() const {
  if (limit_.count() <= 0) return -1;
  constexpr double kLongest = 1000;
  constexpr double kLooks = 4;  // within the limit: it is overstepped by a quarter at most
  return static_cast<int>(std::clamp(limit_.count() * 1000 / kLooks, 1.0, kLongest));
}

bool IdleWatch::look(std::uint64_t requests, Clock::time_point now) {
  if (limit_.count() <= 0) return false;
  if (requests != requests_) {
    requests_ = requests;
    since_ = now;
    return false;
  }
  if (now - since_ < limit_) return false;
  since_ = now;
  return true;
}

}  // namespace zarrfs
