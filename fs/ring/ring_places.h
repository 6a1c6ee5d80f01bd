// How many requests of one processor may be without an answer for long, so that some threads are
// always left for the others. Thread-safe.
#pragma once

#include <atomic>

namespace zarrfs {

class RingPlaces {
 public:
  explicit RingPlaces(unsigned count) : left_(static_cast<int>(count)) {}

  /// False: there is none left.
  bool take() {
    if (left_.fetch_sub(1) > 0) return true;
    give_back();
    return false;
  }
  void give_back() { left_.fetch_add(1); }

 private:
  std::atomic<int> left_;
};

}  // namespace zarrfs
