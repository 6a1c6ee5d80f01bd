#include "core/write/commit.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/log/log.h"
#include "core/log/lost_races.h"
#include "core/log/ownership.h"
#include "core/store/conditional_writer.h"
#include "core/write/commit_notes.h"
#include "core/write/shard_builder.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr int kMaxRounds = 8;  // in a directory, where programs replace shards by their names
constexpr std::uint64_t kMostAskedAhead = std::uint64_t{64} << 20U;
constexpr std::uint64_t kAskedTogether = std::uint64_t{4} << 20U;

/// The shard file as it stands, and its chunks.
struct Base {
  FileIdentity identity;
  std::optional<struct stat> status;
  ChunkOrigins chunks;
};

/// Drafts that a commit publishes: all that are neither quarantined nor held.
Drafts publishable(const DirtyShard& shard) {
  const HeldLock lock(shard.state_mutex);
  Drafts drafts;
  for (const auto& [number, draft] : shard.drafts) {
    if (!draft.kept_back()) drafts.emplace(number, draft);
  }
  return drafts;
}

Error shard_changed(const std::string& path) {
  return {Fault::kStale, "shard " + path + " was replaced while its chunks were collected"};
}

/// Whether it is the file, in the state, of before.
bool is_still(const std::optional<struct stat>& before, const std::optional<struct stat>& now) {
  if (!before || !now) return before.has_value() == now.has_value();
  return identity_by_ctime(*before) == identity_by_ctime(*now);
}

/// Whether a shard of this array is chunks and one index, each chunk at the range that the index
/// says.
bool is_flat(const Layout& layout) {
  return layout.sharded() && layout.levels().size() == 1 &&
         layout.levels()[0].around.steps().empty();
}

/// Reads where the chunks of the present shard lie. kStale where another program replaces it
/// meanwhile: try again.
Result<Base> read_base(Store& store, const DirtyShard& shard, const Drafts& drafts) {
  Base base;
  ZARRFS_TRY(base.status, store.status(shard.shard_path));
  if (!base.status) return base;
  base.identity = identity_of(*base.status);
  Error problem;
  bool failed = false;
  const auto give_up = [&](Error error) {
    problem = std::move(error);
    failed = true;
    return false;
  };
  const bool flat = is_flat(shard.array->layout());
  std::shared_ptr<const File> file;  // where it is flat, of all its chunks
  const auto collect = [&](const ArrayReader::Visited& visited) {
    if (drafts.contains(visited.number)) return true;
    if (!visited.damage.empty()) return give_up({Fault::kDamaged, visited.damage});
    if (file != nullptr) {
      base.chunks[visited.number] = {file, nullptr, visited.range};
      return true;
    }
    auto found = shard.array->find_chunk(visited.chunk);
    if (!found) return give_up(found.error());
    if (!*found || (*found)->shard() != base.identity)
      return give_up(shard_changed(shard.shard_path));
    if (flat && (*found)->range != visited.range) return give_up(shard_changed(shard.shard_path));
    if (flat) file = (*found)->file;
    base.chunks[visited.number] = {(*found)->file, (*found)->memory, (*found)->range};
    return true;
  };
  const auto visited = shard.array->visit_shard(shard.cell, 0, collect);
  // Of a shard whose index is damaged nothing is needed where every chunk is replaced or removed.
  const bool needless = shard.array->layout().regular() && drafts.size() == shard.expected;
  if (!visited && !(visited.error().fault == Fault::kDamaged && needless))
    return fail(visited.error());
  if (failed) return fail(std::move(problem));
  return base;
}

/// Whether the successor itself can become the shard: its layout is flat, and it has no dead space.
bool can_complete(const DirtyShard& shard, const Drafts& drafts)
    ZARRFS_REQUIRES(shard.commit_mutex) {
  if (shard.stage != ShardStage::kAppending) return false;
  const Layout& layout = shard.array->layout();
  const HeldLock lock(shard.state_mutex);
  if (shard.drafts.size() != drafts.size() || shard.dead_bytes > 0) return false;
  if (!layout.sharded()) {  // the file is the chunk: nothing may stand before or behind it
    const ByteRange whole{0, shard.end};
    return std::all_of(drafts.begin(), drafts.end(),
                       [&](const auto& item) { return item.second.range == whole; });
  }
  return is_flat(layout);
}

