#include "core/write/others_logs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/log/draft_notes.h"
#include "core/store/conditional_writer.h"
#include "core/write/commit.h"
#include "core/write/committer.h"
#include "core/write/shard_builder.h"

namespace zarrfs {
namespace {

/// Nothing that passes by itself: it is for the user, or the next writer.
bool lasts(Fault fault) {
  return !is_of_process(fault) && fault != Fault::kIo && fault != Fault::kNoSpace &&
         fault != Fault::kQuota && fault != Fault::kStale;
}

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
  std::uint64_t chunks = 0;        ///< That were put.
  std::uint64_t lost = 0;          ///< Writes that had not been made durable before a power cut.
  std::uint64_t overtaken = 0;     ///< Chunks that others have put since they were written.
  std::vector<LeftDraft> kept{};   ///< Those that could not be put.
  std::optional<Error> passing{};  ///< Why not, where that may pass.

  void keep(const LogRecord& open, std::size_t writes, const Error& error) {
    kept.push_back(
        {open.array_path, open.cell,
         std::to_string(writes) + " writes of another writer to its shard wait: " + error.message});
    if (!lasts(error.fault)) passing = error;
  }
};

/// One successor that can be taken up, with the latest whole write of each of its chunks.
struct OthersLogs::Successor {
  LogRecord open;
  ArrayPointer array;
  std::shared_ptr<const File> bytes;  ///< Null where there is no file: only removals.
  std::map<std::uint64_t, LogRecord> writes{};
  DraftNotes notes{};  ///< Of the shard's tip, when the log was read.
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
    case Verdict::kUnreadable: return fail(Fault::kUnsupported, classified.reason);
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
  ZARRFS_TRY(found.notes, notes_of(found));
  for (const auto& [number, records] : logged.writes) {
    const LogRecord* const record = latest_whole(successor, records);
    if (record == nullptr) {
      const bool put = found.notes.speak_for(mount, number, records.back().sequence);
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
  const LogRecord& open = successor.open;
  const DirtyPointer shard = make_dirty_shard(successor.array, open.cell);
  const HeldLock lock(shard->commit_mutex);
  shard->writer_id = mount;
  shard->based_on = open.number;
  shard->stage = ShardStage::kLogged;  // the successor is its writer's, who may live
  const Layout& layout = successor.array->layout();
  {
    const HeldLock state(shard->state_mutex);
    shard->reader = successor.bytes;
    for (const auto& [number, record] : successor.writes) {
      if (left.latest[{shard_of(open), number}] > record.sequence) continue;
      const Draft draft = draft_of(record);
      if (!record.held && !record.quarantined) {
        shard->set_draft(number, draft);
        continue;
      }
      const bool replaced = successor.notes.overtake(number, mount, draft.seen, draft.moment());
      if (!record.held && replaced) {
        ++left.overtaken;
        continue;
      }
      const auto chunk = layout.chunk_at({open.cell, entries_of(layout, open.cell, number)});
      left.kept.push_back(
          {open.array_path, chunk.value_or(open.cell), record.held ? kHeldReason : kNoChunkReason});
    }
  }
  if (!shard->has_drafts()) return {};
  CommitHooks hooks;
  hooks.changed = parts_.options.changed;
  hooks.overtaken = [&](const std::vector<std::uint64_t>& numbers) {
    left.overtaken += numbers.size();
    if (!parts_.options.hold_conflicts) return;
    for (const std::uint64_t number : numbers) {
      const auto chunk = layout.chunk_at({open.cell, entries_of(layout, open.cell, number)});
      left.kept.push_back({open.array_path, chunk.value_or(open.cell), kHeldReason});
    }
  };
  ZARRFS_TRY(const CommitOutcome outcome, commit_shard(*parts_.store, *shard, hooks));
  left.chunks += outcome.put;
  return {};
}

OthersLogs::Left OthersLogs::put(const SharedStore::TakenLog& taken) {
  Left left;
  std::vector<std::pair<Successor, std::size_t>> successors;
  for (const auto& [id, logged] : sort_records(taken.contents.records)) {
    if (logged.open.successor_path.empty()) continue;
    auto found = read(taken.mount, logged, left);
    if (!found) {
      left.keep(logged.open, logged.writes.size(), found.error());
    } else if (*found) {
      successors.emplace_back(std::move(**found), logged.writes.size());
    }
  }
  for (const auto& [successor, writes] : successors) {
    // A shard that cannot be written keeps nothing from the others.
    if (auto done = commit(taken.mount, successor, left); !done) {
      left.keep(successor.open, writes, done.error());
    }
  }
  return left;
}

void OthersLogs::tell(const SharedStore::TakenLog& taken, const Left& left) {
  const MemberRecord& writer = taken.other.record;
  if (left.chunks > 0) {
    parts_.options.log(false, "put " + std::to_string(left.chunks) + " chunks that process " +
                                  std::to_string(writer.process) + " on " + writer.host +
                                  " had written");
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
  const std::lock_guard lock(left_mutex_);
  std::vector<LeftDraft>& known = left_[writer.writer];
  if (known.empty() && !left.kept.empty()) {
    const LeftDraft& first = left.kept.front();
    parts_.options.log(true, std::to_string(left.kept.size()) + " chunks or shards that process " +
                                 std::to_string(writer.process) + " on " + writer.host +
                                 " wrote to are not put, such as of array " + first.array_path +
                                 ": " + first.reason);
  }
  known = left.kept;
}

std::vector<LeftDraft> OthersLogs::left() const {
  std::vector<LeftDraft> all;
  const std::lock_guard lock(left_mutex_);
  for (const auto& [writer, drafts] : left_) all.insert(all.end(), drafts.begin(), drafts.end());
  return all;
}

/// An error: it is to be tried again.
Result<void> OthersLogs::put_and_finish(SharedStore& shared, const OtherWriter& other) {
  ZARRFS_TRY(const SharedStore::TakenLog log, shared.read(other));
  const Left left = put(log);
  tell(log, left);
  if (left.passing) return fail(*left.passing);
  return shared.finish(other, !left.kept.empty());
}

/// Takes the logs of the `wanted` writers, and puts what is in these and in those that were taken.
Result<void> OthersLogs::take(SharedStore& shared,
                              const std::function<bool(const OtherWriter&)>& wanted) {
  ZARRFS_TRY(const auto others, shared.others());
  std::vector<OtherWriter> chosen;
  std::copy_if(others.begin(), others.end(), std::back_inserter(chosen), wanted);
  ZARRFS_TRY(const auto taken, shared.take(chosen));
  taken_.insert(taken_.end(), taken.begin(), taken.end());
  std::vector<OtherWriter> waiting;
  Result<void> first;
  for (const OtherWriter& other : taken_) {
    auto finished = put_and_finish(shared, other);
    if (finished) continue;
    waiting.push_back(other);
    if (first) first = fail(std::move(finished.error()));
  }
  taken_ = std::move(waiting);
  return first;
}

Result<void> OthersLogs::look() {
  SharedStore* const shared = shared_of(*parts_.store);
  if (shared == nullptr) return {};
  looked_ = std::chrono::steady_clock::now();
  const bool is_first = !std::exchange(has_looked_, true);
  return take(*shared, [&](const OtherWriter& other) {
    return other.suspect || (is_first && other.has_kept());
  });
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
  // What kept them may have passed.
  if (!may_be_put()) {
    static_cast<void>(take(*shared, [](const OtherWriter& other) { return other.has_kept(); }));
  }
  if (may_be_put() || !taken_.empty()) {
    shared->stop();  // others take the log
    return {};
  }
  const bool kept = !parts_.table.clean() || !parts_.parked.empty();
  return shared->leave(kept, [this](const SharedStore::TakenLog& taken) -> Result<void> {
    const Left left = put(taken);
    tell(taken, left);
    if (left.kept.empty()) return {};
    return fail(Fault::kBusy, "chunks that nobody may put are left");
  });
}

}  // namespace zarrfs
