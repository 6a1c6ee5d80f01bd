// Taking over what an earlier writer left: part of WriteBuffer. JOURNAL.md has the argument.
#include <algorithm>
#include <map>
#include <set>

#include "core/write/shard_builder.h"
#include "core/write/write_buffer.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

std::map<std::uint64_t, LoggedSuccessor> sort_records(const std::vector<LogRecord>& records) {
  std::map<std::uint64_t, LoggedSuccessor> logged;
  for (const LogRecord& record : records) {
    LoggedSuccessor& one =
        logged[record.kind == LogRecord::Kind::kOpen ? record.sequence : record.successor];
    switch (record.kind) {
      case LogRecord::Kind::kOpen: one.open = record; break;
      case LogRecord::Kind::kPut:
      case LogRecord::Kind::kRemove: one.writes[record.number].push_back(record); break;
      case LogRecord::Kind::kPublish: one.publishing = true; break;
      case LogRecord::Kind::kDone: one.done = true; break;
    }
  }
  return logged;
}

bool is_whole(const File& successor, const LogRecord& record) {
  if (!lies_within(record.range, successor.size())) return false;
  const auto bytes = successor.read_range(record.range);
  return bytes && crc32c(*bytes) == record.checksum;
}

struct Recovered {
  std::uint64_t chunks = 0;
  std::uint64_t lost = 0;  // writes that had not been made durable before a power cut
};

/// Puts the latest whole write of each chunk into `shard`.
Recovered collect_drafts(const LoggedSuccessor& logged, const File* successor, DirtyShard& shard) {
  Recovered recovered;
  const std::lock_guard lock(shard.state_mutex);
  for (const auto& [number, records] : logged.writes) {
    for (const LogRecord& record : records) {
      shard.end = std::max(shard.end, record.range.offset + record.range.length);
      const bool removed = record.kind == LogRecord::Kind::kRemove;
      if (!removed && (successor == nullptr || !is_whole(*successor, record))) {
        ++recovered.lost;
        continue;
      }
      Draft draft{.removed = removed,
                  .held = record.held,
                  .range = record.range,
                  .checksum = record.checksum,
                  .sequence = record.sequence};
      if (successor != nullptr) draft.written = successor->status().st_mtim;
      shard.set_draft(number, draft);
    }
  }
  recovered.chunks = shard.drafts.size();
  return recovered;
}

}  // namespace

/// Puts the latest whole write of each chunk again, into whatever successor the shard has now.
Result<std::uint64_t> WriteBuffer::put_again(const ArrayPointer& array,
                                             const LoggedSuccessor& logged, const File* successor) {
  std::uint64_t chunks = 0;
  for (const auto& [number, records] : logged.writes) {
    const LogRecord& last = records.back();
    if (last.kind == LogRecord::Kind::kRemove) {
      ZARRFS_CHECK(remove(array, logged.open.cell, number));
    } else if (successor != nullptr && is_whole(*successor, last)) {
      ZARRFS_TRY(const Bytes bytes, successor->read_range(last.range));
      ZARRFS_CHECK(put(array, logged.open.cell, number, bytes, last.held));
    }
    ++chunks;
  }
  auto done = log_->append({.kind = LogRecord::Kind::kDone, .successor = logged.open.sequence});
  if (!done) return fail(done.error());
  return chunks;
}

/// Removes what was being written when it was killed, beside shards and in zarrfs's own directory:
/// files that the log does not name.
Result<void> WriteBuffer::remove_strays(const std::set<std::string>& directories) {
  std::set<std::string> needed;
  for (const Pointer& shard : pointers_below("")) needed.insert(shard->successor_path);
  for (const std::string& directory : directories) {
    ZARRFS_TRY(const auto entries, store_->list(directory));
    for (const Entry& entry : entries ? *entries : std::vector<Entry>{}) {
      const std::string path = join_path(directory, entry.name);
      if (entry.kind != EntryKind::kFile || !is_successor_name(entry.name)) continue;
      if (!needed.contains(path)) ZARRFS_CHECK(store_->remove(path));
    }
  }
  return {};
}

