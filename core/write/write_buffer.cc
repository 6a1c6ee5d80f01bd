#include "core/write/write_buffer.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "core/base/request.h"
#include "core/store/as_caller.h"
#include "core/write/lock.h"
#include "core/write/shard_builder.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr int kFindRounds = 8;
constexpr int kSpareDescriptors = 8;
constexpr std::size_t kFewDescriptors = 8;

/// A quarter of the descriptors that this process may have.
std::size_t quarter_of_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewDescriptors;
  return std::max<std::size_t>(kFewDescriptors, limit.rlim_cur / 4);
}

/// Chunks of the shard at `cell` that hold an element of the array.
std::uint64_t expected_chunks(const ArrayReader& array, std::span<const std::uint64_t> cell) {
  const Layout& layout = array.layout();
  if (!layout.sharded() || !layout.regular()) return 1;
  std::uint64_t expected = 1;
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    const AxisGrid& grid = layout.grid().axes[axis];
    const std::uint64_t edge = layout.chunk_shape()[axis];
    const std::uint64_t begin = grid.begin(cell[axis]) / edge;
    const std::uint64_t places = grid.edge(cell[axis]) / edge;
    const std::uint64_t count = layout.chunk_counts()[axis];
    expected *= begin >= count ? 0 : std::min(places, count - begin);
  }
  return expected;
}

}  // namespace

WriteBuffer::WriteBuffer(std::shared_ptr<Store> store, WriteOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      reserve_(store_, [this](const std::string& line) { options_.log(false, line); }),
      most_open_(options_.open_successors != 0 ? options_.open_successors
                                               : quarter_of_descriptors()) {}

Result<std::unique_ptr<WriteBuffer>> WriteBuffer::open(std::shared_ptr<Store> store,
                                                       WriteOptions options) {
  std::unique_ptr<WriteBuffer> buffer(new WriteBuffer(std::move(store), std::move(options)));
  ZARRFS_TRY(buffer->lock_, lock_store(buffer->store_));
  for (int i = 0; i < kSpareDescriptors; ++i) {
    buffer->spare_.emplace_back(::fcntl(buffer->lock_.descriptor(), F_DUPFD_CLOEXEC, 0));
  }
  ZARRFS_CHECK(buffer->take_over());
  if (buffer->options_.background) {
    buffer->background_ = std::thread([raw = buffer.get()] { raw->run_background(); });
  }
  return buffer;
}

WriteBuffer::~WriteBuffer() {
  {
    const std::lock_guard lock(background_mutex_);
    stopping_ = true;
  }
  background_wake_.notify_all();
  if (background_.joinable()) background_.join();
}

WriteBuffer::Pointer WriteBuffer::find_pointer(const std::string& shard_path) const {
  if (clean()) return nullptr;
  const std::shared_lock lock(map_mutex_);
  const auto found = shards_.find(shard_path);
  return found == shards_.end() ? nullptr : found->second;
}

WriteBuffer::Pointer WriteBuffer::find_pointer(const ArrayReader& array, const Cell& cell) const {
  if (clean()) return nullptr;
  Pointer found = find_pointer(array.shard_path(cell));
  return found != nullptr && found->form == array.metadata().form ? found : nullptr;
}

std::vector<WriteBuffer::Pointer> WriteBuffer::pointers_below(const std::string& prefix) const {
  std::vector<Pointer> pointers;
  const std::shared_lock lock(map_mutex_);
  for (const auto& [path, shard] : shards_) {
    if (is_at_or_below(shard->array_path, prefix)) pointers.push_back(shard);
  }
  std::sort(pointers.begin(), pointers.end(),
            [](const Pointer& a, const Pointer& b) { return a->shard_path < b->shard_path; });
  return pointers;
}

WriteBuffer::Pointer WriteBuffer::new_shard(const ArrayPointer& array, const Cell& cell) {
  auto shard = std::make_shared<DirtyShard>();
  shard->array_path = array->path();
  shard->cell = cell;
  shard->shard_path = array->shard_path(cell);
  shard->array = array;
  shard->form = array->metadata().form;
  shard->successor_path = new_successor_path(shard->shard_path);
  shard->dirty_since = shard->changed = Clock::now();
  shard->expected = expected_chunks(*array, cell);
  return shard;
}

Result<WriteBuffer::Pointer> WriteBuffer::dirty_shard(const ArrayPointer& array, const Cell& cell) {
  if (parked_count_ != 0) ZARRFS_CHECK(take_up_parked(array, cell));
  const std::string path = array->shard_path(cell);
  if (Pointer known = find_pointer(path)) {
    if (known->form == array->metadata().form) return known;
    const std::lock_guard lock(known->commit_mutex);
    if (known->stage != ShardStage::kClosed) {
      options_.log(true, "shard " + path +
                             ": another program has replaced its array; chunks that "
                             "were written for the old one are dropped");
      ZARRFS_CHECK(drop(known));
    }
  }
  const std::unique_lock lock(map_mutex_);
  Pointer& shard = shards_[path];
  if (!shard) {
    shard = new_shard(array, cell);
    ++dirty_count_;
  }
  return shard;
}

Result<void> WriteBuffer::put(const ArrayPointer& array, const Cell& cell, std::uint64_t number,
                              ByteView bytes, bool quarantined) {
  close_some(nullptr, most_open_);
  for (bool tried = false;;) {
    ZARRFS_TRY(const Pointer shard, dirty_shard(array, cell));
    std::unique_lock lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;  // begin its next version
    if (shard->stage == ShardStage::kRenamed) {
      ZARRFS_CHECK(commit_pointer(shard));  // not known to be durable: finish that first
      continue;
    }
    auto written = put_now(shard, array, number, bytes, quarantined);
    lock.unlock();
    if (written || std::exchange(tried, true) || !make_way(written.error())) return written;
  }
}

Result<void> WriteBuffer::put_now(const Pointer& shard, const ArrayPointer& array,
                                  std::uint64_t number, ByteView bytes, bool quarantined) {
  shard->set_array(array);
  auto written = check_base(*shard, number, false);
  if (written) written = write_draft(*shard, number, &bytes, quarantined);
  if (!written) return abandon(shard, written.error());
  limit_waste(shard);
  if (complete(*shard)) background_wake_.notify_one();
  const std::lock_guard guard(statistics_mutex_);
  ++statistics_.puts;
  statistics_.bytes_put += bytes.size();
  return written;
}

Result<void> WriteBuffer::remove(const ArrayPointer& array, const Cell& cell,
                                 std::uint64_t number) {
  for (;;) {
    ZARRFS_TRY(const Pointer shard, dirty_shard(array, cell));
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->stage == ShardStage::kClosed) continue;
    if (shard->stage == ShardStage::kRenamed) {
      ZARRFS_CHECK(commit_pointer(shard));
      continue;
    }
    shard->set_array(array);
    auto written = check_base(*shard, number, true);
    if (written) written = write_draft(*shard, number, nullptr, false);
    if (!written && lacks_room(written.error())) {
      // Removing must be possible where there is no room for the log: it is how room is made.
      remove_unlogged(*shard, number);
      written = {};
    }
    if (!written) return abandon(shard, written.error());
    limit_waste(shard);
    return written;
  }
}

