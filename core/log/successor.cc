#include "core/log/successor.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/random_name.h"
#include "core/log/log.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

/// Syncs the directory of a new successor and those above it, up to the array's.
Result<void> sync_directories(Store& store, const DirtyShard& shard) {
  std::string directory = shard.shard_path;
  do {
    directory = parent_path(directory);
    ZARRFS_CHECK(store.sync_directory(directory));
  } while (directory.size() > shard.array_path.size());
  return {};
}

}  // namespace

GrowingFile::GrowingFile(std::shared_ptr<const NewFile> file, const struct stat& status)
    : file_(std::move(file)), status_(status) {
  status_.st_size = std::numeric_limits<off_t>::max();
}

Result<std::size_t> GrowingFile::read_at(std::uint64_t offset, MutableByteView out) const {
  return file_->read_at(offset, out);
}

std::string new_successor_path(const std::string& shard_path) {
  return join_path(parent_path(shard_path), kSuccessorPrefix + random_digits());
}

bool is_successor_name(std::string_view name) {
  const std::string_view prefix = kSuccessorPrefix;
  if (!name.starts_with(prefix) || name.size() != prefix.size() + 32) return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void DirtyShard::set_successor(std::string path) {
  successor_name = use_name(path);
  successor_path = std::move(path);
  writer_id = successor_path.substr(successor_path.rfind('-') + 1);
}

void DirtyShard::set_array(std::shared_ptr<ArrayReader> latest) {
  const HeldLock lock(state_mutex);
  array = std::move(latest);
}

void DirtyShard::erase_draft(std::uint64_t number) {
  const auto found = drafts.find(number);
  if (found == drafts.end()) return;
  const bool kept = found->second.kept_back();
  kept_back -= kept ? 1 : 0;
  removed -= found->second.removed && !kept ? 1 : 0;
  live_bytes -= found->second.range.length;
  drafts.erase(found);
}

void DirtyShard::set_draft(std::uint64_t number, const Draft& draft) {
  if (const auto old = drafts.find(number); old != drafts.end()) {
    if (old->second.range != draft.range) dead_bytes += old->second.range.length;
    ++dead_records;
    erase_draft(number);
  }
  const bool kept = draft.kept_back();
  kept_back += kept ? 1 : 0;
  removed += draft.removed && !kept ? 1 : 0;
  live_bytes += draft.range.length;
  drafts[number] = draft;
}

Result<void> DirtyShard::attach(std::shared_ptr<NewFile> successor) {
  ZARRFS_TRY(const struct stat status, successor->status());
  auto growing = std::make_shared<GrowingFile>(successor, status);
  file = std::move(successor);
  stage = ShardStage::kAppending;
  const HeldLock lock(state_mutex);
  reader = std::move(growing);
  return {};
}

void DirtyShard::detach() {
  file.reset();
  const HeldLock lock(state_mutex);
  reader.reset();
}

bool DirtyShard::complete() const {
  const HeldLock lock(state_mutex);
  return drafts.size() - kept_back - removed == expected;
}

bool DirtyShard::has_drafts() const {
  const HeldLock lock(state_mutex);
  return !drafts.empty();
}

bool lacks_room(const Error& error) {
  return error.fault == Fault::kNoSpace || error.fault == Fault::kQuota;
}

Result<void> open_successor(Store& store, DirtyShard& shard) {
  if (shard.stage != ShardStage::kAppending || shard.file) return {};
  ZARRFS_TRY(std::shared_ptr<NewFile> file, store.reopen(shard.successor_path));
  if (file) return shard.attach(std::move(file));
  return fail(Fault::kStale, "shard " + shard.shard_path +
                                 ": the file of its new chunks is gone: " +
                                 "another program has moved or removed its array");
}

Result<void> sync_successor(Store& store, DirtyShard& shard) {
  ZARRFS_CHECK(open_successor(store, shard));
  auto synced = shard.file->sync();
  if (synced && !shard.file->has_name()) {
    synced = fail(Fault::kIo, store.name() + "/" + shard.successor_path + kWasRemoved);
  }
  if (!synced) {
    shard.sync_failed = true;
    return synced;
  }
  if (!shard.name_durable) ZARRFS_CHECK(sync_directories(store, shard));
  shard.name_durable = true;
  return {};
}

}  // namespace zarrfs
