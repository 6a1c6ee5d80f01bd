#include "core/write/successor.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

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

GrowingFile::GrowingFile(std::shared_ptr<const File> file)
    : file_(std::move(file)), status_(file_->status()) {
  status_.st_size = std::numeric_limits<off_t>::max();
}

Result<std::size_t> GrowingFile::read_at(std::uint64_t offset, MutableByteView out) const {
  return file_->read_at(offset, out);
}

std::string new_successor_path(const std::string& shard_path) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string name = kSuccessorPrefix;
  for (int i = 0; i < 32; ++i) name.push_back(kDigits[random() % 16]);
  const auto slash = shard_path.rfind('/');
  return slash == std::string::npos ? name : shard_path.substr(0, slash + 1) + name;
}

bool is_successor_name(std::string_view name) {
  const std::string_view prefix = kSuccessorPrefix;
  if (!name.starts_with(prefix) || name.size() != prefix.size() + 32) return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void DirtyShard::erase_draft(std::uint64_t number) {
  const auto found = drafts.find(number);
  if (found == drafts.end()) return;
  held -= found->second.held ? 1 : 0;
  removed -= found->second.removed ? 1 : 0;
  drafts.erase(found);
}

void DirtyShard::set_draft(std::uint64_t number, const Draft& draft) {
  if (const auto old = drafts.find(number); old != drafts.end()) {
    dead_bytes += old->second.range.length;
    erase_draft(number);
  }
  held += draft.held ? 1 : 0;
  removed += draft.removed ? 1 : 0;
  drafts[number] = draft;
}

Result<void> sync_successor(Store& store, DirtyShard& shard) {
  if (auto synced = shard.file->sync(); !synced) {
    shard.sync_failed = true;
    return synced;
  }
  if (!shard.name_durable) ZARRFS_CHECK(sync_directories(store, shard));
  shard.name_durable = true;
  return {};
}

}  // namespace zarrfs
