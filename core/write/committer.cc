#include "core/write/committer.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "core/store/conditional_writer.h"
#include "core/write/shard_builder.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kFirstRetry{1};
constexpr std::chrono::seconds kLastRetry{60};
constexpr std::chrono::seconds kRenewPause{1};
constexpr int kSpareDescriptors = 8;

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

void Committer::keep_spares() {
  const std::lock_guard lock(spare_mutex_);
  while (spare_.size() < kSpareDescriptors) {
    spare_.emplace_back(::fcntl(parts_.lock.descriptor(), F_DUPFD_CLOEXEC, 0));
  }
}

Result<DirtyPointer> Committer::shard_for(const ArrayPointer& array, const DirtyTable::Cell& cell) {
  const std::string path = array->shard_path(cell);
  if (const DirtyPointer known = parts_.table.find(path)) {
    if (known->form == array->metadata().form) return known;
    const HeldLock lock(known->commit_mutex);
    if (known->stage != ShardStage::kClosed) {
      parts_.options.log(true, "shard " + path +
                                   ": another program has replaced its array; chunks that "
                                   "were written for the old one are dropped");
      ZARRFS_CHECK(drop(known));
    }
  }
  return parts_.table.find_or_enter(array, cell);
}

/// Moves drafts to a successor of their own, durable when it returns. Readers find them all the
/// time. Where it fails they stay where they are.
Result<void> Committer::carry_on(const DirtyPointer& shard,
                                 const std::map<std::uint64_t, Draft>& drafts) {
  const DirtyPointer next = make_dirty_shard(shard->array, shard->cell);
  const ChainedLock lock(next->commit_mutex);  // a shard's next successor, after its last one
  next->based_on = shard->based_on;
  next->base_unknown = shard->base_unknown;
  if (shard->based_on) next->writer_id = shard->writer_id;  // a put may have arrived
  auto moved = copy_drafts(*shard, drafts, *next);
  if (!moved) {
    static_cast<void>(retire(*next));  // the first error is the one to tell
    return moved;
  }
  {
    const HeldLock state(shard->state_mutex);
    const ChainedLock next_state(next->state_mutex);  // which nobody else has yet
    next->dirty_since = shard->dirty_since;
    next->retry_at = shard->retry_at;
    next->failure = shard->sync_failed ? std::nullopt : shard->failure;
    next->unsynced = false;
  }
  next->failures = shard->failures;
  next->base_bytes = shard->base_bytes;
  parts_.table.replace(next);
  return {};
}

Result<void> Committer::copy_drafts(const DirtyShard& from,
                                    const std::map<std::uint64_t, Draft>& drafts, DirtyShard& to) {
  for (const auto& [number, draft] : drafts) {
    if (draft.removed) {
      ZARRFS_CHECK(drafts_.write(to, number, nullptr, false, draft.held, &draft));
    } else {
      ZARRFS_TRY(const Bytes bytes, from.reader->read_range(draft.range));
      if (crc32c(bytes) != draft.checksum) {
        return fail(Fault::kIo, "shard " + from.shard_path + ": the storage lost chunk " +
                                    std::to_string(number) + " when syncing it failed");
      }
      const ByteView view = bytes;
      ZARRFS_CHECK(drafts_.write(to, number, &view, draft.quarantined, draft.held, &draft));
    }
    const HeldLock state(to.state_mutex);
    Draft& copy = to.drafts[number];
    if (to.writer_id == from.writer_id && draft.sequence != 0) copy.sequence = draft.sequence;
  }
  if (to.stage == ShardStage::kAppending) ZARRFS_CHECK(sync_successor(*parts_.store, to));
  return parts_.log->sync();
}

Result<void> Committer::retire(DirtyShard& shard) {
  const bool has_file = shard.stage == ShardStage::kAppending;
  shard.stage = ShardStage::kClosed;
  files_.close(shard);
  if (shard.id != 0) {
    parts_.log->append_in_time({.kind = LogRecord::Kind::kDone, .successor = shard.id});
  }
  return has_file ? parts_.store->remove(shard.successor_path) : Result<void>{};
}

