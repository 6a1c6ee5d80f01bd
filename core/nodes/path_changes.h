// Directories get other paths while programs look: what is not found meanwhile may only have been
// renamed. Who renames never waits for those who look. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "core/base/request.h"
#include "core/base/result.h"

namespace zarrfs {

class PathChanges {
 public:
  /// The moment in which paths change, in the store and in all tables. One at a time.
  class Change {
   public:
    explicit Change(PathChanges& changes) : count_(changes.count_) { ++count_; }
    ~Change() { ++count_; }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    std::atomic<std::uint64_t>& count_;
  };

  /// What `look` gives: an error, or nothing, only if no path changed meanwhile.
  template <class Look>
  auto look(const Look& look) const {
    for (;;) {
      const std::uint64_t before = count_.load();
      auto found = look();
      if (is_found(found) || (!is_odd(before) && count_.load() == before)) return found;
      if (request_ended()) return found;
      while (is_odd(count_.load())) std::this_thread::sleep_for(kBetweenLooks);
    }
  }

 private:
  static constexpr std::chrono::microseconds kBetweenLooks{100};
  static bool is_odd(std::uint64_t count) { return count % 2 != 0; }
  template <class T>
  static bool is_found(const Result<std::optional<T>>& found) {
    return found && found->has_value();
  }
  template <class T>
  static bool is_found(const Result<T>& found) {
    return found.has_value();
  }

  std::atomic<std::uint64_t> count_{0};  ///< Odd while paths change.
};

}  // namespace zarrfs
