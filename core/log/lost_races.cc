#include "core/log/lost_races.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace zarrfs {

void let_others_finish(int round) {
  constexpr int kMostDoublings = 6;
  thread_local std::minstd_rand random(std::random_device{}());
  // Nobody tells a writer that another one is done.
  std::this_thread::sleep_for(
      std::chrono::milliseconds(random() % (20U << std::min(round, kMostDoublings))));
}

}  // namespace zarrfs
