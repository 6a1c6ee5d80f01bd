// How the stored objects of an array are opened. Pure function.
#pragma once

#include "core/store/object_store.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// What the first request for a stored object should bring: the index of a shard, or a chunk.
OpenHint hint_for(const Layout& layout);

}  // namespace zarrfs
