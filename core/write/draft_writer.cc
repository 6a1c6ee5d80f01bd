#include "core/write/draft_writer.h"

#include <algorithm>
#include <optional>

#include "core/base/hash.h"
#include "core/base/path.h"
#include "core/base/request.h"
#include "core/shared/shared_store.h"
#include "core/store/as_caller.h"
#include "core/store/conditional_writer.h"
#include "core/write/commit.h"
#include "core/zarr/embedded_file.h"

namespace zarrfs {
namespace {

constexpr int kMakeRounds = 3;
/// Room for what a commit notes in the log, beside the shard itself.
constexpr std::uint64_t kRoomForLog = std::uint64_t{128} << 10U;

struct timespec wall_clock_now() {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

/// The array, or a group that it lies in, may have been written as a store of its own, by a mount
/// that was killed. What that one left is older than the chunk that is to be written, and would be
/// put over it later.
Result<void> check_nothing_left_below(Store& store, const std::string& array_path) {
  for (std::size_t end = 0; end < array_path.size();) {
    end = std::min(array_path.find('/', end + 1), array_path.size());
    const std::string node = array_path.substr(0, end);
    ZARRFS_TRY(const auto own, store.status(join_path(node, kLogDirectory)));
    if (!own) continue;
    ZARRFS_TRY(const bool unpublished, has_unpublished(store, node));
    if (!unpublished) continue;
    const std::string name = join_path(store.name(), node);
    return fail(Fault::kBusy, name + " has chunks that are not published yet: unmount " +
                                  store.name() + ", and run zarrfs recover " + name);
  }
  return {};
}

/// Makes the directories from the array down to the shard's. What is written to a server lies on
/// this machine first, where create() makes them: the server is not asked.
Result<void> make_directories(Store& store, const DirtyShard& shard) {
  if (!store.traits().directories) return {};
  std::size_t at = shard.array_path.empty() ? 0 : shard.array_path.size() + 1;
  for (at = shard.shard_path.find('/', at); at != std::string::npos;
       at = shard.shard_path.find('/', at + 1)) {
    auto made = store.make_directory(shard.shard_path.substr(0, at), 0777);
    if (!made && made.error().fault != Fault::kExists) return made;
  }
  return {};
}

/// The successor's file. Of a new shard it is made as the caller himself would make it, and so are
/// the directories on its way; else it gets the shard's owner before it takes its name.
Result<std::unique_ptr<NewFile>> make_successor(Store& store, const DirtyShard& shard) {
  std::optional<AsCaller> as;
  if (foreign_caller() != nullptr) {
    ZARRFS_TRY(const auto present, store.status(shard.shard_path));
    if (!present) {
      ZARRFS_TRY(AsCaller caller, AsCaller::begin());
      as.emplace(std::move(caller));
    }
  }
  for (int round = 1;; ++round) {
    auto file = [&]() -> Result<std::unique_ptr<NewFile>> {
      ZARRFS_CHECK(make_directories(store, shard));
      return store.create(shard.successor_path, 0666);
    }();
    // A commit that deleted the last shard of a directory may have removed it, or one above it,
    // between any two of these calls.
    if (file || file.error().fault != Fault::kIo || round == kMakeRounds) return file;
  }
}

/// What is not ours alone is not replaced: a chunk that lies in a file of another format, and a
/// shard that is another file as well.
Result<void> check_own_file(const DirtyShard& shard, bool drop_foreign) {
  ArrayReader& array = *shard.array;
  if (array.layout().sharded()) {
    if (drop_foreign) return {};
    const auto other = embedded_file_in(array, shard.cell);
    if (!other || !*other) return {};  // what cannot be read is told by whoever reads it
    return fail(Fault::kReadOnly, "shard " + shard.shard_path + " is a file of " + **other +
                                      ", too, and would not be one any more; `zarrfs compact "
                                      "--foreign-bytes drop` makes it a shard only, and so does a "
                                      "write to a mount with foreign_bytes=drop");
  }
  const auto file = array.store().open(shard.shard_path);
  if (!file || *file == nullptr) return {};
  if (!(*file)->place()) return {};
  return fail(Fault::kReadOnly,
              shard.shard_path + ": lies in " + (*file)->name() + ", which is no Zarr");
}

std::vector<std::uint64_t> unlogged(const DirtyShard& shard) {
  std::vector<std::uint64_t> numbers;
  const HeldLock lock(shard.state_mutex);
  for (const auto& [number, draft] : shard.drafts) {
    if (draft.sequence == 0) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

/// Whether the server is away, and `error` says no more.
bool DraftWriter::is_out_of_reach(const Error& error) const {
  ConditionalWriter* const server = conditional_writer_of(*parts_.store);
  return server != nullptr && error.fault == Fault::kIo && server->away();
}

Result<void> DraftWriter::check_unknown_base(DirtyShard& shard) {
  ConditionalWriter* const server = conditional_writer_of(*parts_.store);
  if (!shard.base_unknown || server == nullptr) return {};
  ZARRFS_CHECK(server->look(shard.shard_path));  // it answers
  ZARRFS_CHECK(check_own_file(shard, parts_.options.drop_foreign));
  shard.base_unknown = false;
  return {};
}

Result<void> DraftWriter::check_base(DirtyShard& shard, std::uint64_t number, bool removal) {
  if (shard.stage != ShardStage::kNew && !shard.base_damaged) return {};
  ZARRFS_CHECK(check_own_file(shard, parts_.options.drop_foreign));
  auto read = shard.array->visit_shard(shard.cell, 0, [](const auto&) { return false; });
  shard.base_damaged = !read && read.error().fault == Fault::kDamaged;
  if (!shard.base_damaged) {
    const auto status = parts_.store->status(shard.shard_path);
    const auto known = read && !status ? fail(status.error()) : read;
    // The commit reads it, and merges the draft, on condition that it is so still.
    shard.base_unknown = !known && is_out_of_reach(known.error());
    if (shard.base_unknown) return {};
    ZARRFS_CHECK(known);
    shard.base_bytes = *status ? static_cast<std::uint64_t>((*status)->st_size) : 0;
    return {};
  }
  const HeldLock lock(shard.state_mutex);
  const std::size_t drafts = shard.drafts.size() + (shard.drafts.contains(number) ? 0 : 1);
  const bool all = drafts - shard.kept_back == shard.expected;
  return shard.array->layout().regular() && (removal || all) ? Result<void>{} : read;
}

/// At a server: which version of the shard is shown when its first chunk is written.
Result<void> DraftWriter::note_base(DirtyShard& shard) {
  ConditionalWriter* const server = conditional_writer_of(*parts_.store);
  if (server == nullptr) return {};
  const auto version = server->shown_version(shard.shard_path);
  if (!version && !shard.base_unknown) return fail(version.error());
  shard.based_on = !version || version->empty() ? 0 : digest_of(*version);
  return {};
}

void DraftWriter::renew_base(DirtyShard& shard) {
  {
    const HeldLock lock(shard.state_mutex);
    if (shard.drafts.empty() || shard.drafts.size() > shard.kept_back) return;
  }
  static_cast<void>(note_base(shard));  // then it stays the older one
}

/// The log names the successor.
Result<void> DraftWriter::begin(DirtyShard& shard) {
  if (shard.stage != ShardStage::kNew) return {};
  if (parts_.store->traits().directories) {
    ZARRFS_CHECK(check_nothing_left_below(*parts_.store, shard.array_path));
  }
  ZARRFS_TRY(shard.end, reserved_at_start(*shard.array, shard.cell));
  ConditionalWriter* const server = conditional_writer_of(*parts_.store);
  if (server != nullptr && !server->mount_id().empty()) shard.writer_id = server->mount_id();
  LogRecord record{.kind = LogRecord::Kind::kOpen};
  record.array_path = shard.array_path;
  record.cell = shard.cell;
  record.successor_path = shard.successor_path;
  record.checksum = shard.form;
  record.number = shard.based_on.value_or(0);
  ZARRFS_TRY(shard.id, parts_.log->append(std::move(record)));
  shard.stage = ShardStage::kLogged;
  return {};
}

/// The successor's file is there and open.
Result<void> DraftWriter::begin_appending(DirtyShard& shard) {
  if (shard.stage == ShardStage::kAppending) return files_.open(shard);
  if (shard.stage != ShardStage::kLogged) {
    return fail(Fault::kBusy, "shard " + shard.shard_path + " is being published");
  }
  ZARRFS_TRY(std::shared_ptr<NewFile> file, make_successor(*parts_.store, shard));
  return files_.attach(shard, std::move(file));
}

/// What the commit of the shard will write beyond what is in the successor, with another `bytes` in
/// it, is reserved.
Result<void> DraftWriter::hold_room(const DirtyShard& shard, std::uint64_t bytes) {
  const Layout& layout = shard.array->layout();
  if (!layout.sharded()) return {};
  ZARRFS_TRY(const IndexFormat index, layout.index_format_of(shard.cell));
  std::uint64_t drafts = 0;
  {
    const HeldLock lock(shard.state_mutex);
    drafts = shard.live_bytes + bytes;
    const bool in_place = layout.levels().size() == 1 && layout.levels()[0].around.steps().empty();
    if (in_place && shard.dead_bytes == 0 && shard.kept_back == 0) drafts = 0;
  }
  const std::uint64_t unchanged = parts_.has_clones ? 0 : shard.base_bytes;
  const auto known = checked_add(unchanged, drafts);
  const auto needed =
      known ? checked_add(*known, index.encoded_size() + kRoomForLog) : std::nullopt;
  if (!needed) return fail(Fault::kTooBig, "shard " + shard.shard_path + " has too many bytes");
  return parts_.reserve.hold(*needed);
}

Result<void> DraftWriter::write(DirtyShard& shard, std::uint64_t number, const ByteView* bytes,
                                bool quarantined, bool held, const Draft* before,
                                const Shown& shown) {
  const SharedLock room(parts_.room_mutex);
  SharedStore* const shared = shared_of(*parts_.store);
  Draft draft{.removed = bytes == nullptr, .held = held, .written = wall_clock_now()};
  if (before != nullptr) {
    draft.seen = before->seen;
    draft.written = before->written;
  } else if (shared != nullptr) {
    ZARRFS_TRY(draft.seen, shared->newest_generation(shard.shard_path));
  }
  if (!shard.based_on) ZARRFS_CHECK(note_base(shard));
  ZARRFS_CHECK(begin(shard));
  LogRecord record{.kind = LogRecord::Kind::kRemove, .successor = shard.id, .number = number};
  if (bytes != nullptr) {
    ZARRFS_CHECK(begin_appending(shard));
    ZARRFS_CHECK(hold_room(shard, bytes->size()));
    ZARRFS_CHECK(shard.file->write_at(shard.end, *bytes));  // 1 the bytes are in the successor
    record.kind = LogRecord::Kind::kPut;
    record.range = {shard.end, bytes->size()};
    record.checksum = crc32c(*bytes);
    record.quarantined = quarantined;
  }
  record.held = held;
  if (shared != nullptr) record.cell = {draft.seen, draft.moment()};
  ZARRFS_TRY(draft.sequence, parts_.log->append(record));  // 2 the log says where
  draft.logged = draft.sequence;
  draft.quarantined = record.quarantined;
  draft.range = record.range;
  draft.checksum = record.checksum;
  const HeldLock lock(shard.state_mutex);
  shard.set_draft(number, draft);  // 3 readers see it
  shown();
  shard.end += record.range.length;
  shard.unsynced = true;
  shard.changed = Clock::now();
  return {};
}

Result<void> DraftWriter::hold(DirtyShard& shard, std::uint64_t number) {
  LogRecord record{.successor = shard.id, .number = number, .held = true};
  Draft draft;
  {
    const HeldLock lock(shard.state_mutex);
    draft = shard.drafts.at(number);
  }
  record.kind = draft.removed ? LogRecord::Kind::kRemove : LogRecord::Kind::kPut;
  record.range = draft.range;
  record.checksum = draft.checksum;
  if (shared_of(*parts_.store) != nullptr) record.cell = {draft.seen, draft.moment()};
  ZARRFS_TRY(draft.sequence, parts_.log->append(record));
  draft.logged = draft.sequence;
  draft.held = true;
  const HeldLock lock(shard.state_mutex);
  shard.set_draft(number, draft);
  return {};
}

void DraftWriter::remove_unlogged(DirtyShard& shard, std::uint64_t number, const Shown& shown) {
  const HeldLock lock(shard.state_mutex);
  shard.set_draft(number, {.removed = true, .written = wall_clock_now()});
  shown();
  shard.changed = Clock::now();
}

Result<void> DraftWriter::log_removals(DirtyShard& shard) {
  for (const std::uint64_t number : unlogged(shard)) {
    ZARRFS_CHECK(write(shard, number, nullptr, false));
  }
  return {};
}

}  // namespace zarrfs
