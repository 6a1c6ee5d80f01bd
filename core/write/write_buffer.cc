#include "core/write/write_buffer.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/store/conditional_writer.h"
#include "core/write/shard_builder.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr int kFindRounds = 8;
constexpr std::size_t kDraftMemory = sizeof(Draft) + 64;  // with the map's node
constexpr std::size_t kShardMemory = 8192;                // of one with drafts; measured
constexpr std::uint64_t kPutsBetweenLooks = 16;           // at all shards that have drafts

/// Whether the shard is to be committed now.
bool is_due(const DirtyShard& shard, const WriteOptions& options, Clock::time_point now) {
  const HeldLock lock(shard.state_mutex);
  const std::uint64_t publishable = shard.drafts.size() - shard.kept_back;
  if (publishable == 0 || now < shard.retry_at) return false;
  if (shard.failure) return true;  // a program that goes on writing does not put it off
  return now - shard.changed >= options.flush_after ||
         now - shard.dirty_since >= options.flush_max ||
         publishable - shard.removed == shard.expected;
}

}  // namespace

Result<std::unique_ptr<WriteBuffer>> WriteBuffer::open(std::shared_ptr<Store> store,
                                                       WriteOptions options) {
  std::unique_ptr<WriteBuffer> buffer(new WriteBuffer(std::move(store), std::move(options)));
  WriteParts& parts = buffer->parts_;
  SharedStore* const shared = shared_of(*parts.store);
  ZARRFS_TRY(parts.lock, shared == nullptr ? lock_store(parts.store) : share_store(parts.store));
  buffer->committer_.keep_spares();
  if (ConditionalWriter* const server = conditional_writer_of(*parts.store); server != nullptr) {
    ZARRFS_CHECK(
        server->begin([log = parts.options.log](const std::string& line) { log(true, line); }));
  }
  if (shared != nullptr) parts.lock.share();  // the epoch, which begin() opened, keeps others out
  ZARRFS_CHECK(buffer->take_over());
  if (shared != nullptr) {
    shared->when_log_is_lost([raw = buffer.get()] {
      static_cast<void>(raw->parts_.log->renew());  // reported by whoever syncs it next
    });
    ZARRFS_CHECK(buffer->others_.look());
  }
  if (parts.options.background) {
    const auto pause = std::clamp<std::chrono::milliseconds>(parts.options.flush_after / 4,
                                                             std::chrono::milliseconds(5),
                                                             std::chrono::milliseconds(250));
    buffer->thread_.start(pause, [raw = buffer.get()] { raw->tick(); });
  }
  return buffer;
}

Result<void> WriteBuffer::take_over() {
  ZARRFS_TRY(const bool log, recovery_.take_over());
  if (log) static_cast<void>(commit_below(""));  // what fails is logged, kept and retried
  return clean() && parts_.parked.empty() ? parts_.log->remove() : Result<void>{};
}

WriteBuffer::~WriteBuffer() {
  thread_.stop();
  if (SharedStore* const shared = shared_of(*parts_.store); shared != nullptr) shared->stop();
}

void WriteBuffer::tick() {
  parts_.options.tick();
  others_.look_now_and_then();
  if (clean()) {
    parts_.reserve.release();
  } else {
    commit_due(Clock::now());
  }
}

namespace {
/// Who writes faster than shards are committed has to wait for some: `over` is whether that is so.
void commit_while(WriteBuffer& buffer, std::vector<DirtyPointer> shards,
                  const std::function<bool()>& over) {
  std::uint64_t committed = 0;
  for (DirtyPointer& next : shards) {
    const std::string path = std::exchange(next, nullptr)->shard_path;
    if (!buffer.commit(path)) return;  // kept, reported and tried again by the thread
    if (++committed % kPutsBetweenLooks == 0 && !over()) return;
  }
}
}  // namespace

