#include "core/write/write_buffer.h"

#include <fcntl.h>

#include <algorithm>

#include "core/write/lock.h"
#include "core/write/shard_builder.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr int kMakeRounds = 3;

struct timespec wall_clock_now() {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
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

/// Makes the directories from the array down to the shard's, and the successor's file.
Result<std::unique_ptr<NewFile>> make_successor(Store& store, const DirtyShard& shard) {
  for (int round = 1;; ++round) {
    std::size_t at = shard.array_path.empty() ? 0 : shard.array_path.size() + 1;
    for (at = shard.shard_path.find('/', at); at != std::string::npos;
         at = shard.shard_path.find('/', at + 1)) {
      auto made = store.make_directory(shard.shard_path.substr(0, at), 0777);
      if (!made && made.error().fault != Fault::kExists) return fail(made.error());
    }
    auto file = store.create(shard.successor_path, 0666);
    // A commit that deleted the last shard of a directory may have removed it meanwhile.
    if (file || file.error().fault != Fault::kIo || round == kMakeRounds) return file;
  }
}

}  // namespace

WriteBuffer::WriteBuffer(std::shared_ptr<Store> store, WriteOptions options)
    : store_(std::move(store)), options_(std::move(options)) {}

Result<std::unique_ptr<WriteBuffer>> WriteBuffer::open(std::shared_ptr<Store> store,
                                                       WriteOptions options) {
  std::unique_ptr<WriteBuffer> buffer(new WriteBuffer(std::move(store), std::move(options)));
  ZARRFS_TRY(buffer->lock_, lock_store(*buffer->store_));
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
  Pointer found = find_pointer(array.cell_path(cell));
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
  shard->shard_path = array->cell_path(cell);
  shard->array = array;
  shard->form = array->metadata().form;
  shard->successor_path = new_successor_path(shard->shard_path);
  shard->dirty_since = shard->changed = Clock::now();
  shard->expected = expected_chunks(*array, cell);
  return shard;
}

