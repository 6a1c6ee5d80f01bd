// What the classes of one WriteBuffer share.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <utility>

#include "core/base/lock_order.h"
#include "core/log/lock.h"
#include "core/log/log.h"
#include "core/log/parked_writes.h"
#include "core/log/reserve.h"
#include "core/write/dirty_table.h"
#include "core/write/write_options.h"

namespace zarrfs {

struct WriteParts {
  WriteParts(std::shared_ptr<Store> store_in, WriteOptions options_in)
      : store(std::move(store_in)),
        options(std::move(options_in)),
        reserve(store, [this](const std::string& line) { options.log(false, line); }) {}

  std::shared_ptr<Store> store;
  WriteOptions options;
  StoreLock lock;
  std::unique_ptr<LogWriter> log;
  Reserve reserve;
  /// Shared by who appends drafts, alone by a commit that uses the reserve.
  Ranked<std::shared_mutex, LockRank::kRoom> room_mutex;
  std::atomic<bool> has_clones{false};  ///< A commit shared the blocks of a shard.
  DirtyTable table;
  ParkedWrites parked;

  mutable TableMutex statistics_mutex;
  WriteStatistics statistics;  ///< Under its mutex; without what the tables tell.
};

}  // namespace zarrfs
