#include "core/write/spool_limit.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/store/conditional_writer.h"

namespace zarrfs {
namespace {

/// For how long a server that has not answered is not asked for room again: a program is told at
/// once, before it makes room itself.
constexpr std::chrono::seconds kBetweenCalls{1};
/// How long is waited for what others write, before it can be committed.
constexpr std::chrono::seconds kWaitForOthers{10};

std::uint64_t bytes_of(const LoggedSuccessor& logged) {
  std::uint64_t bytes = 0;
  for (const auto& [number, records] : logged.writes) {
    for (const LogRecord& record : records) bytes += record.range.length;
  }
  return bytes;
}

}  // namespace

/// Bytes of all successors that are chunks, or were before they were written again.
std::uint64_t SpoolLimit::used() const {
  std::uint64_t bytes = 0;
  for (const DirtyPointer& shard : parts_.table.below("")) {
    const HeldLock state(shard->state_mutex);
    bytes += shard->live_bytes + shard->dead_bytes;
  }
  if (parts_.parked.empty()) return bytes;
  for (const ParkedWrite& parked : parts_.parked.all()) bytes += bytes_of(parked.logged);
  return bytes;
}

Result<SpoolLimit::Admitted> SpoolLimit::admit(std::uint64_t bytes) {
  const std::uint64_t most = parts_.options.most_unpublished;
  if (most == 0) return Admitted();
  if (bytes > most) {
    return fail(Fault::kNoSpace,
                "spool_bytes is less than the " + std::to_string(bytes) + " bytes of this chunk");
  }
  if (!take(bytes)) ZARRFS_CHECK(make_room(bytes));
  return Admitted(*this, bytes);
}

bool SpoolLimit::take(std::uint64_t bytes) {
  const std::uint64_t others = parts_.options.most_unpublished - bytes;
  const HeldLock lock(mutex_);
  if (at_most_ > others) at_most_ = used() + coming_;
  if (at_most_ > others) return false;
  at_most_ += bytes;
  coming_ += bytes;
  return true;
}

void SpoolLimit::written(std::uint64_t bytes) {
  {
    const HeldLock lock(mutex_);
    coming_ -= bytes;
    ++puts_;
  }
  written_.notify_all();
}

Result<void> SpoolLimit::make_room(std::uint64_t bytes) {
  std::string why = "what is not published does not fit";
  for (;;) {
    const std::uint64_t before = puts();
    if (take(bytes)) return {};
    Round round = commit_some(bytes, why);
    if (round == Round::kNothing) round = drop_waste(bytes, why);
    if (round == Round::kTaken) return {};
    if (round == Round::kNothing && !others_have_written(before)) {
      return fail(Fault::kNoSpace, "spool_bytes is reached: " + why);
    }
  }
}

std::vector<DirtyPointer> SpoolLimit::oldest_first() const {
  std::vector<std::pair<Clock::time_point, DirtyPointer>> shards;
  for (DirtyPointer& shard : parts_.table.below("")) {
    const HeldLock state(shard->state_mutex);
    shards.emplace_back(shard->dirty_since, shard);
  }
  std::stable_sort(shards.begin(), shards.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<DirtyPointer> sorted;
  for (auto& [since, shard] : shards) sorted.push_back(std::move(shard));
  return sorted;
}

bool SpoolLimit::server_is_away() {
  ConditionalWriter* const server = conditional_writer_of(*parts_.store);
  if (server == nullptr || Clock::now() < next_call_.load()) return server != nullptr;
  const bool away = server->away();
  if (away) next_call_ = Clock::now() + kBetweenCalls;
  return away;
}

/// Commits until `bytes` have room.
SpoolLimit::Round SpoolLimit::commit_some(std::uint64_t bytes, std::string& why) {
  Round round = Round::kNothing;
  if (server_is_away()) {
    why = "the server does not answer";
    return round;
  }
  for (const DirtyPointer& shard : oldest_first()) {
    files_.limit();
    const HeldLock lock(shard->commit_mutex);
    Result<void> committed;
    if (shard->stage != ShardStage::kClosed) {
      {
        const HeldLock state(shard->state_mutex);
        if (shard->failure) why = shard->failure->message;
        if (Clock::now() < shard->retry_at) continue;  // it has just failed, and waited for that
      }
      committed = committer_.commit(shard);
      if (!committed) why = committed.error().message;
    }
    if (shard->stage == ShardStage::kClosed) round = Round::kFreed;
    if (take(bytes)) return Round::kTaken;
    if (!committed && committed.error().fault == Fault::kIo) {  // the next would wait as long
      next_call_ = Clock::now() + kBetweenCalls;
      break;
    }
  }
  return round;
}

/// Gives up bytes that were superseded, where they are enough: their chunks were written again or
/// removed, and the shards cannot be committed.
SpoolLimit::Round SpoolLimit::drop_waste(std::uint64_t bytes, std::string& why) {
  std::vector<std::pair<std::uint64_t, DirtyPointer>> shards;
  std::uint64_t waste = 0;
  for (DirtyPointer& shard : parts_.table.below("")) {
    const HeldLock state(shard->state_mutex);
    if (shard->dead_bytes == 0) continue;
    waste += shard->dead_bytes;
    shards.emplace_back(shard->dead_bytes, shard);
  }
  if (used() - std::min(used(), waste) + bytes > parts_.options.most_unpublished) {
    return Round::kNothing;
  }
  std::stable_sort(shards.begin(), shards.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [dead, shard] : shards) {
    files_.limit();
    const HeldLock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    const auto dropped = committer_.drop_waste(shard);
    if (!dropped) why = dropped.error().message;
    if (take(bytes)) return Round::kTaken;
  }
  return Round::kNothing;
}

std::uint64_t SpoolLimit::puts() {
  const HeldLock lock(mutex_);
  return puts_;
}

/// Whether another write has ended since there were `before`; waits for those that are on their
/// way.
bool SpoolLimit::others_have_written(std::uint64_t before) {
  HeldLock lock(mutex_);
  written_.wait_for(lock, kWaitForOthers,
                    [&]() ZARRFS_REQUIRES(mutex_) { return puts_ != before || coming_ == 0; });
  return puts_ != before;
}

}  // namespace zarrfs