Result<WriteBuffer::Pointer> WriteBuffer::dirty_shard(const ArrayPointer& array, const Cell& cell) {
  const std::string path = array->cell_path(cell);
  if (Pointer known = find_pointer(path)) {
    if (known->form == array->metadata().form) return known;
    const std::lock_guard lock(known->commit_mutex);
    if (!known->closed) {
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

/// Fails where the shard's present file cannot be read, so that the draft could never be published:
/// unless, in the end, no chunk of it is left.
Result<void> WriteBuffer::check_base(DirtyShard& shard, std::uint64_t number, bool removal) {
  if (shard.id != 0 && !shard.base_damaged) return {};
  auto read = shard.array->visit_cell(shard.cell, 0, [](const auto&) { return false; });
  shard.base_damaged = !read && read.error().fault == Fault::kDamaged;
  if (!shard.base_damaged) return read;
  const std::lock_guard lock(shard.state_mutex);
  const std::size_t drafts = shard.drafts.size() + (shard.drafts.contains(number) ? 0 : 1);
  const bool all = drafts - shard.held == shard.expected;
  return shard.array->layout().regular() && (removal || all) ? Result<void>{} : read;
}

Result<void> WriteBuffer::write_draft(DirtyShard& shard, std::uint64_t number,
                                      const ByteView* bytes, bool held) {
  ZARRFS_CHECK(check_base(shard, number, bytes == nullptr));
  if (shard.id == 0) {
    ZARRFS_TRY(shard.end, reserved_at_start(*shard.array, shard.cell));
    LogRecord record{.kind = LogRecord::Kind::kOpen};
    record.array_path = shard.array_path;
    record.cell = shard.cell;
    record.successor_path = shard.successor_path;
    record.checksum = shard.form;
    ZARRFS_TRY(shard.id, log_->append(std::move(record)));
  }
  if (bytes != nullptr && !shard.file) {
    if (shard.reader)
      return fail(Fault::kBusy, "shard " + shard.shard_path + " is being published");
    ZARRFS_TRY(shard.file, make_successor(*store_, shard));
    ZARRFS_TRY(const std::shared_ptr<const File> reader, store_->open(shard.successor_path));
    const std::lock_guard lock(shard.state_mutex);
    shard.reader = std::make_shared<GrowingFile>(reader);
  }
  LogRecord record{.kind = LogRecord::Kind::kRemove, .successor = shard.id, .number = number};
  if (bytes != nullptr) {
    ZARRFS_CHECK(shard.file->write_at(shard.end, *bytes));  // 1 the bytes are in the successor
    record.kind = LogRecord::Kind::kPut;
    record.range = {shard.end, bytes->size()};
    record.checksum = crc32c(*bytes);
    record.held = held;
  }
  ZARRFS_TRY(const std::uint64_t sequence, log_->append(record));  // 2 the log says where
  Draft draft{.removed = bytes == nullptr,
              .held = record.held,
              .range = record.range,
              .checksum = record.checksum,
              .sequence = sequence,
              .written = wall_clock_now()};
  const std::lock_guard lock(shard.state_mutex);
  shard.set_draft(number, draft);  // 3 readers see it
  shard.end += record.range.length;
  shard.unsynced = true;
  shard.changed = Clock::now();
  return {};
}

bool WriteBuffer::complete(const DirtyShard& shard) {
  const std::lock_guard lock(shard.state_mutex);
  return shard.drafts.size() - shard.held - shard.removed == shard.expected;
}

/// A write failed: a shard that has no other drafts is clean again.
Result<void> WriteBuffer::abandon(const Pointer& shard, Error error) {
  if (shard->drafts.empty()) {
    forget(shard);
    if (shard->file)
      static_cast<void>(store_->remove(shard->successor_path));  // `error` is what to tell
  }
  return fail(std::move(error));
}

/// The chunk is there again where this process dies before the commit.
void WriteBuffer::remove_unlogged(DirtyShard& shard, std::uint64_t number) {
  const std::lock_guard lock(shard.state_mutex);
  shard.set_draft(number, {.removed = true, .written = wall_clock_now()});
  shard.changed = Clock::now();
}

std::vector<std::uint64_t> WriteBuffer::unlogged(const DirtyShard& shard) {
  std::vector<std::uint64_t> numbers;
  const std::lock_guard lock(shard.state_mutex);
  for (const auto& [number, draft] : shard.drafts) {
    if (draft.sequence == 0) numbers.push_back(number);
  }
  return numbers;
}

Result<void> WriteBuffer::put(const ArrayPointer& array, const Cell& cell, std::uint64_t number,
                              ByteView bytes, bool held) {
  for (;;) {
    ZARRFS_TRY(const Pointer shard, dirty_shard(array, cell));
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->closed) continue;  // published meanwhile: begin its next version
    if (shard->reader && !shard->file) {
      ZARRFS_CHECK(
          commit_pointer(shard));  // its name moved but was not made durable: finish that first
      continue;
    }
    shard->array = array;
    auto written = write_draft(*shard, number, &bytes, held);
    if (!written) return abandon(shard, written.error());
    if (complete(*shard)) background_wake_.notify_one();
    const std::lock_guard guard(statistics_mutex_);
    ++statistics_.puts;
    statistics_.bytes_put += bytes.size();
    return written;
  }
}

Result<void> WriteBuffer::remove(const ArrayPointer& array, const Cell& cell,
                                 std::uint64_t number) {
  for (;;) {
    ZARRFS_TRY(const Pointer shard, dirty_shard(array, cell));
    const std::lock_guard lock(shard->commit_mutex);
    if (shard->closed) continue;
    shard->array = array;
    auto written = write_draft(*shard, number, nullptr, false);
    if (!written && written.error().fault == Fault::kNoSpace) {
      // Removing must be possible where there is no room for the log: it is how room is made.
      remove_unlogged(*shard, number);
      return {};
    }
    if (!written) return abandon(shard, written.error());
    return written;
  }
}

std::optional<FoundDraft> WriteBuffer::find(const ArrayReader& array, const Cell& cell,
                                            std::uint64_t number) const {
  const Pointer shard = find_pointer(array, cell);
  if (!shard) return std::nullopt;
  const std::lock_guard lock(shard->state_mutex);
  const auto found = shard->drafts.find(number);
  if (found == shard->drafts.end()) return std::nullopt;
  return FoundDraft{found->second, found->second.removed ? nullptr : shard->reader};
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
  const std::lock_guard lock(shard.commit_mutex);
  if (shard.closed) return {};
  for (const std::uint64_t number : unlogged(shard)) {
    ZARRFS_CHECK(write_draft(shard, number, nullptr, false));
  }
  bool unsynced = false;
  {
    const std::lock_guard state(shard.state_mutex);
    unsynced = shard.unsynced;
    shard.unsynced = false;
  }
  if (unsynced && shard.file) {
    auto synced = sync_successor(*store_, shard);
    if (!synced) {
      const std::lock_guard state(shard.state_mutex);
      shard.unsynced = true;
      shard.failure = synced.error();
      return synced;
    }
  }
  const std::lock_guard state(shard.state_mutex);
  if (shard.failure) return fail(*shard.failure);
  for (const auto& [number, draft] : shard.drafts) {
    if (draft.held) {
      return fail(Fault::kInvalid, "shard " + shard.shard_path + ": chunk " +
                                       std::to_string(number) +
                                       " holds bytes that cannot be a chunk of the array");
    }
  }
  return {};
}

Result<void> WriteBuffer::sync(const std::string& shard_path) {
  const Pointer shard = find_pointer(shard_path);
  if (!shard) return {};
  auto synced = sync_pointer(*shard);
  ZARRFS_CHECK(log_->sync());
  return synced;
}

Result<void> WriteBuffer::sync_all() {
  Result<void> first;
  for (const Pointer& shard : pointers_below("")) {
    auto synced = sync_pointer(*shard);
    if (!synced && first) first = std::move(synced);
  }
  ZARRFS_CHECK(log_->sync());
  return first;
}

void WriteBuffer::forget(const Pointer& shard) {
  shard->closed = true;
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
      const Layout& layout = shard->array->layout();
      const auto chunk = layout.chunk_at({shard->cell, entries_of(layout, shard->cell, number)});
      left.push_back({shard->array_path, chunk.value_or(shard->cell),
                      draft.held ? "its bytes cannot be a chunk of the array"
                      : draft.sequence == 0
                          ? "there was no room to note that it was removed: it will be there again"
                          : (shard->failure ? shard->failure->message : "not written yet")});
    }
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
    if (!clean()) commit_due(Clock::now());
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
  if (clean()) {
    ZARRFS_CHECK(log_->remove());
  } else {
    static_cast<void>(sync_all());  // reported by `left`
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
