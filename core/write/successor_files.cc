#include "core/write/successor_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::size_t kFewDescriptors = 8;

/// A quarter of the descriptors that this process may have.
std::size_t quarter_of_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewDescriptors;
  return std::max<std::size_t>(kFewDescriptors, limit.rlim_cur / 4);
}

}  // namespace

SuccessorFiles::SuccessorFiles(WriteParts& parts)
    : parts_(parts),
      most_(parts.options.open_successors != 0 ? parts.options.open_successors
                                               : quarter_of_descriptors()) {}

Result<void> SuccessorFiles::attach(DirtyShard& shard, std::shared_ptr<NewFile> file) {
  auto attached = shard.attach(std::move(file));
  if (attached) ++open_;
  return attached;
}

Result<void> SuccessorFiles::open(DirtyShard& shard) {
  if (shard.stage != ShardStage::kAppending || shard.file) return {};
  auto opened = open_successor(*parts_.store, shard);
  if (opened) ++open_;
  return opened;
}

void SuccessorFiles::close(DirtyShard& shard) {
  if (shard.file) --open_;
  shard.file.reset();
}

/// Where `enough` successors are open, or more, closes a quarter of them: what is in them is
/// durable then, so that a failing write of the storage is seen. Those that are in use stay open.
/// The caller holds no commit_mutex but that of the shard `but`.
void SuccessorFiles::close_some(const DirtyShard* but, std::size_t enough) {
  if (open_ < enough) return;
  for (const DirtyPointer& shard : parts_.table.below("")) {
    if (open_ <= enough - enough / 4) return;
    if (shard.get() == but) continue;
    if (!shard->commit_mutex.try_lock()) continue;
    const HeldLock lock(shard->commit_mutex, std::adopt_lock);
    if (shard->stage == ShardStage::kAppending && shard->file) close_unused(*shard);
  }
}

void SuccessorFiles::close_unused(DirtyShard& shard) {
  if (shard.sync_failed || !sync_successor(*parts_.store, shard)) return;  // its next fsync tells
  shard.detach();
  --open_;
  const HeldLock state(shard.state_mutex);
  shard.unsynced = false;
}

}  // namespace zarrfs
