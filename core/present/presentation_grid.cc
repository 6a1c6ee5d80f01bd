#include "core/present/presentation_grid.h"

#include <algorithm>
#include <map>
#include <utility>

namespace zarrfs {
namespace {

using Shape = std::vector<std::uint64_t>;

constexpr std::uint64_t kSmallChunk = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLargeChunk = std::uint64_t{64} << 20U;

Shape counts_of(const Shape& shape, const Shape& chunk_shape) {
  Shape counts(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    counts[axis] = divide_up(shape[axis], chunk_shape[axis]);
  }
  return counts;
}

/// Bytes of a chunk, or nothing where that does not fit 64 bits.
std::optional<std::uint64_t> bytes_of(const Shape& chunk_shape, std::uint32_t element_bytes) {
  const auto elements = checked_product(chunk_shape);
  return elements ? checked_multiply(*elements, element_bytes) : std::nullopt;
}

bool too_large(const Shape& chunk_shape, std::uint32_t element_bytes, std::uint64_t limit) {
  const auto bytes = bytes_of(chunk_shape, element_bytes);
  return !bytes || *bytes > limit;
}

/// Why chunks of this shape cannot be put together; empty where they can.
std::string why_not(const Shape& shape, const Shape& chunk_shape, std::uint32_t element_bytes) {
  if (too_large(chunk_shape, element_bytes, kMaxDecodedChunk)) {
    return "a chunk would be larger than 2 GiB";
  }
  const auto chunks = checked_product(counts_of(shape, chunk_shape));
  if (!chunks || *chunks > kMaxChunks) return "there would be more than 2^48 chunks";
  return {};
}

std::uint64_t commonest_edge(const AxisGrid& axis) {
  std::map<std::uint64_t, std::uint64_t> edges;  // size -> how many
  for (const EdgeRun& run : axis.runs()) {
    std::uint64_t& count = edges[run.size];
    count = checked_add(count, run.count).value_or(run.count);
  }
  std::uint64_t edge = 1;
  std::uint64_t most = 0;
  for (const auto& [size, count] : edges) {
    if (count < most) continue;
    most = count;
    edge = size;
  }
  return std::clamp<std::uint64_t>(edge, 1, std::max<std::uint64_t>(axis.extent(), 1));
}

/// Makes a chunk no smaller than 1 MiB, if the array has so much, and no larger than 64 MiB.
void bound(Shape& chunk_shape, const Shape& shape, std::uint32_t element_bytes) {
  while (too_large(chunk_shape, element_bytes, kLargeChunk)) {
    auto longest = std::max_element(chunk_shape.begin(), chunk_shape.end());
    if (*longest <= 1) return;
    *longest = divide_up(*longest, 2);
  }
  for (std::size_t axis = chunk_shape.size(); axis-- > 0;) {
    while (chunk_shape[axis] < shape[axis] &&
           !too_large(chunk_shape, element_bytes, kSmallChunk - 1)) {
      chunk_shape[axis] =
          chunk_shape[axis] <= shape[axis] / 2 ? chunk_shape[axis] * 2 : shape[axis];
    }
  }
}

Shape regular_near(const ArrayMetadata& array, const Layout& layout, std::uint32_t element_bytes) {
  Shape chunk_shape;
  for (const AxisGrid& axis : layout.grid().axes) chunk_shape.push_back(commonest_edge(axis));
  bound(chunk_shape, array.shape, element_bytes);
  return chunk_shape;
}

/// Takes up what the user asked for; otherwise says why not.
void rechunk(ShownGrid& grid, const Shape& shape, std::uint32_t element_bytes, const Shape& asked) {
  const auto refuse = [&grid](const std::string& why) {
    grid.refused = true;
    grid.reason = "not re-chunked: " + why;
  };
  if (element_bytes == 0) return refuse("elements have no fixed size");
  if (asked.size() != 1 && asked.size() != shape.size()) {
    return refuse("option rechunk has " + std::to_string(asked.size()) + " numbers, the array " +
                  std::to_string(shape.size()) + " dimensions");
  }
  Shape wanted(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    wanted[axis] = std::max<std::uint64_t>(asked.size() == 1 ? asked[0] : asked[axis], 1);
  }
  if (wanted == grid.chunk_shape) return;
  if (const std::string why = why_not(shape, wanted, element_bytes); !why.empty()) {
    return refuse(why);
  }
  grid.chunk_shape = std::move(wanted);
  grid.rechunked = true;
  grid.reason = "re-chunked as the user asked";
}

void clamp_to_array(ShownGrid& grid, const Shape& shape) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::uint64_t longest = std::max<std::uint64_t>(shape[axis], 1);
    if (grid.chunk_shape[axis] <= longest) continue;
    grid.chunk_shape[axis] = longest;
    grid.clamped = !grid.rechunked;
  }
}

}  // namespace

ShownGrid shown_grid(const ArrayMetadata& array, const Layout& layout, std::uint32_t element_bytes,
                     const ViewOptions& options, bool clamp) {
  ShownGrid grid;
  if (layout.regular()) {
    grid.chunk_shape = layout.chunk_shape();
  } else if (element_bytes == 0) {
    grid.hide_because =
        "chunks of several shapes cannot be shown as a regular grid, as elements have no fixed "
        "size";
    return grid;
  } else {
    grid.chunk_shape = regular_near(array, layout, element_bytes);
    grid.rechunked = true;
    grid.reason = "re-chunked, as the stored chunks have several shapes";
    grid.hide_because = why_not(array.shape, grid.chunk_shape, element_bytes);
    if (!grid.hide_because.empty()) return grid;
  }
  if (!options.rechunk.empty() && !array.shape.empty()) {
    rechunk(grid, array.shape, element_bytes, options.rechunk);
  }
  if (clamp) clamp_to_array(grid, array.shape);
  grid.chunk_counts = counts_of(array.shape, grid.chunk_shape);
  return grid;
}

}  // namespace zarrfs