/// After a shard was published: drafts that were not go on in a successor of their own, and the old
/// one is done.
Result<void> Committer::finish(const DirtyPointer& shard, const CommitOutcome& outcome) {
  std::map<std::uint64_t, Draft> rest;
  {
    const HeldLock state(shard->state_mutex);
    for (const std::uint64_t number : outcome.published) shard->erase_draft(number);
    rest = shard->drafts;
    shard->failure.reset();
  }
  shard->based_on.reset();  // the rest goes on from what has just been published
  if (!rest.empty()) ZARRFS_CHECK(carry_on(shard, rest));
  auto retired = retire(*shard);
  forget(shard);
  ZARRFS_CHECK(retired);
  if (outcome.after == FileIdentity{}) remove_empty_directories(*parts_.store, *shard);
  return tidy_log();
}

/// Begins the log anew where nothing, or little, of it is needed.
Result<void> Committer::tidy_log() {
  if (parts_.log->bytes() < parts_.options.long_log) return {};
  ZARRFS_CHECK(clear_log());
  return parts_.log->mostly_done() ? parts_.log->shorten() : Result<void>{};
}

Result<void> Committer::clear_log() {
  return parts_.table.while_clean([this]() -> Result<void> {
    if (!parts_.parked.empty()) return {};
    parts_.reserve.release();
    return parts_.log->clear();
  });
}

void Committer::forget(const DirtyPointer& shard) {
  files_.close(*shard);
  shard->stage = ShardStage::kClosed;
  parts_.table.leave(shard);
}

/// A commit failed: it is tried again, after a longer pause each time.
tl::unexpected<Error> Committer::report_failure(DirtyShard& shard, const Error& error) {
  left_.look_again();
  // A server that is away is not asked for this shard before it answers: then at once.
  ConditionalWriter* const server = conditional_writer_of(*parts_.store);
  const bool away = server != nullptr && server->away();
  if (!away) shard.failures = std::min(shard.failures + 1, 10);
  const auto wait =
      away ? std::chrono::seconds(0)
           : std::min<std::chrono::seconds>(kFirstRetry * (1 << (shard.failures - 1)), kLastRetry);
  {
    const HeldLock state(shard.state_mutex);
    shard.failure = error;
    shard.retry_at = Clock::now() + wait;
  }
  parts_.options.log(
      true, "shard " + shard.shard_path +
                " could not be written, its chunks are kept and it is tried again " +
                (away ? "when the server answers" : "in " + std::to_string(wait.count()) + " s") +
                ": " + error.message);
  const std::lock_guard guard(parts_.statistics_mutex);
  ++parts_.statistics.failed_commits;
  return fail(error);
}

std::string Committer::name_of(const DirtyShard& shard, std::uint64_t number) {
  const Layout& layout = shard.array->layout();
  const auto chunk = layout.chunk_at({shard.cell, entries_of(layout, shard.cell, number)});
  std::string called;
  for (const std::uint64_t coordinate : chunk.value_or(DirtyTable::Cell{number})) {
    called += (called.empty() ? "" : ".") + std::to_string(coordinate);
  }
  return "array " + shard.array_path + ": chunk " + called;
}

void Committer::tell_overwritten(const DirtyShard& shard, const std::vector<std::uint64_t>& numbers,
                                 bool certain) {
  for (const std::uint64_t number : numbers) {
    parts_.options.log(true,
                       name_of(shard, number) +
                           (certain ? " was written by another writer as well: its bytes are"
                                    : " may have been written by another writer as well: then "
                                      "its bytes are") +
                           " lost, this mount's came last");
  }
}

Result<void> Committer::hold(DirtyShard& shard, const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t number : numbers) {
    ZARRFS_CHECK(drafts_.hold(shard, number));
    parts_.options.log(true, name_of(shard, number) + ": " + kHeldReason);
  }
  return {};
}

Error Committer::held(const DirtyShard& shard, std::uint64_t number) {
  return {Fault::kBusy, name_of(shard, number) + ": " + kHeldReason};
}