/// Writes the index behind `end`, or where it is kept free at the start; nothing stands behind.
/// Returns the file's size.
Result<std::uint64_t> finish_file(NewFile& file, const ShardIndex& index, const IndexFormat& format,
                                  std::uint64_t end) {
  ZARRFS_TRY(const Bytes encoded, index.encode(format));
  ZARRFS_CHECK(file.write_at(format.at_start() ? 0 : end, encoded));
  if (!format.at_start()) end += encoded.size();
  ZARRFS_CHECK(file.truncate(end));
  return end;
}

/// Completes the successor: unchanged chunks behind the new ones, then the index. Returns bytes
/// written.
Result<std::uint64_t> complete(DirtyShard& shard, const Drafts& drafts, const Base& base)
    ZARRFS_REQUIRES(shard.commit_mutex) {
  if (!shard.array->layout().sharded()) {
    ZARRFS_CHECK(shard.file->truncate(shard.end));  // behind it: a write that was cut off
    return 0;
  }
  ZARRFS_TRY(const IndexFormat format, shard.array->layout().index_format_of(shard.cell));
  ShardIndex index = ShardIndex::empty(format.entries());
  for (const auto& [number, draft] : drafts) {
    if (!draft.removed) index.set(number, draft.range);
  }
  std::uint64_t end = shard.end;
  for (const auto& [number, source] : base.chunks) {
    ZARRFS_CHECK(copy_source(*shard.file, source, end));
    index.set(number, {end, source.range.length});
    end += source.range.length;
  }
  ZARRFS_TRY(end, finish_file(*shard.file, index, format, end));
  return end - shard.end;
}

/// The new shard file: either the successor, or one made beside it.
struct Next {
  std::string path;
  NameInUse name;                // of `own`
  std::unique_ptr<NewFile> own;  // null: the successor
  NewFile* file = nullptr;
  std::uint64_t bytes_written = 0;
  bool cloned = false;
};

/// Whether a clone of the present shard, with the drafts behind it, is the cheapest next one: more
/// is kept than is new, and at most a third of it would be dead space.
bool should_clone(const DirtyShard& shard, const Drafts& drafts, const Base& base,
                  const IndexFormat& format) {
  std::uint64_t fresh = 0;
  for (const auto& [number, draft] : drafts) fresh += draft.removed ? 0 : draft.range.length;
  std::uint64_t kept = 0;
  for (const auto& [number, source] : base.chunks) kept += source.range.length;
  const std::uint64_t size =
      base.identity.size + fresh + (format.at_start() ? 0 : format.encoded_size());
  return is_flat(shard.array->layout()) && fresh < kept &&
         size - kept - fresh - format.encoded_size() <= size / 3;
}

/// Puts the drafts behind the chunks of `clone`, a clone of the present shard. Returns bytes
/// written.
Result<std::uint64_t> complete_clone(NewFile& clone, const DirtyShard& shard, const Drafts& drafts,
                                     const Base& base, const IndexFormat& format) {
  ShardIndex index = ShardIndex::empty(format.entries());
  for (const auto& [number, source] : base.chunks) index.set(number, source.range);
  std::uint64_t end = base.identity.size;
  for (const auto& [number, draft] : drafts) {
    if (draft.removed) continue;
    ZARRFS_CHECK(copy_source(clone, {shard.reader, nullptr, draft.range}, end));
    index.set(number, {end, draft.range.length});
    end += draft.range.length;
  }
  ZARRFS_TRY(end, finish_file(clone, index, format, end));
  return end - base.identity.size;
}

/// A clone of the present shard with the drafts in it; `own` is null where the storage has no
/// clones, or another way is cheaper.
Result<Next> make_clone(Store& store, const DirtyShard& shard, const Drafts& drafts,
                        const Base& base) {
  Next next;
  if (base.chunks.empty() || !shard.array->layout().sharded()) return next;
  ZARRFS_TRY(const IndexFormat format, shard.array->layout().index_format_of(shard.cell));
  if (!should_clone(shard, drafts, base, format)) return next;
  next.path = new_successor_path(shard.shard_path);
  next.name = use_name(next.path);
  ZARRFS_TRY(next.own, store.clone(*base.chunks.begin()->second.file, next.path, 0666));
  if (!next.own) return next;
  next.file = next.own.get();
  auto written = complete_clone(*next.file, shard, drafts, base, format);
  if (!written) {
    static_cast<void>(store.remove(next.path));  // the first error is the one to tell
    return fail(written.error());
  }
  next.bytes_written = *written;
  next.cloned = true;
  return next;
}

