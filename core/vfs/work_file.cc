#include "core/vfs/work_file.h"

#include <algorithm>

#include "core/write/whole_file.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr std::uint64_t kMostInMemory = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46U;
constexpr std::uint64_t kRoom = std::uint64_t{4} << 10U;
constexpr mode_t kMode = 0600;
constexpr std::size_t kMostLeft = 1024;  // a program opens what it looked up a moment ago
}  // namespace

WorkBytes::~WorkBytes() { budget_->used -= accounted_; }

void WorkBytes::account() {
  budget_->used += memory_.capacity();
  budget_->used -= accounted_;
  accounted_ = memory_.capacity();
}

Result<void> WorkBytes::spill() {
  ZARRFS_TRY(const std::string path, new_temporary_path(*store_));
  ZARRFS_TRY(file_, store_->create(path, kMode));
  ZARRFS_CHECK(store_->remove(path));  // it goes with its descriptor
  auto written = file_->write_at(0, memory_);
  if (!written) {
    file_.reset();
    return written;
  }
  memory_ = Bytes();
  account();
  return {};
}

/// In memory, or in a file from now on.
Result<void> WorkBytes::make_room(std::uint64_t size) {
  if (size > kMostBytes) return fail(Fault::kTooBig, "more than 2^46 bytes");
  const bool too_much =
      size > kMostInMemory || (size > memory_.capacity() && budget_->used + size > budget_->limit);
  if (file_ == nullptr && size > size_ && too_much) return spill();
  return {};
}

Result<void> WorkBytes::resize(std::uint64_t size) {
  ZARRFS_CHECK(make_room(size));
  if (file_ != nullptr) {
    ZARRFS_CHECK(file_->truncate(size));
  } else {
    memory_.resize(size);
    if (size == 0) memory_ = Bytes();
    account();
  }
  size_ = size;
  return {};
}

/// The usual way: from the start to the end.
Result<void> WorkBytes::append(ByteView bytes) {
  const std::uint64_t end = size_ + bytes.size();
  ZARRFS_CHECK(make_room(end));
  if (file_ != nullptr) {
    ZARRFS_CHECK(file_->write_at(size_, bytes));
  } else {
    // The kernel cuts a few bytes off a large write from memory that does not begin with a page.
    if (memory_.empty()) memory_.reserve(divide_up(end, kRoom) * kRoom);
    memory_.insert(memory_.end(), bytes.begin(), bytes.end());
    account();
  }
  size_ = end;
  return {};
}

Result<void> WorkBytes::write(std::uint64_t offset, ByteView bytes) {
  const auto end = checked_add(offset, bytes.size());
  if (!end) return fail(Fault::kTooBig, "an offset beyond 2^64");
  if (offset == size_) return append(bytes);
  if (*end > size_) ZARRFS_CHECK(resize(*end));
  if (file_ != nullptr) return file_->write_at(offset, bytes);
  std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

Result<Bytes> WorkBytes::read(std::uint64_t offset, std::uint64_t length) const {
  if (offset >= size_) return Bytes();
  Bytes out(std::min(length, size_ - offset));
  if (file_ == nullptr) {
    const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(offset);
    std::copy(from, from + static_cast<std::ptrdiff_t>(out.size()), out.begin());
    return out;
  }
  ZARRFS_TRY(const std::size_t got, file_->read_at(offset, out));
  if (got != out.size()) return fail(Fault::kIo, "a file being written became shorter");
  return out;
}

Result<ByteView> WorkBytes::whole(Bytes& memory) const {
  if (file_ == nullptr) return ByteView(memory_);
  ZARRFS_TRY(memory, read(0, size_));
  return ByteView(memory);
}

WorkFiles::WorkFiles(std::shared_ptr<Store> store, std::uint64_t memory)
    : store_(std::move(store)), budget_(std::make_shared<WorkBudget>()) {
  budget_->limit = memory;
}

WorkPointer WorkFiles::make(Work::Kind kind) {
  auto work = std::make_shared<Work>(++last_, kind, store_, budget_);
  ::clock_gettime(CLOCK_REALTIME, &work->modified);
  work->idle_since = std::chrono::steady_clock::now();
  return work;
}

WorkPointer WorkFiles::find(const std::string& key) const {
  if (empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

WorkPointer WorkFiles::find(std::uint64_t number) const {
  if (empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(number);
  if (key == keys_.end()) return nullptr;
  return by_key_.at(key->second);
}

WorkPointer WorkFiles::enter_new(const std::string& key, const WorkPointer& work) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = by_key_.try_emplace(key, work);
  if (is_new) keys_[work->number] = key;
  count_ = by_key_.size();
  return at->second;
}

WorkPointer WorkFiles::enter(const std::string& key, WorkPointer work, Work::Kind kind,
                             const std::string& directory) {
  const std::lock_guard lock(mutex_);
  work->kind = kind;
  work->directory = directory;
  if (const auto old = keys_.find(work->number); old != keys_.end()) by_key_.erase(old->second);
  WorkPointer& place = by_key_[key];
  WorkPointer before = place == work ? nullptr : place;
  if (before != nullptr) keys_.erase(before->number);
  keys_[work->number] = key;
  place = std::move(work);
  count_ = by_key_.size();
  return before;
}

void WorkFiles::moved(const WorkPointer& work, const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(work->number);
  if (key == keys_.end()) return;
  by_key_.erase(key->second);
  key->second.replace(0, from.size(), to);
  WorkPointer& place = by_key_[key->second];
  if (place != nullptr) keys_.erase(place->number);  // it was written where this directory came to
  place = work;
  count_ = by_key_.size();
  work->directory.replace(0, from.size(), to);
  work->path.replace(0, from.size(), to);
}

WorkPointer WorkFiles::nameless(std::uint64_t number) const {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(left_.begin(), left_.end(), number) == left_.end()) return nullptr;
  }
  auto work = std::make_shared<Work>(number, Work::Kind::kScratch, store_, budget_);
  work->gone = true;
  return work;
}

void WorkFiles::leave(const WorkPointer& work) {
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(work->number);
  if (key == keys_.end()) return;
  by_key_.erase(key->second);
  keys_.erase(key);
  count_ = by_key_.size();
  if (!work->was_scratch) return;
  left_.push_back(work->number);
  if (left_.size() > kMostLeft) left_.pop_front();
}

std::vector<std::string> WorkFiles::scratch_in(const std::string& path) const {
  std::vector<std::string> names;
  if (empty()) return names;
  const std::string start = path.empty() ? "" : path + "/";
  const std::lock_guard lock(mutex_);
  for (const auto& [key, work] : by_key_) {
    if (!key.starts_with(start) || key.find('\n') != std::string::npos) continue;
    if (key.find('/', start.size()) != std::string::npos) continue;
    if (work->kind == Work::Kind::kScratch) names.push_back(key.substr(start.size()));
  }
  return names;
}

std::vector<WorkPointer> WorkFiles::below(const std::string& path) const {
  std::vector<WorkPointer> works;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, work] : by_key_) {
    if (is_at_or_below(work->directory, path)) works.push_back(work);
  }
  return works;
}

std::string chunk_key(const NodeState& array, const Coordinates& chunk) {
  return array.path + "\n" + std::to_string(array.shown.names.number_of({false, chunk}));
}

}  // namespace zarrfs
