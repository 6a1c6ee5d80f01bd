#include "core/zarr/chunk_key.h"

#include <charconv>

namespace zarrfs {

std::string ChunkKeyEncoding::key(std::span<const std::uint64_t> coordinates) const {
  std::string key = kind == Kind::kDefault ? "c" : "";
  for (const std::uint64_t coordinate : coordinates) {
    if (!key.empty()) key.push_back(separator);
    key += std::to_string(coordinate);
  }
  return key.empty() ? "0" : key;
}

std::optional<std::uint64_t> parse_coordinate(std::string_view text, std::uint64_t limit) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool canonical = !text.empty() && error == std::errc() &&
                         end == text.data() + text.size() && (text[0] != '0' || text.size() == 1) &&
                         text[0] != '-';
  if (!canonical || value >= limit) return std::nullopt;
  return value;
}

std::optional<std::vector<std::uint64_t>> parse_chunk_key(std::string_view key,
                                                          const ChunkKeyEncoding& encoding,
                                                          std::span<const std::uint64_t> counts) {
  if (encoding.kind == ChunkKeyEncoding::Kind::kDefault) {
    if (key.empty() || key[0] != 'c') return std::nullopt;
    if (counts.empty())
      return key == "c" ? std::optional(std::vector<std::uint64_t>{}) : std::nullopt;
    if (key.size() < 2 || key[1] != encoding.separator) return std::nullopt;
    key.remove_prefix(2);
  } else if (counts.empty()) {
    return key == "0" ? std::optional(std::vector<std::uint64_t>{}) : std::nullopt;
  }
  std::vector<std::uint64_t> coordinates;
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    const bool last = axis + 1 == counts.size();
    const auto end = last ? key.size() : key.find(encoding.separator);
    if (end == std::string_view::npos) return std::nullopt;
    const auto coordinate = parse_coordinate(key.substr(0, end), counts[axis]);
    if (!coordinate) return std::nullopt;
    coordinates.push_back(*coordinate);
    key.remove_prefix(last ? end : end + 1);
  }
  return coordinates;
}

}  // namespace zarrfs
