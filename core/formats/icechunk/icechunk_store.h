// A snapshot of an Icechunk repository as the Zarr v3 store that it is: names lead to the bytes of
// its files. Only read. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/virtual_targets.h"
#include "core/store/http/revision.h"
#include "core/store/store.h"

namespace zarrfs {

/// The specification of the repository that `place` is; nothing where it is none, or is Zarr.
std::optional<int> icechunk_specification(Store& place);

/// `revision` of the repository at `place`. `manifests`: how many bytes of manifests are kept.
/// `targets`: where virtual chunks may lie; null: nowhere. kInvalid where `place` is no repository,
/// or has no such branch, tag or snapshot.
Result<std::shared_ptr<Store>> open_icechunk(
    std::shared_ptr<Store> place, Revision revision, std::size_t manifests,
    std::shared_ptr<const VirtualTargets> targets = nullptr);

/// What a repository has.
struct IcechunkHistory {
  struct Reference {
    std::string kind;  ///< "branch" or "tag".
    std::string name;
    std::string snapshot;
  };
  struct Snapshot {
    std::string name;
    std::uint64_t time_us = 0;  ///< Since 1970.
    std::string message;
  };
  int specification = 0;
  std::vector<Reference> references;
  std::vector<Snapshot> snapshots;  ///< The newest first, at most kMostSnapshotsTold.
  bool more = false;                ///< Whether there are others.
};
inline constexpr std::size_t kMostSnapshotsTold = 1000;
Result<IcechunkHistory> icechunk_history(Store& place);

}  // namespace zarrfs
