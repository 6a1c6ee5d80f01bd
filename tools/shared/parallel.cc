#include "tools/shared/parallel.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/lock_order.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {

unsigned default_threads() { return std::clamp(std::thread::hardware_concurrency(), 1U, 16U); }

Result<void> parallel_for(std::uint64_t count, unsigned threads,
                          const std::function<Result<void>(std::uint64_t)>& work) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  TableMutex mutex;
  std::optional<Error> first_error;

  const auto run = [&] {
    const InterruptScope scope;
    while (!stop.load() && !interrupted()) {
      const std::uint64_t i = next.fetch_add(1);
      if (i >= count) return;
      Result<void> done = work(i);
      if (done) continue;
      stop = true;
      const HeldLock lock(mutex);
      if (!first_error) first_error = std::move(done.error());
    }
  };

  std::vector<std::thread> helpers;
  const std::uint64_t wanted = std::min<std::uint64_t>(std::max(threads, 1U), count);
  for (std::uint64_t i = 1; i < wanted; ++i) helpers.emplace_back(run);
  run();
  for (std::thread& helper : helpers) helper.join();

  if (first_error) return fail(std::move(*first_error));
  if (interrupted()) return fail(interruption());
  return {};
}

}  // namespace zarrfs::tools
