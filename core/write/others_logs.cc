#include "core/write/others_logs.h"

#include <algorithm>
#include <utility>

#include "core/log/draft_notes.h"
#include "core/store/conditional_writer.h"
#include "core/write/commit.h"

namespace zarrfs {
namespace {

std::string shard_of(const LogRecord& open) {
  std::string name = open.array_path;
  for (const std::uint64_t coordinate : open.cell) name += "/" + std::to_string(coordinate);
  return name;
}

Draft draft_of(const LogRecord& record) {
  Draft draft{.removed = record.kind == LogRecord::Kind::kRemove,
              .range = record.range,
              .checksum = record.checksum,
              .sequence = record.sequence,
              .logged = record.sequence};
  if (record.cell.size() == 2) {
    draft.seen = record.cell[0];
    draft.set_moment(record.cell[1]);
  }
  return draft;
}

}  // namespace

/// What a log had.
struct OthersLogs::Left {
  /// Of a shard and a chunk: the sequence of its latest whole write, in whichever successor.
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> latest{};
  std::uint64_t chunks = 0;     ///< That were put.
  std::uint64_t lost = 0;       ///< Writes that had not been made durable before a power cut.
  std::uint64_t overtaken = 0;  ///< Chunks that others have put since they were written.
  bool kept = false;            ///< There are some that nobody may put.
};

/// One successor that can be taken up, with the latest whole write of each of its chunks.
struct OthersLogs::Successor {
  LogRecord open;
  ArrayPointer array;
  std::shared_ptr<const File> bytes;  ///< Null where there is no file: only removals.
  std::map<std::uint64_t, LogRecord> writes{};
};

Result<std::optional<OthersLogs::Successor>> OthersLogs::read(const std::string& mount,
                                                              const LoggedSuccessor& logged,
                                                              Left& left) {
  Classified classified = classify(*parts_.store, logged);
  const auto tell = [&](const std::string& what) {
    parts_.options.log(true, std::to_string(logged.writes.size()) + " chunks of array " +
                                 logged.open.array_path + " that another writer left " + what);
    return std::nullopt;
  };
  switch (classified.verdict) {
    case Verdict::kFinished: return std::nullopt;
    case Verdict::kArrayGone: return tell("are dropped: the array is gone");
    case Verdict::kArrayReplaced: return tell("are dropped: the array is another one");
    case Verdict::kUnreadable: left.kept = true; return tell("wait: " + classified.reason);
    case Verdict::kLost:
    case Verdict::kTakeUp: break;
  }
  ZARRFS_TRY(const std::shared_ptr<NewFile> file, parts_.store->reopen(logged.open.successor_path));
  ZARRFS_TRY(const auto successor, look_into(file));
  Successor found{
      logged.open,
      std::make_shared<ArrayReader>(
          parts_.store, logged.open.array_path, classified.node.array, classified.node.layout,
          std::make_shared<IndexCache>(std::size_t{16} << 20U), std::make_shared<ReadCounters>()),
      successor ? successor->bytes : nullptr};
  ZARRFS_TRY(const DraftNotes notes, notes_of(found));
  for (const auto& [number, records] : logged.writes) {
    const LogRecord* const record = latest_whole(successor, records);
    if (record == nullptr) {
      const bool put = notes.speak_for(mount, number, records.back().sequence);
      left.lost += put ? 0 : records.size();  // its file went with the commit
      continue;
    }
    found.writes.emplace(number, *record);
    std::uint64_t& latest = left.latest[{shard_of(logged.open), number}];
    latest = std::max(latest, record->sequence);
  }
  return found;
}

Result<DraftNotes> OthersLogs::notes_of(const Successor& successor) {
  const std::string path = successor.array->shard_path(successor.open.cell);
  ZARRFS_TRY(const auto standing, conditional_writer_of(*parts_.store)->look(path));
  auto notes = DraftNotes::parse(standing ? standing->note : "");
  return notes ? Result<DraftNotes>(std::move(*notes))
               : fail(Fault::kDamaged, "shard " + path + ": its notes cannot be read");
}

/// Puts those of its drafts that are the latest of their chunk.
Result<void> OthersLogs::commit(const std::string& mount, const Successor& successor, Left& left) {
  const DirtyPointer shard = make_dirty_shard(successor.array, successor.open.cell);
  const HeldLock lock(shard->commit_mutex);
  shard->writer_id = mount;
  shard->based_on = successor.open.number;
  shard->stage = ShardStage::kLogged;  // the successor is its writer's, who may live
  {
    const HeldLock state(shard->state_mutex);
    shard->reader = successor.bytes;
    for (const auto& [number, record] : successor.writes) {
      if (left.latest[{shard_of(successor.open), number}] > record.sequence) continue;
      left.kept = left.kept || record.held || record.quarantined;
      if (record.held || record.quarantined) continue;
      shard->set_draft(number, draft_of(record));
    }
  }
  if (!shard->has_drafts()) return {};
  CommitHooks hooks;
  hooks.changed = parts_.options.changed;
  hooks.overtaken = [&](const std::vector<std::uint64_t>& numbers) {
    left.overtaken += numbers.size();
    left.kept = left.kept || parts_.options.hold_conflicts;
  };
  ZARRFS_TRY(const CommitOutcome outcome, commit_shard(*parts_.store, *shard, hooks));
  left.chunks += outcome.put;
  return {};
}

/// Whether something is left that nobody may put.
Result<bool> OthersLogs::put(const SharedStore::TakenLog& taken) {
  Left left;
  std::vector<Successor> successors;
  for (const auto& [id, logged] : sort_records(taken.contents.records)) {
    if (logged.open.successor_path.empty()) continue;
    ZARRFS_TRY(auto found, read(taken.mount, logged, left));
    if (found) successors.push_back(std::move(*found));
  }
  for (const Successor& successor : successors) {
    ZARRFS_CHECK(commit(taken.mount, successor, left));
  }
  if (left.chunks > 0) {
    parts_.options.log(false, "put " + std::to_string(left.chunks) + " chunks that process " +
                                  std::to_string(taken.other.record.process) + " on " +
                                  taken.other.record.host + " had written");
  }
  if (left.overtaken > 0) {
    parts_.options.log(true, std::to_string(left.overtaken) +
                                 " chunks that another writer left were written again since, and "
                                 "are not put");
  }
  if (left.lost > 0) {
    parts_.options.log(true, std::to_string(left.lost) +
                                 " writes of another writer had not been made durable before a "
                                 "power cut and are lost");
  }
  return left.kept;
}

Result<void> OthersLogs::look() {
  SharedStore* const shared = shared_of(*parts_.store);
  if (shared == nullptr) return {};
  looked_ = std::chrono::steady_clock::now();
  ZARRFS_TRY(const auto others, shared->others());
  std::vector<OtherWriter> suspects;
  std::copy_if(others.begin(), others.end(), std::back_inserter(suspects),
               [](const OtherWriter& other) { return other.suspect; });
  ZARRFS_TRY(const auto taken, shared->take(suspects));
  taken_.insert(taken_.end(), taken.begin(), taken.end());
  while (!taken_.empty()) {
    ZARRFS_TRY(const SharedStore::TakenLog log, shared->read(taken_.back()));
    ZARRFS_TRY(const bool kept, put(log));
    ZARRFS_CHECK(shared->finish(log.other, kept));
    taken_.pop_back();
  }
  return {};
}

void OthersLogs::look_now_and_then() {
  SharedStore* const shared = shared_of(*parts_.store);
  if (shared == nullptr) return;
  if (std::chrono::steady_clock::now() - looked_ < shared->between_looks()) return;
  if (auto looked = look(); !looked) parts_.options.log(true, looked.error().message);
}

/// Whether there is a draft that a later commit could put.
bool OthersLogs::may_be_put() const {
  const auto shards = parts_.table.below("");
  return std::any_of(shards.begin(), shards.end(), [](const DirtyPointer& shard) {
    const HeldLock state(shard->state_mutex);
    return shard->drafts.size() > shard->kept_back;
  });
}

Result<void> OthersLogs::leave() {
  SharedStore* const shared = shared_of(*parts_.store);
  if (shared == nullptr) return {};
  if (may_be_put() || !taken_.empty()) {
    shared->stop();  // others take the log
    return {};
  }
  const bool kept = !parts_.table.clean() || !parts_.parked.empty();
  return shared->leave(kept, [this](const SharedStore::TakenLog& taken) -> Result<void> {
    ZARRFS_TRY(const bool held, put(taken));
    if (!held) return {};
    return fail(Fault::kBusy, "chunks that nobody may put are left");
  });
}

}  // namespace zarrfs
