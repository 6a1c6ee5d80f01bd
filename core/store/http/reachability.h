// Whether a server answers. A request that got no answer until its deadline makes it suspect; where
// a probe gets none either the server is away, until one does. Probes are sent one at a time, and
// later and later while nobody asks. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace zarrfs {

class Reachability {
 public:
  using Clock = std::chrono::steady_clock;
  /// Hears whether there was an answer.
  using Answered = std::function<void(bool)>;
  /// Sends one small request without waiting, and has `answered` called once, by any thread. May
  /// not be called any more once stop() has returned; `answered` may.
  using Probe = std::function<void(Answered answered)>;
  /// Hears, by another thread, when the server goes away and why, and when it is back.
  using Tell = std::function<void(bool away, const std::string& text)>;

  Reachability(Probe probe, Tell tell);
  ~Reachability();
  Reachability(const Reachability&) = delete;
  Reachability& operator=(const Reachability&) = delete;

  /// A request got no answer until its deadline, for the reason `why`: waits (a few seconds at
  /// most) until a probe has told whether the server is away.
  void suspect(const std::string& why);
  /// Whether it is away. Where it is, the last probe was some time ago, and none is on its way, one
  /// is sent and waited for, for a moment.
  bool away();
  /// For how long it has been away, without a look; nothing where it is not known to be.
  [[nodiscard]] std::optional<Clock::duration> away_for() const;
  /// The reason that it was suspected for last.
  [[nodiscard]] std::string why() const;
  /// Waits so long, or until the server is away: false then, or nobody waits for the answer
  /// (core/base/request.h).
  bool pause(std::chrono::milliseconds time);
  /// How often it went away.
  [[nodiscard]] std::uint64_t outages() const;
  /// Probes no more, and wakes who waits.
  void stop();

 private:
  struct State;
  void watch();
  const std::shared_ptr<State> state_;
  const Probe probe_;
  const Tell tell_;
  std::thread thread_;  // begun when it is first needed; guarded by the state's mutex
};

}  // namespace zarrfs