CommitHooks Committer::hooks_of(const DirtyPointer& shard) {
  CommitHooks hooks;
  hooks.changed = parts_.options.changed;
  if (parts_.options.hold_conflicts) {
    hooks.hold = [this, shard](const std::vector<std::uint64_t>& numbers)
                     ZARRFS_REQUIRES(shard->commit_mutex) { return hold(*shard, numbers); };
  }
  hooks.before_publish = [this, shard](bool successor_moves)
                             ZARRFS_REQUIRES(shard->commit_mutex) -> Result<void> {
    if (!successor_moves) {  // it outlives the commit, and must not bring back older writes
      if (shard->stage == ShardStage::kAppending) {
        ZARRFS_CHECK(sync_successor(*parts_.store, *shard));
      }
      return parts_.log->sync();
    }
    auto noted = parts_.log->append({.kind = LogRecord::Kind::kPublish, .successor = shard->id});
    if (!noted) return fail(noted.error());
    return {};
  };
  hooks.overwritten = [this, shard](const std::vector<std::uint64_t>& numbers, bool certain) {
    tell_overwritten(*shard, numbers, certain);
  };
  if (parts_.options.replacing) {
    hooks.replacing = [this, shard](const FileIdentity& before, const FileIdentity& after) {
      std::vector<std::pair<std::uint64_t, struct timespec>> drafts;
      {
        const HeldLock state(shard->state_mutex);
        for (const auto& [number, draft] : shard->drafts)
          drafts.emplace_back(number, draft.written);
      }
      parts_.options.replacing(shard->array_path, shard->cell, before, after, drafts);
    };
  }
  return hooks;
}

/// As commit_shard; where the storage is full, or descriptors are wanting, with what is kept for
/// this.
Result<CommitOutcome> Committer::commit_with(DirtyShard& shard, const CommitHooks& hooks) {
  auto outcome = commit_shard(*parts_.store, shard, hooks);
  if (!outcome && lacks_room(outcome.error())) {
    const HeldLock alone(parts_.room_mutex);  // no write may take the room meanwhile
    const std::uint64_t room = parts_.reserve.release();
    if (room > 0) {
      outcome = commit_shard(*parts_.store, shard, hooks);
      static_cast<void>(parts_.reserve.hold(room));  // the next write that needs it tells
    }
  }
  if (!outcome && outcome.error().fault == Fault::kNoFiles) {
    files_.close_all(&shard);
    const std::lock_guard lock(spare_mutex_);
    const std::size_t count = std::exchange(spare_, {}).size();
    outcome = commit_shard(*parts_.store, shard, hooks);
    while (spare_.size() < count) {
      spare_.emplace_back(::fcntl(parts_.lock.descriptor(), F_DUPFD_CLOEXEC, 0));
    }
  }
  return outcome;
}

/// Nothing that its file holds can be made durable: the drafts move to another one, and that is
/// committed.
Result<void> Committer::commit_elsewhere(const DirtyPointer& shard) {
  if (auto moved = finish(shard, {}); !moved) return report_failure(*shard, moved.error());
  const DirtyPointer next = parts_.table.find(shard->shard_path);
  if (!next) return {};
  files_.limit();
  const ChainedLock lock(next->commit_mutex);  // as carry_on: after the one that it follows
  return next->stage == ShardStage::kClosed ? Result<void>{} : commit(next);
}

Result<void> Committer::commit(const DirtyPointer& shard) {
  {
    const HeldLock state(shard->state_mutex);
    if (shard->drafts.size() == shard->kept_back) return {};
  }
  if (auto same = check_form(*parts_.store, *shard); !same)
    return report_failure(*shard, same.error());
  if (auto base = drafts_.check_unknown_base(*shard); !base)
    return report_failure(*shard, base.error());
  if (auto opened = files_.open(*shard); !opened) return report_failure(*shard, opened.error());
  if (shard->sync_failed) return commit_elsewhere(shard);
  auto outcome = commit_with(*shard, hooks_of(shard));
  if (!outcome && shard->sync_failed && shard->failures == 0) {
    shard->failures = 1;  // no third file at once
    return commit_elsewhere(shard);
  }
  if (!outcome) return report_failure(*shard, outcome.error());
  parts_.has_clones = parts_.has_clones || outcome->cloned;
  {
    const std::lock_guard guard(parts_.statistics_mutex);
    ++parts_.statistics.commits;
    parts_.statistics.bytes_committed += outcome->bytes_written;
  }
  if (parts_.options.committed) parts_.options.committed(shard->array_path, shard->cell, *outcome);
  if (outcome->again) left_.look_again();
  auto finished = finish(shard, *outcome);
  if (finished) {
    left_.remove_from(parent_path(shard->shard_path));
  } else {
    left_.look_again();
  }
  return finished;
}

