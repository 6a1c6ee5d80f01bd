// What mounts and servers have in common: how the store and the view of it are opened as the
// options say. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/present/view_options.h"
#include "core/store/open_store.h"
#include "fs/options/log.h"
#include "fs/options/memory_plan.h"
#include "fs/options/options.h"

namespace zarrfs {

/// Options that are for other sources, or for other ways to mount this one, are refused.
Result<void> check_for_source(const MountSettings& settings, const std::string& source);

/// Of who only reads and is asked by no ring.
MemoryWishes memory_wishes(const MountSettings& settings, const std::string& source);

/// Those that were chosen, each part within `memory`. Sets the memory for decoding, which is the
/// process's.
ViewOptions view_options(const MountSettings& settings, const MemoryPlan& memory,
                         const std::shared_ptr<Log>& log);

StoreOptions store_options(const MountSettings& settings, const MemoryPlan& memory,
                           const std::shared_ptr<Log>& log);
/// Where `store` keeps manifests, they have a part of the memory for indexes.
void leave_room_for_manifests(const Store& store, const MemoryPlan& memory, ViewOptions& options);

}  // namespace zarrfs
