// Requests that have to wait until other programs have done something. They hold no request thread:
// one thread asks for all of them again and again, until one is answered, the program that asked is
// interrupted, or its time is up. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <thread>

#include "core/base/lock_order.h"
#include "fs/requests/reply.h"

namespace zarrfs {

class WaitingRoom {
 public:
  /// What a request comes to. kAgain: it has no answer yet, and nothing has happened.
  enum class Outcome { kAnswered, kAgain };
  /// Tries to answer. `last`: it is not asked again.
  using Attempt = std::function<Outcome(Reply& reply, bool last)>;

  /// `may_wait`: asked once for each request, by the thread that serves it.
  WaitingRoom(std::chrono::milliseconds patience, std::function<bool()> may_wait)
      : patience_(patience), may_wait_(std::move(may_wait)) {}
  ~WaitingRoom() { close(); }
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  /// Answers `reply` later; at once where it may not wait, or once closed.
  void wait(Reply reply, Attempt attempt);
  /// Answers all that wait, as if their time were up.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Reply reply;
    Attempt attempt;
    Clock::time_point until;
  };
  void serve();
  static bool is_answered(Waiting& one, bool last);

  const std::chrono::milliseconds patience_;
  const std::function<bool()> may_wait_;
  TableMutex mutex_;
  RankedCondition changed_;
  std::list<Waiting> arrived_;
  bool closed_ = false;
  std::thread thread_;  ///< Started by the first that waits.
};

}  // namespace zarrfs
