#include "core/write/recovery.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/write/commit.h"
#include "core/write/left_log.h"
#include "core/zarr/tree.h"

namespace zarrfs {

/// What one run of recovery knows and counts.
struct Recovery::Run {
  std::shared_ptr<IndexCache> cache = std::make_shared<IndexCache>(std::size_t{16} << 20U);
  /// Of each shard, the records that its drafts come from: chunk number -> sequence.
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> taken{};
  std::uint64_t chunks = 0;
  std::uint64_t lost = 0;  ///< Writes that had not been made durable before a power cut.
};

/// The successor becomes the shard's again.
Result<void> Recovery::resume(const DirtyPointer& shard, const LoggedSuccessor& logged,
                              std::shared_ptr<NewFile> successor, Run& run) {
  ZARRFS_TRY(const auto left, look_into(successor));
  ZARRFS_TRY(shard->end, reserved_at_start(*shard->array, shard->cell));
  if (const auto base = parts_.store->status(shard->shard_path); base && *base) {
    shard->base_bytes = static_cast<std::uint64_t>((*base)->st_size);
  }
  shard->set_successor(logged.open.successor_path);
  if (successor) {
    ZARRFS_CHECK(files_.attach(*shard, std::move(successor)));
  }
  shard->id = logged.open.sequence;
  shard->based_on = logged.open.number;
  if (shard->stage == ShardStage::kNew) shard->stage = ShardStage::kLogged;
  auto& taken = run.taken[shard->shard_path];
  const HeldLock lock(shard->state_mutex);
  for (const auto& [number, records] : logged.writes) {
    for (const LogRecord& record : records) {
      shard->end = std::max(shard->end, record.range.offset + record.range.length);
      if (!is_whole(left, record)) {
        ++run.lost;
        continue;
      }
      Draft draft{.removed = record.kind == LogRecord::Kind::kRemove,
                  .quarantined = record.quarantined,
                  .held = record.held,
                  .range = record.range,
                  .checksum = record.checksum,
                  .sequence = record.sequence,
                  .logged = record.sequence};
      if (left) draft.written = left->status.st_mtim;
      shard->set_draft(number, draft);
      taken[number] = record.sequence;
    }
  }
  shard->unsynced = true;
  run.chunks += shard->drafts.size();
  return {};
}

/// Drafts were moving from that successor to the shard's present one, or back: the later write of
/// each chunk counts. Durable when it returns.
Result<void> Recovery::put_again(const DirtyPointer& shard, const LoggedSuccessor& logged,
                                 const std::shared_ptr<NewFile>& successor, Run& run) {
  ZARRFS_TRY(const auto left, look_into(successor));
  auto& taken = run.taken[shard->shard_path];
  for (const auto& [number, records] : logged.writes) {
    const LogRecord* record = latest_whole(left, records);
    if (record == nullptr) continue;
    if (!taken.contains(number)) {
      const HeldLock lock(shard->state_mutex);
      const auto draft = shard->drafts.find(number);
      if (draft != shard->drafts.end()) taken[number] = draft->second.sequence;
    }
    if (taken.contains(number) && taken[number] > record->sequence) continue;
    if (record->kind == LogRecord::Kind::kRemove) {
      ZARRFS_CHECK(drafts_.write(*shard, number, nullptr, false, record->held));
    } else {
      ZARRFS_TRY(const Bytes bytes, left->bytes->read_range(record->range));
      const ByteView view = bytes;
      ZARRFS_CHECK(drafts_.write(*shard, number, &view, record->quarantined, record->held));
    }
    taken[number] = record->sequence;
    ++run.chunks;
  }
  if (shard->stage == ShardStage::kAppending) ZARRFS_CHECK(sync_successor(*parts_.store, *shard));
  return parts_.log->sync();
}

Result<void> Recovery::take_up(const ArrayPointer& array, const LoggedSuccessor& logged, Run& run) {
  ZARRFS_TRY(const std::shared_ptr<NewFile> successor,
             parts_.store->reopen(logged.open.successor_path));
  files_.limit();
  for (;;) {
    ZARRFS_TRY(const DirtyPointer shard, shard_for(array, logged.open.cell));
    const HeldLock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    if (shard->stage == ShardStage::kRenamed) {
      ZARRFS_CHECK(committer_.commit(shard));
      continue;
    }
    const bool first = shard->stage == ShardStage::kNew;
    auto taken =
        first ? resume(shard, logged, successor, run) : put_again(shard, logged, successor, run);
    if (!taken && first) committer_.forget(shard);
    ZARRFS_CHECK(taken);
    if (!first) dispose(logged);
    if (shard->has_drafts()) return {};
    auto retired = committer_.retire(*shard);  // nothing was durable
    committer_.forget(shard);
    return retired;
  }
}

void Recovery::dispose(const LoggedSuccessor& logged) {
  auto removed = parts_.store->remove(logged.open.successor_path);
  if (!removed) parts_.options.log(true, removed.error().message);
  parts_.log->append_in_time({.kind = LogRecord::Kind::kDone, .successor = logged.open.sequence});
}

void Recovery::park(const LoggedSuccessor& logged, const std::string& reason) {
  parts_.options.log(true, std::to_string(logged.writes.size()) + " chunks of array " +
                               logged.open.array_path +
                               " that had not been published wait: " + reason);
  parts_.parked.add(logged, reason);
}

/// The array can be read again, and its shard is about to be written: what waits comes first.
Result<void> Recovery::take_up_parked(const ArrayPointer& array, const DirtyTable::Cell& cell) {
  const auto parked = parts_.parked.take(
      [&](const LogRecord& open) { return open.array_path == array->path() && open.cell == cell; });
  Run run;
  Result<void> first;
  for (const ParkedWrite& one : parked) {
    auto taken = first;
    if (taken && one.logged.open.checksum != array->metadata().form) {
      dispose(one.logged);
    } else if (taken) {
      taken = take_up(array, one.logged, run);
    }
    if (taken) continue;
    park(one.logged, taken.error().message);
    first = taken;
  }
  return first;
}

Result<DirtyPointer> Recovery::shard_for(const ArrayPointer& array, const DirtyTable::Cell& cell) {
  if (!parts_.parked.empty()) ZARRFS_CHECK(take_up_parked(array, cell));
  return committer_.shard_for(array, cell);
}

/// One successor of the log. What concerns one array holds up no other.
void Recovery::recover(const LoggedSuccessor& logged, Run& run) {
  Classified classified = classify(*parts_.store, logged);
  const auto tell_dropped = [&](const char* why) {
    parts_.options.log(true, std::to_string(logged.writes.size()) + " chunks of array " +
                                 logged.open.array_path + " are dropped: " + why);
  };
  switch (classified.verdict) {
    case Verdict::kFinished: break;
    case Verdict::kLost: run.lost += logged.writes.size(); break;
    case Verdict::kArrayGone:
      tell_dropped("another program has removed the array since they were written");
      break;
    case Verdict::kArrayReplaced:
      tell_dropped("another program has replaced the array since they were written");
      break;
    case Verdict::kUnreadable: return park(logged, classified.reason);
    case Verdict::kTakeUp: {
      const auto array = std::make_shared<ArrayReader>(
          parts_.store, logged.open.array_path, classified.node.array, classified.node.layout,
          run.cache, std::make_shared<ReadCounters>());
      auto taken = take_up(array, logged, run);
      if (!taken) park(logged, taken.error().message);
      return;
    }
  }
  dispose(logged);
}

/// Removes what was being written when it was killed, beside shards and in zarrfs's own directory:
/// files that the log does not name.
void Recovery::remove_strays(const std::set<std::string>& directories) {
  std::set<std::string> needed;
  for (const DirtyPointer& shard : parts_.table.below("")) needed.insert(shard->successor_path);
  for (const ParkedWrite& parked : parts_.parked.all())
    needed.insert(parked.logged.open.successor_path);
  for (const std::string& directory : directories) {
    const auto entries = parts_.store->list(directory);
    if (!entries) parts_.options.log(true, entries.error().message);
    if (!entries || !*entries) continue;
    for (const Entry& entry : **entries) {
      const std::string path = join_path(directory, entry.name);
      if (entry.kind != EntryKind::kFile || !is_successor_name(entry.name)) continue;
      if (needed.contains(path)) continue;
      auto removed = parts_.store->remove(path);
      if (!removed) parts_.options.log(true, removed.error().message);
    }
  }
}

Result<bool> Recovery::take_over() {
  ZARRFS_TRY(const auto contents, read_log(*parts_.store));
  ZARRFS_TRY(parts_.log, LogWriter::open(parts_.store, contents));
  std::set<std::string> directories = {kLogDirectory};
  if (!contents) {
    remove_strays(directories);
    return false;
  }
  Run run;
  for (const auto& [id, logged] : sort_records(contents->records)) {
    if (logged.open.successor_path.empty()) continue;
    directories.insert(parent_path(logged.open.successor_path));
    directories.insert(logged.open.array_path);
    recover(logged, run);
  }
  remove_strays(directories);
  if (run.chunks > 0) {
    parts_.options.log(false, "recovered " + std::to_string(run.chunks) +
                                  (run.chunks == 1 ? " chunk that had" : " chunks that had") +
                                  " not been published");
  }
  if (run.lost > 0) {
    parts_.options.log(true,
                       std::to_string(run.lost) +
                           " writes had not been made durable before a power cut and are lost; "
                           "the chunks keep their earlier contents");
  }
  return true;
}

}  // namespace zarrfs
