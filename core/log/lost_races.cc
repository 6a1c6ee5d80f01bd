#include "core/log/lost_races.h"

#include <algorithm>
#include <random>
#include <thread>

#include "core/base/request.h"

namespace zarrfs {

bool Race::lost() {
  constexpr int kLeastTries = 8;
  constexpr std::chrono::seconds kPatience{30};
  constexpr int kMostDoublings = 6;
  ++tries_;
  const bool long_ago = std::chrono::steady_clock::now() > begin_ + kPatience;
  if ((tries_ >= kLeastTries && long_ago) || !check_wanted()) return false;
  thread_local std::minstd_rand random(std::random_device{}());
  // Nobody tells a writer that another one is done.
  std::this_thread::sleep_for(
      std::chrono::milliseconds(random() % (20U << std::min(tries_, kMostDoublings))));
  return true;
}

}  // namespace zarrfs