Result<void> WriteBuffer::put(const ArrayPointer& array, const Cell& cell, std::uint64_t number,
                              ByteView bytes, bool quarantined, const DraftWriter::Shown& shown) {
  ZARRFS_TRY(const SpoolLimit::Admitted admitted, spool_limit_.admit(bytes.size()));
  const auto over = [this] { return memory() > parts_.options.write_buffer; };
  bool look = false;
  {
    const std::lock_guard guard(parts_.statistics_mutex);
    look = parts_.statistics.puts % kPutsBetweenLooks == 0;
  }
  if (look && over()) commit_while(*this, parts_.table.below(""), over);
  files_.limit();
  for (bool tried = false;;) {
    ZARRFS_TRY(const DirtyPointer shard, recovery_.shard_for(array, cell));
    HeldLock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;  // begin its next version
    if (shard->stage == ShardStage::kRenamed) {
      ZARRFS_CHECK(committer_.commit(shard));  // not known to be durable: finish that first
      continue;
    }
    auto written = put_now(shard, array, number, bytes, quarantined, shown);
    lock.unlock();
    if (written || std::exchange(tried, true)) return written;
    if (!committer_.make_way(written.error())) return written;
  }
}

Result<void> WriteBuffer::put_now(const DirtyPointer& shard, const ArrayPointer& array,
                                  std::uint64_t number, ByteView bytes, bool quarantined,
                                  const DraftWriter::Shown& shown) {
  shard->set_array(array);
  auto written = drafts_.check_base(*shard, number, false);
  if (written) drafts_.renew_base(*shard);
  if (written) written = drafts_.write(*shard, number, &bytes, quarantined, false, nullptr, shown);
  if (!written) return committer_.abandon(shard, written.error());
  committer_.limit_waste(shard);
  if (shard->complete()) thread_.wake();
  const std::lock_guard guard(parts_.statistics_mutex);
  ++parts_.statistics.puts;
  parts_.statistics.bytes_put += bytes.size();
  return written;
}

Result<void> WriteBuffer::remove(const ArrayPointer& array, const Cell& cell, std::uint64_t number,
                                 const DraftWriter::Shown& shown) {
  if (shared_of(*parts_.store) != nullptr && !array->layout().sharded()) {
    return fail(Fault::kReadOnly, "/" + array->path() +
                                      ": chunks of an array without shards are not removed while "
                                      "several mounts write to the store (-o shared)");
  }
  for (;;) {
    ZARRFS_TRY(const DirtyPointer shard, recovery_.shard_for(array, cell));
    const HeldLock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    if (shard->stage == ShardStage::kRenamed) {
      ZARRFS_CHECK(committer_.commit(shard));
      continue;
    }
    shard->set_array(array);
    auto written = drafts_.check_base(*shard, number, true);
    if (written) drafts_.renew_base(*shard);
    if (written) written = drafts_.write(*shard, number, nullptr, false, false, nullptr, shown);
    if (!written && lacks_room(written.error())) {
      // Removing must be possible where there is no room for the log: it is how room is made.
      DraftWriter::remove_unlogged(*shard, number, shown);
      written = {};
    }
    if (!written) return committer_.abandon(shard, written.error());
    committer_.limit_waste(shard);
    return written;
  }
}

Result<std::optional<FoundDraft>> WriteBuffer::find(const ArrayReader& array,
                                                    const ChunkPlace& place) const {
  for (int round = 0; round < kFindRounds; ++round) {
    const DirtyPointer shard = parts_.table.find(array, place.path);
    if (!shard) return std::nullopt;
    FoundDraft draft;
    {
      const HeldLock lock(shard->state_mutex);
      const auto found = shard->drafts.find(place.number);
      if (found == shard->drafts.end()) return std::nullopt;
      draft.draft = found->second;
      if (draft.draft.removed) return draft;
      draft.file = shard->reader;
    }
    if (draft.file != nullptr) return draft;
    // Its file was closed for a while. Where it is not there, it has just been published.
    ZARRFS_TRY(const std::shared_ptr<NewFile> file, parts_.store->reopen(shard->successor_path));
    if (file == nullptr) continue;
    ZARRFS_TRY(const struct stat status, file->status());
    draft.file = std::make_shared<GrowingFile>(file, status);
    return draft;
  }
  return fail(Fault::kStale, "shard " + place.path +
                                 ": the file of its new chunks is gone: another program has moved "
                                 "or removed its array");
}

