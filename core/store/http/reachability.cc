#include "core/store/http/reachability.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/base/lock_order.h"
#include "core/base/request.h"

namespace zarrfs {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kProbePatience{2000};  // then it counts as not answered
constexpr milliseconds kSuspectPatience{3000};
constexpr milliseconds kMoment{250};
constexpr milliseconds kLeastPause{100};
constexpr milliseconds kBetweenProbes{100};  // that programs wait for
constexpr milliseconds kLongestProbePause{5000};
constexpr milliseconds kBetweenInterrupts{100};

std::string in_seconds(Reachability::Clock::duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

struct Reachability::State {
  enum class Kind { kAnswers, kSuspected, kAway };
  /// Of the probe that was sent last.
  enum class Sent { kNone, kOnItsWay, kAnswered, kFailed };

  mutable TableMutex mutex;
  RankedCondition changed;
  // Under mutex:
  Kind kind = Kind::kAnswers;
  Sent sent = Sent::kNone;
  bool ends = false;
  bool wanted = false;  ///< Somebody waits for the next probe.
  std::string why;
  Clock::time_point since;       ///< It was suspected.
  Clock::time_point last_probe;  ///< Ended then.
  milliseconds pause = kLeastPause;
  std::uint64_t outages = 0;

  [[nodiscard]] Clock::time_point next_probe() const {
    return last_probe + (wanted ? std::min(pause, kBetweenProbes) : pause);
  }
  /// Until `done`, for `time` at most, and no longer than somebody waits for the answer.
  template <class Done>
  void wait(std::unique_lock<TableMutex>& lock, milliseconds time, Done done) {
    const auto until = Clock::now() + time;
    while (!ends && !done() && Clock::now() < until && !request_ended()) {
      changed.wait_until(lock, std::min(until, Clock::now() + kBetweenInterrupts));
    }
  }
};

Reachability::Reachability(Probe probe, Tell tell)
    : state_(std::make_shared<State>()), probe_(std::move(probe)), tell_(std::move(tell)) {}

Reachability::~Reachability() { stop(); }

void Reachability::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
    thread = std::move(thread_);
  }
  state_->changed.notify_all();
  if (thread.joinable()) thread.join();
}

void Reachability::suspect(const std::string& why) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.ends) return;
  if (state.kind == State::Kind::kAnswers) {
    state.kind = State::Kind::kSuspected;
    state.why = why;
    state.since = Clock::now();
    state.last_probe = {};
    state.pause = kLeastPause;
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
    state.changed.notify_all();
  }
  state.wait(lock, kSuspectPatience, [&] { return state.kind != State::Kind::kSuspected; });
}

bool Reachability::away() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.kind != State::Kind::kAway) return false;
  const Clock::time_point before = state.last_probe;
  const bool known = state.sent == State::Sent::kOnItsWay || Clock::now() < before + kBetweenProbes;
  if (known || state.ends) return true;
  state.wanted = true;
  state.changed.notify_all();
  state.changed.wait_for(lock, kMoment, [&] {
    return state.ends || state.kind != State::Kind::kAway || state.last_probe != before;
  });
  return state.kind == State::Kind::kAway;
}

std::optional<Reachability::Clock::duration> Reachability::away_for() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->kind != State::Kind::kAway) return std::nullopt;
  return Clock::now() - state_->since;
}

std::string Reachability::why() const {
  const std::lock_guard lock(state_->mutex);
  return state_->why;
}

bool Reachability::pause(milliseconds time) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.wait(lock, time, [&] { return state.kind == State::Kind::kAway; });
  return !state.ends && state.kind != State::Kind::kAway;
}

std::uint64_t Reachability::outages() const {
  const std::lock_guard lock(state_->mutex);
  return state_->outages;
}

/// The thread that probes while the server is suspected or away.
void Reachability::watch() {
  State& state = *state_;
  using Kind = State::Kind;
  using Sent = State::Sent;
  std::unique_lock lock(state.mutex);
  const auto say = [&](bool away, const std::string& text) {
    if (!tell_) return;
    lock.unlock();
    tell_(away, text);
    lock.lock();
  };
  const auto fails = [&] {
    if (state.kind == Kind::kAway) return;
    state.kind = Kind::kAway;
    ++state.outages;
    state.changed.notify_all();
    say(true, std::string(state.why));
  };
  while (!state.ends) {
    if (state.kind == Kind::kAnswers) {
      state.changed.wait(lock);
      continue;
    }
    if (Clock::now() < state.next_probe()) {
      state.changed.wait_until(lock, state.next_probe());
      continue;
    }
    state.sent = Sent::kOnItsWay;
    state.wanted = false;
    lock.unlock();
    probe_([kept = state_](bool answered) {
      const std::lock_guard guard(kept->mutex);
      kept->sent = answered ? Sent::kAnswered : Sent::kFailed;
      kept->changed.notify_all();
    });
    lock.lock();
    const auto told = [&] { return state.ends || state.sent != Sent::kOnItsWay; };
    if (!state.changed.wait_for(lock, kProbePatience, told)) fails();
    state.changed.wait(lock, told);
    if (state.ends) return;
    if (state.sent == Sent::kFailed) fails();
    state.last_probe = Clock::now();
    state.pause = std::min(state.pause * 2, kLongestProbePause);
    if (state.sent == Sent::kAnswered) {
      const bool was_away = std::exchange(state.kind, Kind::kAnswers) == Kind::kAway;
      state.changed.notify_all();
      if (was_away) say(false, "after " + in_seconds(Clock::now() - state.since));
    }
    state.sent = Sent::kNone;
    state.changed.notify_all();
  }
}

}  // namespace zarrfs
