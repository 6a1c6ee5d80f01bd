// The threads that serve a connection by io_uring: some for each processor that is possible.
// One thread prepares, serves and stops it; answers come from any.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "fs/ring/ring_places.h"
#include "fs/ring/ring_plan.h"
#include "fs/ring/ring_thread.h"

namespace zarrfs {

class Ring {
 public:
  struct Place {
    fuse_session* session;
    int device;
    Statistics& statistics;
    std::function<void(const std::string&)> broken;  ///< See RingConnection.
  };

  /// Makes everything that can fail, before the kernel is told: it waits for all queues then.
  static Result<std::unique_ptr<Ring>> prepare(const Place& place, const RingPlan& plan);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// After the answer to INIT that takes the offer.
  void serve();
  /// Answers a request that came by a ring. How many bytes libfuse gave, or nothing where it is
  /// none of these.
  std::optional<std::size_t> answer(std::uint64_t unique, std::span<const iovec> answer);
  /// Ends the threads after the requests they are at, and joins them. Answers that still come are
  /// dropped.
  void stop();

 private:
  Ring() = default;
  Result<void> start(const RingPlan& plan);
  void let_go(bool serve);

  RingConnection connection_;
  std::deque<RingPlaces> places_;  ///< Of each queue.
  std::vector<std::unique_ptr<RingThread>> threads_;
  bool let_go_ = false;
};

}  // namespace zarrfs