Result<void> WriteBuffer::take_over() {
  ZARRFS_TRY(const auto contents, read_log(*store_));
  ZARRFS_TRY(log_, LogWriter::open(store_, contents));
  std::set<std::string> directories = {kLogDirectory};
  if (!contents) {
    ZARRFS_CHECK(remove_strays(directories));
    return log_->remove();
  }
  Recovered total;
  std::vector<std::string> finished;
  const auto cache = std::make_shared<IndexCache>(std::size_t{16} << 20U);
  for (const auto& [id, logged] : sort_records(contents->records)) {
    if (logged.open.successor_path.empty()) continue;
    directories.insert(parent_path(logged.open.successor_path));
    directories.insert(logged.open.array_path);
    ZARRFS_TRY(const std::shared_ptr<const File> successor,
               store_->open(logged.open.successor_path));
    const bool removals_only = std::all_of(
        logged.writes.begin(), logged.writes.end(),
        [](const auto& item) { return item.second.back().kind == LogRecord::Kind::kRemove; });
    if (logged.done || logged.writes.empty() ||
        (!successor && (logged.publishing || !removals_only))) {
      if (!logged.done && !logged.publishing && !logged.writes.empty())
        total.lost += logged.writes.size();
      finished.push_back(logged.open.successor_path);
      continue;
    }
    ZARRFS_TRY(Node node, load_node(*store_, logged.open.array_path));
    if (!node.layout) {
      return fail(Fault::kDamaged,
                  "unpublished writes in " + std::string(kLogPath) + " belong to array " +
                      logged.open.array_path + ", which cannot be opened: " +
                      (node.error.message.empty() ? "there is no such array" : node.error.message));
    }
    if (logged.open.checksum != node.array->form) {
      options_.log(true, std::to_string(logged.writes.size()) + " chunks of array " +
                             logged.open.array_path +
                             " are dropped: another program has replaced the array since they were "
                             "written");
      finished.push_back(logged.open.successor_path);
      continue;
    }
    auto array =
        std::make_shared<ArrayReader>(store_, logged.open.array_path, node.array, node.layout,
                                      cache, std::make_shared<ReadCounters>());
    ZARRFS_TRY(const Pointer shard, dirty_shard(array, logged.open.cell));
    if (shard->id != 0) {  // held drafts were moving from that successor to this one
      ZARRFS_TRY(const std::uint64_t moved, put_again(array, logged, successor.get()));
      total.chunks += moved;
      finished.push_back(logged.open.successor_path);
      continue;
    }
    const std::lock_guard lock(shard->commit_mutex);
    shard->id = id;
    shard->successor_path = logged.open.successor_path;
    if (successor) {
      ZARRFS_TRY(shard->file, store_->reopen(shard->successor_path));
      shard->reader = std::make_shared<GrowingFile>(successor);
    }
    ZARRFS_TRY(shard->end, reserved_at_start(*array, shard->cell));
    const Recovered recovered = collect_drafts(logged, successor.get(), *shard);
    total.chunks += recovered.chunks;
    total.lost += recovered.lost;
    if (recovered.chunks == 0) {
      finished.push_back(shard->successor_path);
      forget(shard);
    }
  }
  static_cast<void>(sync_all());  // what was put again must outlive the file it came from
  for (const std::string& path : finished) ZARRFS_CHECK(store_->remove(path));
  ZARRFS_CHECK(remove_strays(directories));
  if (total.chunks > 0) {
    options_.log(
        false, "recovered " + std::to_string(total.chunks) + " chunks that had not been published");
  }
  if (total.lost > 0) {
    options_.log(true, std::to_string(total.lost) +
                           " writes had not been made durable before a power cut and are lost; "
                           "the chunks keep their earlier contents");
  }
  static_cast<void>(commit_below(""));  // what fails is logged, kept and retried
  return clean() ? log_->remove() : Result<void>{};
}

}  // namespace zarrfs