Result<void> Committer::sync(DirtyShard& shard) {
  files_.limit();
  const HeldLock lock(shard.commit_mutex);
  if (shard.stage == ShardStage::kClosed) return {};
  ZARRFS_CHECK(drafts_.log_removals(shard));
  bool unsynced = false;
  {
    const HeldLock state(shard.state_mutex);
    unsynced = shard.unsynced;
    shard.unsynced = false;
  }
  if (shard.stage != ShardStage::kAppending) return {};
  const bool removed = shard.file && !shard.file->has_name();
  if (!unsynced && !removed) return {};
  ZARRFS_CHECK(files_.open(shard));
  auto synced = sync_successor(*parts_.store, shard);
  if (synced) return synced;
  const HeldLock state(shard.state_mutex);
  shard.unsynced = true;
  shard.failure = synced.error();
  return synced;
}

Result<void> Committer::drop(const DirtyPointer& shard) {
  {
    const HeldLock state(shard->state_mutex);
    while (!shard->drafts.empty()) shard->erase_draft(shard->drafts.begin()->first);
  }
  return finish(shard, {});
}

Result<void> Committer::abandon(const DirtyPointer& shard, Error error) {
  if (!shard->has_drafts()) {
    static_cast<void>(retire(*shard));  // `error` is what to tell
    forget(shard);
  }
  return fail(std::move(error));
}

void Committer::limit_waste(const DirtyPointer& shard) {
  std::map<std::uint64_t, Draft> drafts;
  {
    const HeldLock lock(shard->state_mutex);
    const bool bytes =
        shard->dead_bytes > std::max(shard->live_bytes, parts_.options.most_dead_bytes);
    const bool records =
        shard->dead_records > std::max(shard->drafts.size(), parts_.options.most_dead_records);
    if ((!bytes && !records) || shard->sync_failed || Clock::now() < shard->renew_at) return;
    drafts = shard->drafts;
  }
  auto moved = renew(shard, drafts);
  if (!moved) {  // nothing is lost: it goes on growing
    shard->renew_at = Clock::now() + kRenewPause;
    parts_.options.log(true, "shard " + shard->shard_path +
                                 ": room that is not needed any more could not be given back: " +
                                 moved.error().message);
  }
}

Result<void> Committer::renew(const DirtyPointer& shard,
                              const std::map<std::uint64_t, Draft>& drafts) {
  ZARRFS_CHECK(carry_on(shard, drafts));
  ZARRFS_CHECK(retire(*shard));
  return tidy_log();
}

Result<void> Committer::drop_waste(const DirtyPointer& shard) {
  std::map<std::uint64_t, Draft> drafts;
  {
    const HeldLock lock(shard->state_mutex);
    if (shard->dead_bytes == 0 || shard->drafts.empty() || shard->sync_failed) return {};
    drafts = shard->drafts;
  }
  return renew(shard, drafts);
}

Result<void> Committer::make_way(const Error& error) {
  if (error.fault == Fault::kNoFiles) {
    files_.close_all(nullptr);
    return {};
  }
  if (!lacks_room(error)) return fail(error);
  bool freed = false;
  for (const DirtyPointer& shard : parts_.table.below("")) {
    const HeldLock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    {
      const HeldLock state(shard->state_mutex);
      if (shard->removed == 0 && shard->dead_bytes == 0) continue;
    }
    freed = commit(shard).has_value() || freed;
  }
  return freed ? Result<void>{} : fail(error);
}

}  // namespace zarrfs
