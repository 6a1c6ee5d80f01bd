#include "core/files/staged_table.h"

#include <algorithm>
#include <charconv>

#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr char kBeforeNumber = '\n';     // in the key of a chunk, and in no other
constexpr std::size_t kMostLeft = 1024;  // a program opens what it looked up a moment ago
}  // namespace

StagedTable::StagedTable(std::shared_ptr<Store> store, std::uint64_t memory)
    : store_(std::move(store)), budget_(std::make_shared<StagedBudget>()) {
  budget_->limit = memory;
}

StagedPointer StagedTable::make(StagedFile::Kind kind) {
  auto file = std::make_shared<StagedFile>(++last_, kind, store_, budget_);
  ::clock_gettime(CLOCK_REALTIME, &file->modified);
  file->idle_since = std::chrono::steady_clock::now();
  return file;
}

StagedPointer StagedTable::find(const std::string& key) const {
  if (empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

StagedPointer StagedTable::find_temporary(const std::string& key) const {
  if (empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  const bool any = found != by_key_.end();
  return any && found->second->kind() == StagedFile::Kind::kTemporary ? found->second : nullptr;
}

bool StagedTable::keeps_at(const std::string& path, const std::string& key,
                           const StagedFile* file) const {
  if (empty()) return false;
  const std::lock_guard lock(mutex_);
  return std::any_of(by_key_.begin(), by_key_.end(), [&](const auto& one) {
    return one.second.get() != file && one.first != key &&
           one.second->kind() == StagedFile::Kind::kTemporary &&
           stored_path(one.second->directory, one.first) == path;
  });
}

std::vector<StagedPointer> StagedTable::temporaries_below(const std::string& directory) const {
  std::vector<StagedPointer> files;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, file] : by_key_) {
    const bool temporary = file->kind() == StagedFile::Kind::kTemporary;
    if (temporary && is_at_or_below(key, directory)) files.push_back(file);
  }
  return files;
}

StagedPointer StagedTable::find(std::uint64_t number) const {
  if (empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(number);
  if (key == keys_.end()) return nullptr;
  return by_key_.at(key->second);
}

StagedPointer StagedTable::find_coming(const std::string& key) const {
  if (empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  return coming_at(key);
}

/// The caller holds the lock.
StagedPointer StagedTable::coming_at(const std::string& key) const {
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  const auto found = coming_.find(key);
  return found == coming_.end() ? nullptr : found->second;
}

StagedPointer StagedTable::enter_new(const std::string& key, const StagedPointer& file) {
  const std::lock_guard lock(mutex_);
  if (auto there = coming_at(key)) return there;
  by_key_.emplace(key, file);
  keys_[file->number] = key;
  count();
  return file;
}

void StagedTable::enter(const std::string& key, const StagedPointer& file, StagedFile::Kind kind,
                        const std::string& directory) {
  const std::lock_guard lock(mutex_);
  file->renamed(kind);
  file->directory = directory;
  if (const auto old = keys_.find(file->number); old != keys_.end()) by_key_.erase(old->second);
  keys_[file->number] = key;
  by_key_[key] = file;
  count();
}

StagedTable::Reservation StagedTable::reserve(const std::string& key, const StagedPointer& coming,
                                              const StagedPointer& there) {
  const std::lock_guard lock(mutex_);
  const StagedPointer now = coming_at(key);
  if (now != there || coming_.contains(key)) return {};
  coming_[key] = coming;
  count();
  return {*this, key};
}

void StagedTable::release(const std::string& key) {
  const std::lock_guard lock(mutex_);
  coming_.erase(key);
  count();
}

void StagedTable::moved(const StagedPointer& file, const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(file->number);
  if (key == keys_.end()) return;
  by_key_.erase(key->second);
  key->second.replace(0, from.size(), to);
  StagedPointer& place = by_key_[key->second];
  if (place != nullptr) keys_.erase(place->number);  // it was written where this directory came to
  place = file;
  count();
  file->directory.replace(0, from.size(), to);
  file->path.replace(0, from.size(), to);
}

void StagedTable::count() { count_ = by_key_.size() + coming_.size(); }

StagedPointer StagedTable::nameless(std::uint64_t number) const {
  Left left;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(left_.begin(), left_.end(),
                                    [number](const Left& one) { return one.number == number; });
    if (found == left_.end()) return nullptr;
    left = *found;
  }
  auto file = std::make_shared<StagedFile>(number, StagedFile::Kind::kTemporary, store_, budget_);
  left.renamed ? file->renamed_before() : file->unlink();
  return file;
}

void StagedTable::leave(const StagedPointer& file) {
  const std::lock_guard lock(mutex_);
  const auto key = keys_.find(file->number);
  if (key == keys_.end()) return;
  by_key_.erase(key->second);
  keys_.erase(key);
  count();
  if (file->made_as != StagedFile::Kind::kTemporary || file->stored()) return;
  left_.push_back({file->number, !file->unlinked()});
  if (left_.size() > kMostLeft) left_.pop_front();
}

std::vector<std::string> StagedTable::names_in(const std::string& path,
                                               StagedFile::Kind kind) const {
  std::vector<std::string> names;
  if (empty()) return names;
  const std::string start = path.empty() ? "" : path + "/";
  const std::lock_guard lock(mutex_);
  for (const auto& [key, file] : by_key_) {
    if (!key.starts_with(start) || key.find(kBeforeNumber) != std::string::npos) continue;
    if (key.find('/', start.size()) != std::string::npos) continue;
    if (file->kind() == kind) names.push_back(key.substr(start.size()));
  }
  return names;
}

std::vector<std::uint64_t> StagedTable::chunks_of(const std::string& path) const {
  std::vector<std::uint64_t> numbers;
  if (empty()) return numbers;
  const std::string start = path + kBeforeNumber;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, file] : by_key_) {
    std::uint64_t number = 0;
    if (!key.starts_with(start)) continue;
    std::from_chars(key.data() + start.size(), key.data() + key.size(), number);
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<StagedPointer> StagedTable::below(const std::string& path) const {
  std::vector<StagedPointer> files;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, file] : by_key_) {
    if (is_at_or_below(file->directory, path)) files.push_back(file);
  }
  return files;
}

std::string stored_path(const std::string& directory, const std::string& path) {
  std::string name = path.substr(directory.empty() ? 0 : directory.size() + 1);
  std::replace(name.begin(), name.end(), '/', '.');
  return join_path(directory, name);
}

std::string chunk_key(const NodeState& array, std::uint64_t number) {
  return array.path + kBeforeNumber + std::to_string(number);
}

}  // namespace zarrfs
