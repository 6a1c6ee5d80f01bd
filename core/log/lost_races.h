// What writers of one object or shard do whose put came second: they try again.
#pragma once

#include <chrono>

namespace zarrfs {

/// The tries of one write that others may come before. Of one thread.
class Race {
 public:
  /// After a put that came second: waits, by chance and longer each time (writers that come at the
  /// same moment again and again would all but one lose each time), and says whether to try again.
  /// Each loss is another writer's progress; so it is false only after 8 tries and 30 s, or where
  /// nobody waits for the write any more.
  bool lost();

 private:
  int tries_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace zarrfs