/// The shard laid out anew from the present one and the drafts.
Result<Next> make_anew(Store& store, const DirtyShard& shard, const Drafts& drafts,
                       const Base& base) {
  ChunkOrigins chunks = base.chunks;
  for (const auto& [number, draft] : drafts) {
    if (!draft.removed) chunks[number] = {shard.reader, nullptr, draft.range};
  }
  Next next;
  next.path = new_successor_path(shard.shard_path);
  next.name = use_name(next.path);
  ZARRFS_TRY(next.own, store.create(next.path, 0666));
  next.file = next.own.get();
  auto built = build_shard(*next.file, shard.array->layout(), shard.cell, chunks);
  if (!built) {
    static_cast<void>(store.remove(next.path));
    return fail(built.error());
  }
  next.bytes_written = *built;
  return next;
}

/// Whether the next file stays what it is even where it did not become the shard, and the shard
/// stays where no chunk of it is left.
bool keeps_files(Store& store) {
  ConditionalWriter* const server = conditional_writer_of(store);
  return server != nullptr && !server->mount_id().empty();
}

/// Asks for the chunks that are going to be copied, neighbours together and many at once: one after
/// the other, each would wait for the network.
void ask_ahead(const Base& base) {
  std::uint64_t asked = 0;
  std::shared_ptr<const File> file;
  ByteRange joined{};
  for (const auto& [number, source] : base.chunks) {
    if (source.file == nullptr || asked > kMostAskedAhead) continue;
    const bool next = file == source.file && source.range.offset == joined.offset + joined.length &&
                      joined.length + source.range.length <= kAskedTogether;
    if (next) {
      joined.length += source.range.length;
      continue;
    }
    if (file != nullptr) file->fetch(joined);
    asked += joined.length;
    file = source.file;
    joined = source.range;
  }
  if (file != nullptr) file->fetch(joined);
}

/// The next shard file by the way that writes least.
Result<Next> make_next(Store& store, DirtyShard& shard, const Drafts& drafts, const Base& base)
    ZARRFS_REQUIRES(shard.commit_mutex) {
  ZARRFS_TRY(Next next, make_clone(store, shard, drafts, base));
  if (next.own) return next;
  if (conditional_writer_of(store) != nullptr) ask_ahead(base);
  // Where a file is put by another name of it, it must not be written on.
  if (keeps_files(store) || !can_complete(shard, drafts)) {
    return make_anew(store, shard, drafts, base);
  }
  ZARRFS_TRY(next.bytes_written, complete(shard, drafts, base));
  next.path = shard.successor_path;
  next.file = shard.file.get();
  return next;
}

/// The new file is whose the present shard is, or whose the first draft was: see make_successor.
Result<void> take_ownership(Store& store, const DirtyShard& shard, const Next& next) {
  ZARRFS_TRY(const auto before, store.open(shard.shard_path));
  if (before != nullptr) return keep_ownership(*next.file, *before);
  if (!next.own) return {};
  ZARRFS_TRY(const auto successor, store.open(shard.successor_path));
  return successor == nullptr ? Result<void>{} : keep_ownership(*next.file, *successor);
}

/// The chunks that appear and disappear, in coordinates of the array.
ChunkChanges changes_of(const DirtyShard& shard, const Drafts& drafts, bool removals) {
  ChunkChanges changes{shard.array_path, {}, {}};
  const Layout& layout = shard.array->layout();
  for (const auto& [number, draft] : drafts) {
    if (draft.removed != removals) continue;
    const auto chunk = layout.chunk_at({shard.cell, entries_of(layout, shard.cell, number)});
    if (chunk) (removals ? changes.removed : changes.added).push_back(*chunk);
  }
  return changes;
}

Result<void> tell(const DirtyShard& shard, const Drafts& drafts, const CommitHooks& hooks,
                  bool removals) {
  if (!hooks.changed) return {};
  const ChunkChanges changes = changes_of(shard, drafts, removals);
  if (changes.added.empty() && changes.removed.empty()) return {};
  return hooks.changed(changes);
}

