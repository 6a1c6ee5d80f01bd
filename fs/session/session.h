// libfuse's session: the connection to the kernel and the threads that serve it.
// One thread creates, starts and stops it; the threads it starts call the FrontEnd.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fd.h"
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
  /// over.
  Result<void> start(unsigned threads, std::function<void()> ended);
  /// Has the kernel ask again for the attributes of a node that it may know. Waits for nothing.
  void recall(NodeId node);
  /// Ends the threads after the requests they are at, and joins them.
  void stop();

 private:
  struct Destroy {
    void operator()(fuse_session* session) const { fuse_session_destroy(session); }
  };
  Session(FrontEnd& front, WireSettings wire);
  void serve_requests();
  void tell_end();

  Wire wire_;
  SessionUser user_;
  std::unique_ptr<fuse_session, Destroy> session_;
  std::vector<std::thread> threads_;
  std::atomic<unsigned> running_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> end_told_{false};
  std::function<void()> ended_;
};

}  // namespace zarrfs
