#include "core/zarr/open_hint.h"

#include "core/zarr/shard_index.h"

namespace zarrfs {

OpenHint hint_for(const Layout& layout) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20U;  // more is asked for when it is read
  if (!layout.sharded()) return {OpenHint::Part::kStart, kChunk};
  const ShardLevel& level = layout.levels().front();
  if (!level.around.steps().empty()) return {OpenHint::Part::kWhole};
  const auto format = IndexFormat::make(level.index_codecs, level.counts, level.index_at_start);
  const auto part = level.index_at_start ? OpenHint::Part::kStart : OpenHint::Part::kEnd;
  return {part, format ? format->encoded_size() : 0};
}

}  // namespace zarrfs
