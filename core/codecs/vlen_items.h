// The items of variable-length elements in memory (see codec.h): a 32-bit count, then each item as
// its 32-bit length and its bytes, all little-endian. Source: zarr-extensions, codecs/vlen-utf8.
// Pure functions; thread-safe.
#pragma once

#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// Views of the items within `bytes`, `count` of them; kDamaged where the bytes hold another number
/// of items, or more or fewer bytes than their lengths say.
Result<std::vector<ByteView>> split_items(ByteView bytes, std::uint64_t count);

Bytes join_items(const std::vector<ByteView>& items);

/// As split_items, without keeping the items.
Result<void> check_items(ByteView bytes, std::uint64_t count);

}  // namespace zarrfs
