#include "core/chunks/chunk_names.h"

#include <algorithm>
#include <utility>

#include "core/metadata/chunk_key.h"
#include "core/metadata/grid.h"
#include "core/zarr/layout.h"

namespace zarrfs {

namespace {
std::span<const std::uint64_t> first(const std::vector<std::uint64_t>& all, std::size_t count) {
  return std::span(all).first(count);
}

std::uint64_t product(std::span<const std::uint64_t> numbers) {
  return checked_product(numbers).value_or(kMaxChunks);
}

std::optional<Coordinates> parse_flat(std::string_view text,
                                      const std::vector<std::uint64_t>& counts) {
  Coordinates chunk;
  chunk.reserve(counts.size());
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    const std::size_t end = std::min(text.find('.'), text.size());
    const bool last = axis + 1 == counts.size();
    if (last != (end == text.size())) return std::nullopt;
    const auto coordinate = parse_coordinate(text.substr(0, end), counts[axis]);
    if (!coordinate) return std::nullopt;
    chunk.push_back(*coordinate);
    text.remove_prefix(last ? end : end + 1);
  }
  return chunk;
}
}  // namespace

ChunkNames::ChunkNames(ChunkKeyEncoding keys, std::vector<std::uint64_t> counts)
    : keys_(keys), counts_(std::move(counts)) {
  first_of_depth_ = {product(counts_)};
  for (std::size_t depth = 0; depth < counts_.size(); ++depth) {
    first_of_depth_.push_back(first_of_depth_.back() + product(first(counts_, depth)));
  }
  if (counts_.empty()) first_of_depth_.push_back(first_of_depth_.front());
}

std::optional<ChunkOrPrefix> ChunkNames::in_array(std::string_view name) const {
  const bool scalar = counts_.empty();
  if (keys_.kind == ChunkKeyEncoding::Kind::kDefault) {
    if (name == "c") return ChunkOrPrefix{!scalar, {}};
    if (scalar || !name.starts_with("c.")) return std::nullopt;
    name.remove_prefix(2);
  } else {
    if (scalar) return name == "0" ? std::optional(ChunkOrPrefix{}) : std::nullopt;
    if (counts_.size() > 1 && name.find('.') == std::string_view::npos) return in_prefix({}, name);
  }
  auto chunk = parse_flat(name, counts_);
  if (!chunk) return std::nullopt;
  return ChunkOrPrefix{false, std::move(*chunk)};
}

bool ChunkNames::may_grow_to(std::string_view name) const {
  if (counts_.empty() || in_array(name)) return false;
  const std::vector<std::uint64_t> any(counts_.size(), kMaxChunks);
  const auto part = ChunkNames(keys_, any).in_array(name);
  return part && !part->directory;
}

std::optional<ChunkOrPrefix> ChunkNames::in_prefix(std::span<const std::uint64_t> prefix,
                                                   std::string_view name) const {
  if (prefix.size() >= counts_.size()) return std::nullopt;
  for (std::size_t axis = 0; axis < prefix.size(); ++axis) {
    if (prefix[axis] >= counts_[axis]) return std::nullopt;  // of a larger array
  }
  const auto coordinate = parse_coordinate(name, counts_[prefix.size()]);
  if (!coordinate) return std::nullopt;
  ChunkOrPrefix part{prefix.size() + 1 < counts_.size(), Coordinates(prefix.begin(), prefix.end())};
  part.coordinates.push_back(*coordinate);
  return part;
}

bool ChunkNames::nested() const { return keys_.separator == '/' && two_names(); }

std::string ChunkNames::flat_name(std::span<const std::uint64_t> chunk) const {
  return ChunkKeyEncoding{keys_.kind, '.'}.key(chunk);
}

std::uint64_t ChunkNames::number_of(const ChunkOrPrefix& part) const {
  const std::size_t depth = part.coordinates.size();
  const std::uint64_t linear = linear_of(part.coordinates, first(counts_, depth));
  return part.directory ? first_of_depth_[depth] + linear : linear;
}

ChunkOrPrefix ChunkNames::part_of(std::uint64_t number) const {
  if (number < chunks()) return {false, coordinates_of(number, counts_)};
  const auto after = std::upper_bound(first_of_depth_.begin(), first_of_depth_.end() - 1, number);
  const auto depth = static_cast<std::size_t>(after - first_of_depth_.begin()) - 1;
  return {true, coordinates_of(number - first_of_depth_[depth], first(counts_, depth))};
}

}  // namespace zarrfs
