#include "fs/ring/ring.h"

#include <chrono>
#include <system_error>
#include <thread>

namespace zarrfs {

Result<std::unique_ptr<Ring>> Ring::prepare(const Place& place, const RingPlan& plan) {
  std::unique_ptr<Ring> ring(new Ring);
  ring->connection_.session = place.session;
  ring->connection_.device = place.device;
  ring->connection_.payload = plan.payload;
  ring->connection_.statistics = &place.statistics;
  ring->connection_.broken = place.broken;
  ZARRFS_CHECK(ring->start(plan));
  return ring;
}

Result<void> Ring::start(const RingPlan& plan) {
  Result<void> done;
  for (unsigned i = 0; i < plan.queues; ++i) places_.emplace_back(plan.may_wait);
  try {
    for (unsigned i = 0; i < plan.queues * plan.threads; ++i) {
      const unsigned queue = i % plan.queues;
      auto thread = std::make_unique<RingThread>(connection_, queue, places_[queue]);
      thread->start();
      threads_.push_back(std::move(thread));
    }
  } catch (const std::system_error& problem) {
    done = fail(system_error(problem.code().value(), "starting threads"));
  }
  for (const auto& thread : threads_) {
    auto prepared = thread->prepared();
    if (done && !prepared) done = std::move(prepared);
  }
  return done;
}

Ring::~Ring() { stop(); }

void Ring::let_go(bool serve) {
  if (let_go_) return;
  let_go_ = true;
  for (const auto& thread : threads_) thread->go(serve);
}

void Ring::serve() { let_go(true); }

std::optional<std::size_t> Ring::answer(std::uint64_t unique, std::span<const iovec> answer) {
  if (auto given = RingThread::answer_own(unique, answer)) return given;
  for (const auto& thread : threads_) {
    if (auto given = thread->answer(unique, answer)) return given;
  }
  return std::nullopt;
}

void Ring::stop() {
  if (connection_.stopping.exchange(true)) return;
  let_go(false);
  for (const auto& thread : threads_) {
    // A signal that comes just before it waits is lost: repeat it.
    while (thread->running()) {
      thread->wake();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  for (const auto& thread : threads_) thread->join();
}

}  // namespace zarrfs
