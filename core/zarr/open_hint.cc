#include "core/zarr/open_hint.h"

namespace zarrfs {

OpenHint hint_for(const Layout& layout) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20U;  // more is asked for when it is read
  if (!layout.sharded()) return {OpenHint::Part::kStart, kChunk};
  const ShardLevel& level = layout.levels().front();
  if (!level.around.steps().empty()) return {OpenHint::Part::kWhole};
  const auto part = level.index_at_start ? OpenHint::Part::kStart : OpenHint::Part::kEnd;
  return {part, layout.index_format(0).encoded_size()};
}

}  // namespace zarrfs
