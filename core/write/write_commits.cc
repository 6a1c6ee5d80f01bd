// Publishing: when a shard's drafts become the shard, what follows, and what a failure leaves.
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
/// time.
Result<void> WriteBuffer::carry_on(const Pointer& shard,
                                   const std::map<std::uint64_t, Draft>& drafts) {
  const Pointer next = new_shard(shard->array, shard->cell);
  for (const auto& [number, draft] : drafts) {
    if (draft.removed) {
      ZARRFS_CHECK(write_draft(*next, number, nullptr, false));
      continue;
    }
    ZARRFS_TRY(const Bytes bytes, shard->reader->read_range(draft.range));
    if (crc32c(bytes) != draft.checksum) {
      return fail(Fault::kIo, "shard " + shard->shard_path + ": the storage lost chunk " +
                                  std::to_string(number) + " when syncing it failed");
    }
    const ByteView view = bytes;
    ZARRFS_CHECK(write_draft(*next, number, &view, draft.held));
  }
  if (next->file) ZARRFS_CHECK(sync_successor(*store_, *next));
  ZARRFS_CHECK(log_->sync());
  shard->closed = true;
  const std::unique_lock lock(map_mutex_);
  shards_[shard->shard_path] = next;
  return {};
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
  if (rest.empty()) {
    forget(shard);
  } else {
    ZARRFS_CHECK(carry_on(shard, rest));
  }
  if (shard->id != 0) {
    ZARRFS_CHECK(log_->append({.kind = LogRecord::Kind::kDone, .successor = shard->id}));
  }
  if (shard->file) ZARRFS_CHECK(store_->remove(shard->successor_path));
  shard->file.reset();
  if (outcome.after == FileIdentity{}) remove_empty_directories(*store_, *shard);
  return log_->bytes() >= options_.long_log ? clear_log() : Result<void>{};
}

/// Begins the log anew where nothing needs it.
Result<void> WriteBuffer::clear_log() {
  const std::unique_lock lock(map_mutex_);  // nobody may begin a shard meanwhile
  return shards_.empty() ? log_->clear() : Result<void>{};
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

Result<void> WriteBuffer::commit_pointer(const Pointer& shard) {
  {
    const std::lock_guard state(shard->state_mutex);
    if (shard->drafts.size() == shard->held) return {};
  }
  if (auto same = check_form(*store_, *shard); !same) return report_failure(*shard, same.error());
  if (shard->sync_failed) {  // nothing that it holds can be made durable
    ZARRFS_CHECK(finish(shard, {}));
    return commit(shard->shard_path);
  }
  CommitHooks hooks;
  hooks.changed = options_.changed;
  hooks.before_publish = [&](bool successor_moves) -> Result<void> {
    if (!successor_moves) {  // it outlives the commit, and must not bring back older writes
      if (shard->file) ZARRFS_CHECK(shard->file->sync());
      return log_->sync();
    }
    auto noted = log_->append({.kind = LogRecord::Kind::kPublish, .successor = shard->id});
    if (!noted) return fail(noted.error());
    return {};
  };
  if (options_.replacing) {
    hooks.replacing = [&](const FileIdentity& before, const FileIdentity& after) {
      options_.replacing(shard->array_path, shard->cell, before, after);
    };
  }
  auto outcome = commit_shard(*store_, *shard, hooks);
  if (!outcome) return report_failure(*shard, outcome.error());
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
  const std::lock_guard lock(shard->commit_mutex);
  return shard->closed ? Result<void>{} : commit_pointer(shard);
}

Result<void> WriteBuffer::commit_below(const std::string& prefix) {
  Result<void> first;
  for (const Pointer& shard : pointers_below(prefix)) {
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->closed) continue;
    auto committed = commit_pointer(shard);
    if (!committed && first) first = std::move(committed);
  }
  if (prefix.empty() && first) return clear_log();
  return first;
}

bool WriteBuffer::due(const DirtyShard& shard, Clock::time_point now) const {
  const std::lock_guard lock(shard.state_mutex);
  const std::uint64_t publishable = shard.drafts.size() - shard.held;
  if (publishable == 0 || now < shard.retry_at) return false;
  return now - shard.changed >= options_.flush_after ||
         now - shard.dirty_since >= options_.flush_max ||
         publishable - shard.removed == shard.expected;
}

void WriteBuffer::commit_due(Clock::time_point now) {
  std::vector<Pointer> pointers = pointers_below("");
  const bool over = statistics().drafts * kDraftMemory > options_.write_buffer;
  for (const Pointer& shard : pointers) {
    const std::unique_lock lock(shard->commit_mutex);
    if (shard->closed || !(over || due(*shard, now))) continue;
    static_cast<void>(commit_pointer(shard));  // logged, kept and retried
  }
}

Result<void> WriteBuffer::drop_below(const std::string& path) {
  for (const Pointer& shard : pointers_below(path)) {
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->closed) continue;
    ZARRFS_CHECK(drop(shard));
  }
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
