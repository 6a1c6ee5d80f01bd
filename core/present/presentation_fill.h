// Chunks full of the fill value, for answering missing chunks with. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/metadata.h"
#include "core/present/presentation.h"

namespace zarrfs {

/// A chunk of `shape` full of `element`, in memory order (see core/codecs/codec.h). kUnsupported
/// where it would be larger than kMaxDecodedChunk.
Result<Bytes> fill_elements(const DataType& type, ByteView element,
                            const std::vector<std::uint64_t>& shape);

/// The bytes that `presentation` shows for a chunk full of the fill value. kUnsupported for chunks
/// of more than kMaxFillChunk bytes, decoded: each array keeps its own.
Result<Bytes> make_fill_chunk(const Presentation& presentation);

/// The largest chunk that is made up for missing ones.
inline constexpr std::uint64_t kMaxFillChunk = std::uint64_t{256} << 20U;

}  // namespace zarrfs