/// The next shard's file; nothing where no chunk of it is left.
struct NextFile {
  Next next;
  bool anything = false;
};

Result<NextFile> make_durable_next(Store& store, DirtyShard& shard, const Drafts& drafts,
                                   const Base& base) ZARRFS_REQUIRES(shard.commit_mutex) {
  NextFile made;
  made.anything = keeps_files(store) || !base.chunks.empty() ||
                  std::any_of(drafts.begin(), drafts.end(),
                              [](const auto& item) { return !item.second.removed; });
  if (!made.anything) return made;
  ZARRFS_TRY(made.next, make_next(store, shard, drafts, base));
  Next& next = made.next;
  auto done = take_ownership(store, shard, next);
  if (done) {
    done = next.file->sync();
    if (done && !next.own && !next.file->has_name()) {
      done = fail(Fault::kIo, store.name() + "/" + next.path + kWasRemoved);
    }
    shard.sync_failed = shard.sync_failed || (!done && !next.own);
  }
  if (done) return made;
  if (next.own) static_cast<void>(store.remove(next.path));  // the first error is the one to tell
  return fail(std::move(done.error()));
}

Result<CommitOutcome> publish(Store& store, DirtyShard& shard, const Drafts& drafts,
                              const CommitHooks& hooks) ZARRFS_REQUIRES(shard.commit_mutex) {
  ZARRFS_TRY(const Base base, read_base(store, shard, drafts));
  CommitOutcome outcome;
  outcome.before = base.identity;
  ZARRFS_TRY(const NextFile made,
             make_durable_next(store, shard, drafts, base));  // 1 its bytes are on disk
  const Next& next = made.next;
  const auto discard = [&](Error error) -> Result<CommitOutcome> {
    if (next.own) static_cast<void>(store.remove(next.path));
    return fail(std::move(error));
  };
  if (made.anything) {
    auto status = next.file->status();
    if (!status) return discard(status.error());
    outcome.after = identity_of(*status);
  }
  auto now = store.status(shard.shard_path);  // 2 it still replaces what was merged
  if (!now) return discard(now.error());
  if (!is_still(base.status, *now)) {
    return discard(shard_changed(shard.shard_path));
  }
  if (auto told = tell(shard, drafts, hooks, false); !told) return discard(told.error());
  const bool successor_moves = made.anything && !next.own;
  if (auto told = hooks.before_publish(successor_moves); !told) {
    return discard(told.error());  // 3 the log knows
  }
  if (hooks.replacing) hooks.replacing(outcome.before, outcome.after);
  if (made.anything) {
    if (auto moved = store.rename(next.path, shard.shard_path); !moved)
      return discard(moved.error());  // 4 the name moves
    if (!next.own) shard.stage = ShardStage::kRenamed;
    ZARRFS_CHECK(store.sync_directory(parent_path(shard.shard_path)));  // 5 the name is on disk
  } else if (base.status) {
    ZARRFS_CHECK(store.remove(shard.shard_path));  // no chunk is left
    ZARRFS_CHECK(store.sync_directory(parent_path(shard.shard_path)));
  }
  outcome.bytes_written = next.bytes_written;
  outcome.cloned = next.cloned;
  for (const auto& [number, draft] : drafts) outcome.published.push_back(number);
  ZARRFS_CHECK(tell(shard, drafts, hooks, true));
  return outcome;
}

/// Drafts of chunks that another writer wrote since the first of them was.
struct Conflicts {
  std::vector<std::uint64_t> numbers;
  bool certain = true;
};

Conflicts conflicts_of(const DirtyShard& shard, const Drafts& drafts, const CommitNotes& notes,
                       std::uint64_t present) ZARRFS_REQUIRES(shard.commit_mutex) {
  Conflicts conflicts;
  if (!shard.based_on || *shard.based_on == present) return conflicts;
  const auto theirs = notes.written_since(*shard.based_on, shard.writer_id);
  conflicts.certain = theirs.has_value();
  for (const auto& [number, draft] : drafts) {
    if (!theirs || theirs->contains(number)) conflicts.numbers.push_back(number);
  }
  return conflicts;
}

