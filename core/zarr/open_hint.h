// How the shards of an array are opened. Pure function.
#pragma once

#include "core/store/store.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// What the first request for a shard should bring: its index, or, without sharding, the chunk.
OpenHint hint_for(const Layout& layout);

}  // namespace zarrfs