Result<std::optional<FoundDraft>> WriteBuffer::find(const ArrayReader& array, const Cell& cell,
                                                    std::uint64_t number) const {
  for (int round = 0; round < kFindRounds; ++round) {
    const Pointer shard = find_pointer(array, cell);
    if (!shard) return std::nullopt;
    FoundDraft draft;
    {
      const std::lock_guard lock(shard->state_mutex);
      const auto found = shard->drafts.find(number);
      if (found == shard->drafts.end()) return std::nullopt;
      draft.draft = found->second;
      if (draft.draft.removed) return draft;
      draft.file = shard->reader;
    }
    if (draft.file != nullptr) return draft;
    // Its file was closed for a while. Where it is not there, it has just been published.
    ZARRFS_TRY(const std::shared_ptr<NewFile> file, store_->reopen(shard->successor_path));
    if (file == nullptr) continue;
    ZARRFS_TRY(const struct stat status, file->status());
    draft.file = std::make_shared<GrowingFile>(file, status);
    return draft;
  }
  return fail(Fault::kStale, "shard " + array.shard_path(cell) +
                                 ": the file of its new chunks is gone: another program has moved "
                                 "or removed its array");
}

std::map<std::uint64_t, Draft> WriteBuffer::drafts(const ArrayReader& array,
                                                   const Cell& cell) const {
  const Pointer shard = find_pointer(array, cell);
  if (!shard) return {};
  const std::lock_guard lock(shard->state_mutex);
  return shard->drafts;
}

