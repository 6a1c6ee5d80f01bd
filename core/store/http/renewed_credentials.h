// Valid credentials for many threads: fetched on first use, and renewed in the background 5 minutes
// before they expire. No thread waits while there are valid ones. Their source (a program, a
// service) is asked by one thread at a time, and less and less often while it fails.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/store/http/credentials.h"

namespace zarrfs {

/// Whether a refusal without a reason may be due to credentials that have expired.
enum class Doubt {
  kNone,     ///< They were found a moment before.
  kRenewed,  ///< It may, and others have been found since.
  kRemains,  ///< It may, and no others have been found.
};

class RenewedCredentials {
 public:
  using Clock = std::chrono::steady_clock;
  /// May take long; called by a thread of its own, in a request that ends when this does.
  using Find = std::function<Result<Credentials>()>;
  /// What time it is; tests have their own.
  struct Times {
    std::function<std::int64_t()> since_1970;  ///< In seconds.
    std::function<Clock::time_point()> now;
  };

  explicit RenewedCredentials(Find find);
  RenewedCredentials(Find find, Times times);
  /// Gives up a search that is under way.
  ~RenewedCredentials();
  RenewedCredentials(const RenewedCredentials&) = delete;
  RenewedCredentials& operator=(const RenewedCredentials&) = delete;

  /// Good ones. Where there are none, waits for them: until `until`, and no longer than somebody
  /// waits for the answer (core/base/request.h). An Error of the search stands for a while.
  Result<Credentials> get(Clock::time_point until);
  /// A server said that those which a request of the time `used` went with are not good any more.
  /// Whether others may come of it: not where they were found anew a moment ago.
  bool refuse(Clock::time_point used);
  /// A server refused a request of the time `used`, and did not say why. Credentials that are not
  /// new are looked for anew, and waited for as get() does; requests go on with those that there
  /// are.
  Doubt suspect(Clock::time_point used, Clock::time_point until);

 private:
  [[nodiscard]] bool good() const;
  [[nodiscard]] bool may_ask() const;
  void ask();
  /// Until there is no search under way; kGivenUp or kIo where it is not waited for any more.
  Result<void> wait_for_search(std::unique_lock<TableMutex>& lock, Clock::time_point until);
  void take(Result<Credentials> found);
  void put_off(Clock::duration least);

  const Find find_;
  const Times times_;
  std::atomic<bool> ends_{false};
  TableMutex mutex_;
  RankedCondition answered_;
  // Guarded by mutex_:
  std::optional<Credentials> current_;
  std::optional<Error> error_;    // of the last search
  Clock::time_point found_at_;    // current_ was
  bool refused_ = false;          // current_ was
  bool asking_ = false;           // a search is under way
  Clock::time_point not_before_;  // the next search
  Clock::time_point renew_at_;    // the next one for others than good ones
  Clock::duration pause_{};       // before the next search where this one is for nothing
  Clock::time_point last_trouble_;
  std::thread thread_;  // of the last search
};

}  // namespace zarrfs
