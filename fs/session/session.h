// libfuse's session: the connection to the kernel and the threads that serve it.
// One thread creates, starts and stops it; the threads it starts call the FrontEnd.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "fs/requests/front_end.h"
#include "fs/requests/fuse.h"
#include "fs/ring/wire.h"

namespace zarrfs {

class Session {
 public:
  /// `mount_options`: for libfuse and the kernel, e.g. "ro", "allow_other". After `wire.broken` it
  /// ends.
  static Result<std::unique_ptr<Session>> create(FrontEnd& front, const std::string& source,
                                                 const std::vector<std::string>& mount_options,
                                                 WireSettings wire = {});
  /// Stops what still runs. Does not unmount: see unmount() in mount_table.h.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Mounts; by fusermount3 where this process may not.
  Result<void> mount(const std::string& mountpoint);
  /// Instead of mount(): serves `connection`, where somebody else plays the kernel.
  Result<void> serve_connection(Fd connection);

  /// Starts the threads for /dev/fuse. `ended` is called once by one of them when the connection is
  /// over. Where all of them have been at one request for a while, one more is started, up to
  /// kMostAdded: somebody has to hear that a program waits no longer. Where all of those have been
  /// at one request for long, and most of these are other mounts' of zarrfs, the mounts wait for
  /// each other: `complain` is told, and the connection is ended, which frees all of them.
  Result<void> start(
      unsigned threads, std::function<void()> ended,
      std::function<void(const std::string&)> complain = [](const std::string&) {});
  /// Has the kernel ask again for the attributes of a node that it may know. Waits for nothing.
  void recall(NodeId node);
  /// Asks the kernel to forget nodes that it may know and does not use. False where it cannot do
  /// that (Linux before 6.18). Waits for nothing but pages that are on their way to a file that
  /// nobody has open.
  [[nodiscard]] bool prune(std::span<const NodeId> nodes);
  /// Ends the threads after the requests they are at, and joins them. What takes longer than a
  /// second is given up where it looks whether somebody waits (core/base/request.h).
  void stop();

  static constexpr unsigned kMostAdded = 24;

 private:
  struct Destroy {
    void operator()(fuse_session* session) const { fuse_session_destroy(session); }
  };
  Session(FrontEnd& front, WireSettings wire);
  struct Worker {
    std::thread thread;
    std::atomic<pid_t> asked_by{0};  ///< The thread whose request it is at.
  };
  void serve_requests(Worker& self);
  void watch_workers();
  int add_worker();
  [[nodiscard]] bool waits_in_circle() const;
  void abort_connection();
  void tell_end();

  Wire wire_;
  SessionUser user_;
  std::unique_ptr<fuse_session, Destroy> session_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< Changed by start(), then by keeper_ alone.
  std::thread keeper_;                            ///< Runs watch_workers().
  TableMutex mutex_;
  RankedCondition changed_;
  std::atomic<bool> watches_{false};  ///< Whether keeper_ waits until no thread is idle.
  std::atomic<unsigned> idle_{0};     ///< Threads that wait for a request.
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<unsigned> running_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> end_told_{false};
  std::function<void()> ended_;
  std::function<void(const std::string&)> complain_;
};

}  // namespace zarrfs
