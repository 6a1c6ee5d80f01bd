// Publishing: when a shard's drafts become the shard, what follows, and what a failure leaves.
#include <fcntl.h>

#include <algorithm>

#include "core/write/write_buffer.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr std::size_t kDraftMemory = sizeof(Draft) + 64;  // with the map's node
constexpr std::chrono::seconds kFirstRetry{1};
constexpr std::chrono::seconds kLastRetry{60};

/// Whether the store still has the array that the shard's chunks were written for.
Result<void> check_form(Store& store, const DirtyShard& shard) {
  ZARRFS_TRY(Node node, load_node(store, shard.array_path));
  if (node.kind == Node::Kind::kDamaged) return fail(std::move(node.error));  // it cannot be told
  if (node.array && node.array->form == shard.form) return {};
  return fail(Fault::kInvalid, "array " + shard.array_path +
                                   " is another one since its chunks were written: another "
                                   "program has replaced or removed it");
}

/// Where no shard file is left: the directories from its own up to the array's, as far as they are
/// empty.
void remove_empty_directories(Store& store, const DirtyShard& shard) {
  std::string directory = parent_path(shard.shard_path);
  while (directory.size() > shard.array_path.size() && store.remove_directory(directory)) {
    directory = parent_path(directory);
  }
}

}  // namespace

/// Moves drafts to a successor of their own, durable when it returns. Readers find them all the
/// time. Where it fails they stay where they are.
Result<void> WriteBuffer::carry_on(const Pointer& shard,
                                   const std::map<std::uint64_t, Draft>& drafts) {
  const Pointer next = new_shard(shard->array, shard->cell);
  auto moved = copy_drafts(*shard, drafts, *next);
  if (!moved) {
    static_cast<void>(retire(*next));  // the first error is the one to tell
    return moved;
  }
  {
    const std::scoped_lock lock(shard->state_mutex, next->state_mutex);
    next->dirty_since = shard->dirty_since;
    next->retry_at = shard->retry_at;
    next->failure = shard->sync_failed ? std::nullopt : shard->failure;
    next->unsynced = false;
  }
  next->failures = shard->failures;
  next->base_bytes = shard->base_bytes;
  const std::unique_lock lock(map_mutex_);
  shards_[shard->shard_path] = next;
  return {};
}

Result<void> WriteBuffer::copy_drafts(const DirtyShard& from,
                                      const std::map<std::uint64_t, Draft>& drafts,
                                      DirtyShard& to) {
  const std::lock_guard lock(to.commit_mutex);
  for (const auto& [number, draft] : drafts) {
    if (draft.removed) {
      ZARRFS_CHECK(write_draft(to, number, nullptr, false));
    } else {
      ZARRFS_TRY(const Bytes bytes, from.reader->read_range(draft.range));
      if (crc32c(bytes) != draft.checksum) {
        return fail(Fault::kIo, "shard " + from.shard_path + ": the storage lost chunk " +
                                    std::to_string(number) + " when syncing it failed");
      }
      const ByteView view = bytes;
      ZARRFS_CHECK(write_draft(to, number, &view, draft.quarantined));
    }
    const std::lock_guard state(to.state_mutex);
    to.drafts[number].written = draft.written;
  }
  if (to.stage == ShardStage::kAppending) ZARRFS_CHECK(sync_successor(*store_, to));
  return log_->sync();
}

/// Nothing of the shard's successor is needed any more.
Result<void> WriteBuffer::retire(DirtyShard& shard) {
  const bool has_file = shard.stage == ShardStage::kAppending;
  shard.stage = ShardStage::kClosed;
  if (shard.file) --open_;
  shard.file.reset();
  if (shard.id != 0) {
    log_->append_in_time({.kind = LogRecord::Kind::kDone, .successor = shard.id});
  }
  return has_file ? store_->remove(shard.successor_path) : Result<void>{};
}

/// After a shard was published: drafts that were not go on in a successor of their own, and the old
/// one is done.
Result<void> WriteBuffer::finish(const Pointer& shard, const CommitOutcome& outcome) {
  std::map<std::uint64_t, Draft> rest;
  {
    const std::lock_guard state(shard->state_mutex);
    for (const std::uint64_t number : outcome.published) shard->erase_draft(number);
    rest = shard->drafts;
    shard->failure.reset();
  }
  if (!rest.empty()) ZARRFS_CHECK(carry_on(shard, rest));
  auto retired = retire(*shard);
  forget(shard);
  ZARRFS_CHECK(retired);
  if (outcome.after == FileIdentity{}) remove_empty_directories(*store_, *shard);
  return tidy_log();
}

/// Begins the log anew where nothing, or little, of it is needed.
Result<void> WriteBuffer::tidy_log() {
  if (log_->bytes() < options_.long_log) return {};
  ZARRFS_CHECK(clear_log());
  return log_->mostly_done() ? log_->shorten() : Result<void>{};
}

/// Begins the log anew where nothing needs it.
Result<void> WriteBuffer::clear_log() {
  const std::unique_lock lock(map_mutex_);  // nobody may begin a shard meanwhile
  if (!shards_.empty() || parked_count_ != 0) return {};
  reserve_.release();
  return log_->clear();
}

/// A commit failed: it is tried again, after a longer pause each time.
tl::unexpected<Error> WriteBuffer::report_failure(DirtyShard& shard, const Error& error) {
  shard.failures = std::min(shard.failures + 1, 10);
  const auto wait =
      std::min<std::chrono::seconds>(kFirstRetry * (1 << (shard.failures - 1)), kLastRetry);
  {
    const std::lock_guard state(shard.state_mutex);
    shard.failure = error;
    shard.retry_at = Clock::now() + wait;
  }
  options_.log(true, "shard " + shard.shard_path +
                         " could not be written, its chunks are kept and it is tried again in " +
                         std::to_string(wait.count()) + " s: " + error.message);
  const std::lock_guard guard(statistics_mutex_);
  ++statistics_.failed_commits;
  return fail(error);
}