std::map<std::uint64_t, Draft> WriteBuffer::drafts(const ArrayReader& array,
                                                   const Cell& cell) const {
  if (clean()) return {};
  const DirtyPointer shard = parts_.table.find(array, array.shard_path(cell));
  if (!shard) return {};
  const HeldLock lock(shard->state_mutex);
  return shard->drafts;
}

std::vector<WriteBuffer::Cell> WriteBuffer::dirty_cells(const ArrayReader& array) const {
  return parts_.table.cells_of(array);
}

Result<void> WriteBuffer::sync(const std::string& shard_path, std::uint64_t number) {
  const auto committed = parts_.options.commit_at_sync ? commit(shard_path) : Result<void>{};
  const DirtyPointer shard = parts_.table.find(shard_path);
  if (!shard) return committed;
  auto synced = committer_.sync(*shard);  // it is safe here, at least, where the server is gone
  ZARRFS_CHECK(parts_.log->sync());
  ZARRFS_CHECK(synced);
  ZARRFS_CHECK(committed);
  const HeldLock state(shard->state_mutex);
  const auto draft = shard->drafts.find(number);
  if (draft == shard->drafts.end()) return {};
  if (draft->second.quarantined) {
    return fail(Fault::kInvalid, "shard " + shard->shard_path + ": chunk " +
                                     std::to_string(number) +
                                     " holds bytes that cannot be a chunk of the array");
  }
  if (draft->second.held) return fail(Committer::held(*shard, number));
  return told_of(*shard);
}

bool WriteBuffer::at_server() const {
  return conditional_writer_of(*parts_.store) != nullptr && shared_of(*parts_.store) == nullptr;
}

/// Why the shard could not be written, where that is to be known by who syncs. A server that does
/// not answer is none: what is in the spool is as safe as before.
Result<void> WriteBuffer::told_of(const DirtyShard& shard) const {
  if (!shard.failure) return {};
  const bool away = at_server() && shard.failure->fault == Fault::kIo;
  if (away && !parts_.options.commit_at_sync) return {};
  return fail(*shard.failure);
}

Result<void> WriteBuffer::sync_below(const std::string& prefix) {
  Result<void> first;
  if (parts_.options.commit_at_sync) first = commit_below(prefix);
  for (const DirtyPointer& shard : parts_.table.below(prefix)) {
    auto synced = committer_.sync(*shard);
    if (synced) {
      const HeldLock state(shard->state_mutex);
      synced = told_of(*shard);
    }
    if (!synced && first) first = std::move(synced);
  }
  ZARRFS_CHECK(parts_.log->sync());
  return first;
}

Result<void> WriteBuffer::commit(const std::string& shard_path) {
  for (;;) {
    const DirtyPointer shard = parts_.table.find(shard_path);
    if (!shard) return {};
    files_.limit();
    const HeldLock lock(shard->commit_mutex);
    if (shard->stage != ShardStage::kClosed) return committer_.commit(shard);
  }  // what it held may have gone on in another successor
}

Result<void> WriteBuffer::publish(const std::string& shard_path, std::uint64_t number) {
  ZARRFS_CHECK(commit(shard_path));
  const DirtyPointer shard = parts_.table.find(shard_path);
  if (!shard) return {};
  const HeldLock state(shard->state_mutex);
  const auto draft = shard->drafts.find(number);
  const bool held = draft != shard->drafts.end() && draft->second.held;
  return held ? fail(Committer::held(*shard, number)) : Result<void>{};
}

/// The error of the first chunk of arrays at or below `prefix` that is held.
Result<void> WriteBuffer::check_held(const std::string& prefix) const {
  for (const DirtyPointer& shard : parts_.table.below(prefix)) {
    const HeldLock state(shard->state_mutex);
    for (const auto& [number, draft] : shard->drafts) {
      if (draft.held) return fail(Committer::held(*shard, number));
    }
  }
  return {};
}

Result<void> WriteBuffer::commit_below(const std::string& prefix) {
  const bool far = conditional_writer_of(*parts_.store) != nullptr;
  Result<void> first;
  for (DirtyPointer& next : parts_.table.below(prefix)) {
    const std::string path = std::exchange(next, nullptr)->shard_path;  // no descriptor is kept
    auto committed = commit(path);
    // A server that cannot be reached for one cannot be for the next, after the same long wait.
    const bool gone = far && !committed && committed.error().fault == Fault::kIo;
    if (!committed && first) first = std::move(committed);
    if (gone) break;
  }
  if (first) first = check_held(prefix);
  if (prefix.empty() && first) return committer_.clear_log();
  return first;
}

