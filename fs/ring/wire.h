// What lies between the kernel and libfuse's session: requests come by read(2) on /dev/fuse and
// answers go by writev(2), or both by io_uring where that is wanted and the kernel offers it. INIT,
// FORGET and INTERRUPT always come by /dev/fuse. Lookups in one directory, and listings of it, come
// in parallel where the kernel offers that: libfuse 3.14 knows this and never says so. Attached and
// stopped by one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "fs/requests/fuse.h"
#include "fs/requests/statistics.h"
#include "fs/ring/ring.h"
#include "fs/ring/ring_plan.h"

namespace zarrfs {

struct WireSettings {
  RingUse ring = RingUse::kOff;
  RingThreads threads = {};
  /// Called where requests can no longer be served, or not as `ring` says, with the reason.
  std::function<void(const std::string&)> broken = [](const std::string&) {};
};

class Wire {
 public:
  Wire(WireSettings settings, Statistics& statistics)
      : settings_(std::move(settings)), statistics_(statistics) {}

  /// From now on `session` reads from `connection` and answers through this. Its user data has to
  /// be a SessionUser with this wire.
  Result<void> attach(fuse_session* session, int connection);
  /// Whether the request that the calling thread is at may be left without an answer for a while.
  static bool may_wait() { return RingThread::may_wait(); }
  /// Memory of an answer to the request that the calling thread is at, which is not copied then;
  /// empty where there is none.
  static std::span<char> room(std::size_t size) { return RingThread::room(size); }
  /// Ends the threads of the ring.
  void stop();

 private:
  static ssize_t on_read(int fd, void* buffer, std::size_t size, void* user);
  static ssize_t on_write(int fd, iovec* parts, int count, void* user);

  ssize_t read(int fd, void* buffer, std::size_t size);
  ssize_t write(int fd, std::span<const iovec> parts);
  void look_at_init(std::span<const char> request);
  ssize_t answer_init(int fd, std::span<const iovec> parts);
  Result<std::unique_ptr<Ring>> make_ring(int fd, const fuse_init_out& answer);

  WireSettings settings_;
  Statistics& statistics_;
  fuse_session* session_ = nullptr;
  std::atomic<std::uint64_t> init_{0};  ///< Which request it was, until it is answered.
  bool offered_ = false;                ///< By INIT, whose answer the same thread gives.
  bool parallel_ = false;               ///< Offered by INIT: requests of one directory in parallel.
  std::unique_ptr<Ring> ring_;
  std::atomic<Ring*> serving_{nullptr};  ///< `ring_`, once it serves.
};

/// What fuse_session_new is given as user data.
struct SessionUser {
  Wire* wire;
  void* server;  ///< What the operations work for.
  /// Whether the session ends, and long work for answers is given up.
  std::atomic<bool> hurries = false;
};

/// Whether nobody takes an answer to `request` any more: its program is to end, or the session
/// does.
bool nobody_waits_for(fuse_req_t request);

/// `server` of the session whose request it is.
template <class Server>
Server& server_of(fuse_req_t request) {
  return *static_cast<Server*>(static_cast<SessionUser*>(fuse_req_userdata(request))->server);
}

}  // namespace zarrfs
