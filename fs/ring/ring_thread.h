// A thread that serves the queue of one processor, by an io_uring of its own. It has one entry, so
// that the kernel gives requests only to threads that are free for them. While a request waits for
// another program (see waiting_room.h) it keeps the entry, and the thread rests: an entry that is
// registered later would not be given a request that came before it. It never notifies the kernel:
// a notification can wait for a page whose READ waits for this thread, and then nothing ends
// either.
#pragma once

#include <liburing.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "core/base/fd.h"
#include "core/base/result.h"
#include "fs/requests/fuse.h"
#include "fs/requests/statistics.h"
#include "fs/ring/ring_entry.h"
#include "fs/ring/ring_places.h"
#include "fs/ring/thread_moves.h"

namespace zarrfs {

/// What all threads of a connection share.
struct RingConnection {
  ThreadMoves hops;
  fuse_session* session = nullptr;
  std::size_t payload = 0;  ///< Bytes of an entry.
  Statistics* statistics = nullptr;
  std::function<void(const std::string&)> broken;  ///< A thread could not go on.
  int device = -1;
  std::atomic<bool> stopping{false};
};

class RingThread {
 public:
  /// `places`: of the queue, for requests that wait.
  RingThread(RingConnection& connection, unsigned queue, RingPlaces& places)
      : connection_(connection), queue_(queue), places_(places) {}
  RingThread(const RingThread&) = delete;
  RingThread& operator=(const RingThread&) = delete;
  /// After start(), only when it was joined.
  ~RingThread();

  /// Starts it; it makes its ring. Throws std::system_error.
  void start();
  /// What that came to; waits for it. Once.
  Result<void> prepared() { return prepared_.get_future().get(); }
  /// Lets it register and serve, or end. Once.
  void go(bool serve) { go_.set_value(serve); }

  [[nodiscard]] bool running() const { return running_; }
  void wake();
  void join() { thread_.join(); }

  /// Gives the answer to the request that the calling thread is at, if that came by a ring and has
  /// this `unique`. How many bytes libfuse gave, or nothing.
  static std::optional<std::size_t> answer_own(std::uint64_t unique, std::span<const iovec> answer);
  /// The same for a request of this thread's, by any other.
  std::optional<std::size_t> answer(std::uint64_t unique, std::span<const iovec> answer);
  /// See RingEntry::room; of the request that the calling thread is at, if that came by a ring.
  static std::span<char> room(std::size_t size);
  /// Whether the request that the calling thread is at may be left without an answer for a while.
  static bool may_wait();

 private:
  Result<void> prepare();
  void run();
  void serve();
  int submit_and_wait();
  int stay_busy();
  bool take_events();
  bool take_request(int result);
  void serve_request();
  void commit();
  void watch_answered();
  io_uring_sqe* next_command();
  void give_command(std::uint32_t number, std::uint64_t commit_id);

  RingConnection& connection_;
  const unsigned queue_;
  RingPlaces& places_;
  std::thread thread_;
  std::promise<Result<void>> prepared_;
  std::promise<bool> go_;
  std::atomic<bool> running_{false};
  bool has_ring_ = false;
  io_uring ring_{};
  std::unique_ptr<RingEntry> entry_;
  bool serves_ = false;  ///< It is at the request.
  bool waits_ = false;   ///< The request has one of `places_`.
  pid_t busy_for_ =
      0;  ///< Whose processor it keeps busy for a while after the answer; see ThreadMoves.
  Fd answered_event_;  ///< Wakes it when another thread has answered.
  std::uint64_t event_count_ = 0;
};

}  // namespace zarrfs