/// As publish(), where the next shard does not take a name but is put in place of the version that
/// was read.
Result<CommitOutcome> publish_at_server(Store& store, ConditionalWriter& server, DirtyShard& shard,
                                        Drafts drafts, const CommitHooks& hooks)
    ZARRFS_REQUIRES(shard.commit_mutex) {
  ZARRFS_TRY(const auto standing, server.look(shard.shard_path));
  ZARRFS_TRY(const auto notes, CommitNotes::of(server, shard.shard_path, standing));
  Drafts fresh = notes->unpublished(drafts, shard.writer_id);
  if (hooks.overtaken) {
    const auto numbers = notes->overtaken(fresh, shard.writer_id);
    for (const std::uint64_t number : numbers) {
      fresh.erase(number);
      drafts.erase(number);
    }
    if (!numbers.empty()) hooks.overtaken(numbers);
  }
  CommitOutcome outcome;
  outcome.before = outcome.after = standing ? standing->identity : FileIdentity{};
  const std::uint64_t present = standing ? digest_of(standing->version) : 0;
  const Conflicts conflicts = conflicts_of(shard, fresh, *notes, present);
  if (hooks.hold && !conflicts.numbers.empty()) {
    // Before the put: the note that goes with it speaks for all earlier writes that are not held.
    ZARRFS_CHECK(hooks.hold(conflicts.numbers));
    for (const std::uint64_t number : conflicts.numbers) {
      fresh.erase(number);
      drafts.erase(number);
    }
  }
  for (const auto& [number, draft] : drafts) outcome.published.push_back(number);
  outcome.put = fresh.size();
  if (!fresh.empty()) {
    ZARRFS_TRY(const Base base, read_base(store, shard, fresh));
    if (base.identity != outcome.before) return fail(shard_changed(shard.shard_path));
    ZARRFS_TRY(const NextFile made, make_durable_next(store, shard, fresh, base));
    notes->add(fresh, shard.writer_id, hooks.overtaken != nullptr);
    const auto put = [&]() -> Result<FileIdentity> {
      ZARRFS_CHECK(tell(shard, fresh, hooks, false));
      ZARRFS_CHECK(hooks.before_publish(false));
      if (made.anything) {
        return server.put(made.next.path, shard.shard_path, base.identity, notes->text());
      }
      ZARRFS_CHECK(server.remove_object(shard.shard_path, base.identity));
      return FileIdentity{};
    };
    auto done = put();
    if (made.next.own) static_cast<void>(store.remove(made.next.path));
    if (!done) return fail(std::move(done.error()));
    outcome.after = *done;
    outcome.bytes_written = made.next.bytes_written;
    outcome.cloned = made.next.cloned;
    if (!hooks.hold && !conflicts.numbers.empty() && hooks.overwritten) {
      hooks.overwritten(conflicts.numbers, conflicts.certain);
    }
  }
  ZARRFS_CHECK(tell(shard, drafts, hooks, true));
  return outcome;
}

}  // namespace

Result<std::uint64_t> reserved_at_start(const ArrayReader& array,
                                        std::span<const std::uint64_t> cell) {
  const Layout& layout = array.layout();
  if (!layout.sharded() || layout.levels().size() != 1) return 0;
  ZARRFS_TRY(const IndexFormat format, layout.index_format_of(cell));
  return format.at_start() ? format.encoded_size() : 0;
}

Result<CommitOutcome> commit_shard(Store& store, DirtyShard& shard, const CommitHooks& hooks) {
  ConditionalWriter* const server = conditional_writer_of(store);
  Race race;
  for (int round = 1;; ++round) {
    const Drafts drafts = publishable(shard);
    if (drafts.empty()) return CommitOutcome{};
    auto outcome = server == nullptr ? publish(store, shard, drafts, hooks)
                                     : publish_at_server(store, *server, shard, drafts, hooks);
    const bool stale = !outcome && outcome.error().fault == Fault::kStale;
    if (!outcome && shard.stage == ShardStage::kAppending) {
      static_cast<void>(shard.file->truncate(shard.end));  // what was copied behind the drafts
    }
    if (outcome) outcome->again = round > 1;
    if (!stale) return outcome;
    if (server != nullptr ? !race.lost() : round == kMaxRounds) return outcome;
  }
}

}  // namespace zarrfs