std::vector<WriteBuffer::Cell> WriteBuffer::dirty_cells(const ArrayReader& array) const {
  std::vector<Cell> cells;
  if (clean()) return cells;
  const std::shared_lock lock(map_mutex_);
  for (const auto& [path, shard] : shards_) {
    if (shard->array_path == array.path() && shard->form == array.metadata().form) {
      cells.push_back(shard->cell);
    }
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

Result<void> WriteBuffer::sync_pointer(DirtyShard& shard) {
  close_some(nullptr, most_open_);
  const std::lock_guard lock(shard.commit_mutex);
  if (shard.stage == ShardStage::kClosed) return {};
  for (const std::uint64_t number : unlogged(shard)) {
    ZARRFS_CHECK(write_draft(shard, number, nullptr, false));
  }
  bool unsynced = false;
  {
    const std::lock_guard state(shard.state_mutex);
    unsynced = shard.unsynced;
    shard.unsynced = false;
  }
  if (!unsynced || shard.stage != ShardStage::kAppending) return {};
  ZARRFS_CHECK(open_file_of(shard));
  auto synced = sync_successor(*store_, shard);
  if (synced) return synced;
  const std::lock_guard state(shard.state_mutex);
  shard.unsynced = true;
  shard.failure = synced.error();
  return synced;
}

Result<void> WriteBuffer::sync(const std::string& shard_path, std::uint64_t number) {
  const Pointer shard = find_pointer(shard_path);
  if (!shard) return {};
  auto synced = sync_pointer(*shard);
  ZARRFS_CHECK(log_->sync());
  ZARRFS_CHECK(synced);
  const std::lock_guard state(shard->state_mutex);
  const auto draft = shard->drafts.find(number);
  if (draft == shard->drafts.end()) return {};
  if (draft->second.quarantined) {
    return fail(Fault::kInvalid, "shard " + shard->shard_path + ": chunk " +
                                     std::to_string(number) +
                                     " holds bytes that cannot be a chunk of the array");
  }
  return shard->failure ? fail(*shard->failure) : Result<void>{};
}

Result<void> WriteBuffer::sync_below(const std::string& prefix) {
  Result<void> first;
  for (const Pointer& shard : pointers_below(prefix)) {
    auto synced = sync_pointer(*shard);
    if (synced) {
      const std::lock_guard state(shard->state_mutex);
      if (shard->failure) synced = fail(*shard->failure);
    }
    if (!synced && first) first = std::move(synced);
  }
  ZARRFS_CHECK(log_->sync());
  return first;
}

void WriteBuffer::forget(const Pointer& shard) {
  if (shard->file) --open_;
  shard->file.reset();
  shard->stage = ShardStage::kClosed;
  const std::unique_lock lock(map_mutex_);
  if (const auto found = shards_.find(shard->shard_path);
      found != shards_.end() && found->second == shard) {
    shards_.erase(found);
    --dirty_count_;
  }
}

std::vector<LeftDraft> WriteBuffer::left() const {
  std::vector<LeftDraft> left;
  for (const Pointer& shard : pointers_below("")) {
    const std::lock_guard state(shard->state_mutex);
    for (const auto& [number, draft] : shard->drafts) {
      std::string reason = shard->failure ? shard->failure->message : "";
      if (draft.sequence == 0)
        reason = "there was no room to note that it was removed: it will be there again";
      if (draft.quarantined) reason = "its bytes cannot be a chunk of the array";
      if (reason.empty()) continue;  // its time has not come
      const Layout& layout = shard->array->layout();
      const auto chunk = layout.chunk_at({shard->cell, entries_of(layout, shard->cell, number)});
      left.push_back({shard->array_path, chunk.value_or(shard->cell), std::move(reason)});
    }
  }
  const std::lock_guard lock(parked_mutex_);
  for (const Parked& parked : parked_) {
    const LogRecord& open = parked.logged.open;
    left.push_back({open.array_path, open.cell,
                    std::to_string(parked.logged.writes.size()) +
                        " writes to its shard wait: " + parked.reason});
  }
  return left;
}

WriteStatistics WriteBuffer::statistics() const {
  WriteStatistics result;
  {
    const std::lock_guard lock(statistics_mutex_);
    result = statistics_;
  }
  for (const Pointer& shard : pointers_below("")) {
    const std::lock_guard state(shard->state_mutex);
    ++result.dirty_shards;
    result.drafts += shard->drafts.size();
  }
  result.log_bytes = log_->bytes();
  return result;
}

void WriteBuffer::run_background() {
  std::unique_lock lock(background_mutex_);
  const auto pause = std::clamp<std::chrono::milliseconds>(
      options_.flush_after / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
  while (!stopping_) {
    background_wake_.wait_for(lock, pause);
    if (stopping_) continue;
    lock.unlock();
    options_.tick();
    if (clean()) {
      reserve_.release();
    } else {
      commit_due(Clock::now());
    }
    lock.lock();
  }
}

Result<void> WriteBuffer::close() {
  {
    const std::lock_guard lock(background_mutex_);
    stopping_ = true;
  }
  background_wake_.notify_all();
  if (background_.joinable()) background_.join();
  auto committed = commit_below("");
  reserve_.release();
  if (clean() && parked_count_ == 0) {
    ZARRFS_CHECK(log_->remove());
  } else {
    static_cast<void>(sync_below(""));  // reported by `left`
  }
  return committed;
}

Result<bool> has_unpublished(Store& store) {
  ZARRFS_TRY(const auto early, store.status(kEarlyPath));
  if (early) return true;
  ZARRFS_TRY(const auto contents, read_log(store));
  if (!contents) return false;
  std::map<std::uint64_t, bool> open;
  for (const LogRecord& record : contents->records) {
    if (record.kind == LogRecord::Kind::kDone) open.erase(record.successor);
    if (record.kind == LogRecord::Kind::kPut || record.kind == LogRecord::Kind::kRemove) {
      open[record.successor] = true;
    }
  }
  return !open.empty();
}

}  // namespace zarrfs