CommitHooks WriteBuffer::hooks_of(const Pointer& shard) {
  CommitHooks hooks;
  hooks.changed = options_.changed;
  hooks.before_publish = [this, shard](bool successor_moves) -> Result<void> {
    if (!successor_moves) {  // it outlives the commit, and must not bring back older writes
      if (shard->stage == ShardStage::kAppending) ZARRFS_CHECK(shard->file->sync());
      return log_->sync();
    }
    auto noted = log_->append({.kind = LogRecord::Kind::kPublish, .successor = shard->id});
    if (!noted) return fail(noted.error());
    return {};
  };
  if (options_.replacing) {
    hooks.replacing = [this, shard](const FileIdentity& before, const FileIdentity& after) {
      options_.replacing(shard->array_path, shard->cell, before, after);
    };
  }
  return hooks;
}

/// As commit_shard; where the storage is full, or descriptors are wanting, with what is kept for
/// this.
Result<CommitOutcome> WriteBuffer::commit_with(DirtyShard& shard, const CommitHooks& hooks) {
  auto outcome = commit_shard(*store_, shard, hooks);
  if (!outcome && lacks_room(outcome.error())) {
    const std::unique_lock alone(room_mutex_);  // no write may take the room meanwhile
    const std::uint64_t room = reserve_.release();
    if (room > 0) {
      outcome = commit_shard(*store_, shard, hooks);
      static_cast<void>(reserve_.hold(room));  // the next write that needs it tells
    }
  }
  if (!outcome && outcome.error().fault == Fault::kNoFiles) {
    close_some(&shard, 0);
    const std::lock_guard lock(spare_mutex_);
    const std::size_t count = std::exchange(spare_, {}).size();
    outcome = commit_shard(*store_, shard, hooks);
    while (spare_.size() < count) {
      spare_.emplace_back(::fcntl(lock_.descriptor(), F_DUPFD_CLOEXEC, 0));
    }
  }
  return outcome;
}

Result<void> WriteBuffer::commit_pointer(const Pointer& shard) {
  {
    const std::lock_guard state(shard->state_mutex);
    if (shard->drafts.size() == shard->quarantined) return {};
  }
  if (auto same = check_form(*store_, *shard); !same) return report_failure(*shard, same.error());
  if (auto opened = open_file_of(*shard); !opened) return report_failure(*shard, opened.error());
  if (shard->sync_failed) {  // nothing that it holds can be made durable
    ZARRFS_CHECK(finish(shard, {}));
    return commit(shard->shard_path);
  }
  auto outcome = commit_with(*shard, hooks_of(shard));
  if (!outcome) return report_failure(*shard, outcome.error());
  has_clones_ = has_clones_ || outcome->cloned;
  {
    const std::lock_guard guard(statistics_mutex_);
    ++statistics_.commits;
    statistics_.bytes_committed += outcome->bytes_written;
  }
  if (options_.committed) options_.committed(shard->array_path, shard->cell, *outcome);
  return finish(shard, *outcome);
}

Result<void> WriteBuffer::commit(const std::string& shard_path) {
  const Pointer shard = find_pointer(shard_path);
  if (!shard) return {};
  close_some(nullptr, most_open_);
  const std::lock_guard lock(shard->commit_mutex);
  return shard->stage == ShardStage::kClosed ? Result<void>{} : commit_pointer(shard);
}

Result<void> WriteBuffer::commit_below(const std::string& prefix) {
  Result<void> first;
  for (Pointer& next : pointers_below(prefix)) {
    const Pointer shard = std::move(next);  // what is published keeps no descriptor until the end
    close_some(nullptr, most_open_);
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    auto committed = commit_pointer(shard);
    if (!committed && first) first = std::move(committed);
  }
  if (prefix.empty() && first) return clear_log();
  return first;
}

bool WriteBuffer::due(const DirtyShard& shard, Clock::time_point now) const {
  const std::lock_guard lock(shard.state_mutex);
  const std::uint64_t publishable = shard.drafts.size() - shard.quarantined;
  if (publishable == 0 || now < shard.retry_at) return false;
  return now - shard.changed >= options_.flush_after ||
         now - shard.dirty_since >= options_.flush_max ||
         publishable - shard.removed == shard.expected;
}

void WriteBuffer::commit_due(Clock::time_point now) {
  std::vector<Pointer> pointers = pointers_below("");
  const bool over = statistics().drafts * kDraftMemory > options_.write_buffer;
  for (Pointer& next : pointers) {
    const Pointer shard = std::move(next);
    close_some(nullptr, most_open_);
    const std::unique_lock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed || !(over || due(*shard, now))) continue;
    static_cast<void>(commit_pointer(shard));  // logged, kept and retried
  }
}

Result<void> WriteBuffer::drop_below(const std::string& path) {
  for (const Pointer& shard : pointers_below(path)) {
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    ZARRFS_CHECK(drop(shard));
  }
  const auto parked =
      take_parked([&](const LogRecord& open) { return is_at_or_below(open.array_path, path); });
  for (const Parked& one : parked) dispose(one.logged);
  return {};
}

/// Forgets all drafts of a shard. The caller holds its commit_mutex.
Result<void> WriteBuffer::drop(const Pointer& shard) {
  {
    const std::lock_guard state(shard->state_mutex);
    while (!shard->drafts.empty()) shard->erase_draft(shard->drafts.begin()->first);
  }
  return finish(shard, {});
}

}  // namespace zarrfs