std::uint64_t WriteBuffer::memory() const {
  const WriteStatistics now = statistics();
  return now.drafts * kDraftMemory + now.dirty_shards * kShardMemory;
}

void WriteBuffer::commit_due(Clock::time_point now) {
  ConditionalWriter* const server = conditional_writer_of(*parts_.store);
  if (server != nullptr && server->away()) return;
  std::vector<DirtyPointer> pointers = parts_.table.below("");
  const bool over = memory() > parts_.options.write_buffer;
  for (DirtyPointer& next : pointers) {
    const DirtyPointer shard = std::move(next);
    files_.limit();
    const HeldLock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed || !(over || is_due(*shard, parts_.options, now)))
      continue;
    static_cast<void>(committer_.commit(shard));  // logged, kept and retried
  }
}

Result<void> WriteBuffer::drop_below(const std::string& path) {
  for (const DirtyPointer& shard : parts_.table.below(path)) {
    const HeldLock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    ZARRFS_CHECK(committer_.drop(shard));
  }
  const auto parked = parts_.parked.take(
      [&](const LogRecord& open) { return is_at_or_below(open.array_path, path); });
  for (const ParkedWrite& one : parked) recovery_.dispose(one.logged);
  return {};
}

/// Why the server could not be reached for some shard: the others wait for it, too. Empty where it
/// answers.
std::string WriteBuffer::why_unreachable() const {
  if (!at_server()) return "";
  for (const DirtyPointer& shard : parts_.table.below("")) {
    const HeldLock state(shard->state_mutex);
    if (shard->failure && shard->failure->fault == Fault::kIo) return shard->failure->message;
  }
  return "";
}

std::vector<LeftDraft> WriteBuffer::left() const {
  std::vector<LeftDraft> left;
  const std::string unreachable = why_unreachable();
  for (const DirtyPointer& shard : parts_.table.below("")) {
    const HeldLock state(shard->state_mutex);
    for (const auto& [number, draft] : shard->drafts) {
      std::string reason = shard->failure ? shard->failure->message : unreachable;
      if (draft.sequence == 0)
        reason = "there was no room to note that it was removed: it will be there again";
      if (draft.quarantined) reason = kNoChunkReason;
      if (draft.held) reason = kHeldReason;
      if (reason.empty()) continue;  // its time has not come
      const Layout& layout = shard->array->layout();
      const auto chunk = layout.chunk_at({shard->cell, entries_of(layout, shard->cell, number)});
      left.push_back({shard->array_path, chunk.value_or(shard->cell), std::move(reason)});
    }
  }
  for (const ParkedWrite& parked : parts_.parked.all()) {
    const LogRecord& open = parked.logged.open;
    const std::size_t count = parked.logged.writes.size();
    left.push_back({open.array_path, open.cell,
                    "of its " + std::to_string(count) + (count == 1 ? " chunk" : " chunks") +
                        " what is stored is shown, and what was written waits: " + parked.reason,
                    true});
  }
  std::vector<LeftDraft> of_others = others_.left();
  std::move(of_others.begin(), of_others.end(), std::back_inserter(left));
  return left;
}

WriteStatistics WriteBuffer::statistics() const {
  WriteStatistics result;
  {
    const std::lock_guard lock(parts_.statistics_mutex);
    result = parts_.statistics;
  }
  for (const DirtyPointer& shard : parts_.table.below("")) {
    const HeldLock state(shard->state_mutex);
    ++result.dirty_shards;
    result.drafts += shard->drafts.size();
  }
  result.log_bytes = parts_.log->bytes();
  return result;
}

Result<void> WriteBuffer::close() {
  thread_.stop();
  auto committed = commit_below("");
  parts_.reserve.release();
  if (clean() && parts_.parked.empty()) {
    ZARRFS_CHECK(parts_.log->remove());
  } else {
    static_cast<void>(sync_below(""));  // reported by `left`
  }
  auto left = others_.leave();
  return committed ? left : committed;
}

}  // namespace zarrfs
