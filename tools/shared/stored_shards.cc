#include "tools/shared/stored_shards.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/metadata/grid.h"
#include "core/store/own_names.h"
#include "core/zarr/tree.h"
#include "core/zarr/visit_limit.h"

namespace zarrfs::tools {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::optional<std::vector<std::uint64_t>> parse_numbers(std::string_view text, char separator) {
  std::vector<std::uint64_t> numbers;
  while (true) {
    const std::size_t end = text.find(separator);
    const auto number = parse_number(text.substr(0, end));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (end == std::string_view::npos) return numbers;
    text.remove_prefix(end + 1);
  }
}

// Walks the directory of one array.
class CellLister {
 public:
  CellLister(Store& store, const std::string& path, const ArrayMetadata& array,
             const CellBox* box = nullptr)
      : store_(store), path_(path), array_(array), box_(box), counts_(array.grid.counts()) {}

  Result<StoredShards> run() {
    ZARRFS_CHECK(list_directory(""));
    std::sort(found_.cells.begin(), found_.cells.end());
    std::sort(found_.outside.begin(), found_.outside.end());
    std::sort(found_.others.begin(), found_.others.end());
    return std::move(found_);
  }

  Result<std::vector<std::string>> run_beside() {
    ZARRFS_TRY(const auto entries, store_.list(path_));
    if (!entries) return std::vector<std::string>();
    for (const Entry& entry : *entries) {
      if (is_metadata_name(entry.name) || is_own_name(entry.name)) continue;
      if (entry.kind == EntryKind::kDirectory && leads_to_keys(entry.name)) continue;
      if (!parse_key(array_.key_encoding, counts_.size(), entry.name)) {
        found_.others.push_back(entry.name);
      }
    }
    std::sort(found_.others.begin(), found_.others.end());
    return std::move(found_.others);
  }

 private:
  Result<void> list_directory(const std::string& relative) {
    ZARRFS_CHECK(check_wanted());
    const std::string directory = relative.empty() ? path_ : join_path(path_, relative);
    ZARRFS_TRY(const auto entries, store_.list(directory));
    if (!entries) return {};
    ZARRFS_CHECK(visits_.enter(store_, directory));
    for (const Entry& entry : *entries) {
      if (relative.empty() && is_metadata_name(entry.name)) continue;
      if (is_own_name(entry.name)) continue;
      const std::string name = join_path(relative, entry.name);
      if (entry.kind == EntryKind::kDirectory && leads_to_keys(name)) {
        if (reaches_box(name)) ZARRFS_CHECK(list_directory(name));
      } else {
        sort_in(name);
      }
    }
    return {};
  }

  // A directory that has the key of an object is listed as one: reading it tells what is wrong.
  void sort_in(const std::string& name) {
    const auto cell = parse_key(array_.key_encoding, counts_.size(), name);
    if (!cell) {
      found_.others.push_back(name);
      return;
    }
    for (std::size_t axis = 0; axis < counts_.size(); ++axis) {
      if ((*cell)[axis] < counts_[axis]) continue;
      found_.outside.push_back(name);
      return;
    }
    if (box_ == nullptr || touches_box(*cell)) found_.cells.push_back(linear_of(*cell, counts_));
  }

  // Whether the cells that begin with `numbers` include some of the box.
  [[nodiscard]] bool touches_box(const std::vector<std::uint64_t>& numbers) const {
    for (std::size_t axis = 0; axis < numbers.size(); ++axis) {
      if (numbers[axis] < box_->first[axis] || numbers[axis] > box_->last[axis]) return false;
    }
    return true;
  }

  [[nodiscard]] bool reaches_box(std::string_view name) const {
    if (box_ == nullptr || name == "c") return true;
    if (name.starts_with("c/")) name.remove_prefix(2);
    const auto numbers = parse_numbers(name, '/');
    return !numbers || touches_box(*numbers);
  }

  // Whether the directory `name` can hold shards or directories that do.
  [[nodiscard]] bool leads_to_keys(std::string_view name) const {
    const ChunkKeyEncoding& encoding = array_.key_encoding;
    if (encoding.separator != '/' || counts_.empty()) return false;
    std::size_t most = counts_.size();
    if (encoding.kind == ChunkKeyEncoding::Kind::kDefault) {
      if (name == "c") return true;
      if (!name.starts_with("c/")) return false;
      name.remove_prefix(2);
    }
    const auto numbers = parse_numbers(name, '/');
    return numbers && numbers->size() < most;
  }

  Store& store_;
  const std::string& path_;
  const ArrayMetadata& array_;
  const CellBox* box_;
  std::vector<std::uint64_t> counts_;
  StoredShards found_;
  VisitLimit visits_;
};

}  // namespace

bool is_of_array(Fault fault) {
  return fault == Fault::kDamaged || fault == Fault::kUnsupported || fault == Fault::kDenied ||
         fault == Fault::kTooBig;
}

Result<StoredShards> list_shards(Store& store, const std::string& path,
                                 const ArrayMetadata& array) {
  return CellLister(store, path, array).run();
}

CellBox box_of(const std::vector<std::uint64_t>& counts, NumberRange range) {
  CellBox box{coordinates_of(range.begin, counts), coordinates_of(range.end - 1, counts)};
  std::size_t axis = 0;
  while (axis < counts.size() && box.first[axis] == box.last[axis]) ++axis;
  for (++axis; axis < counts.size(); ++axis) {
    box.first[axis] = 0;
    box.last[axis] = counts[axis] - 1;
  }
  return box;
}

Result<std::vector<std::uint64_t>> list_shards_within(Store& store, const std::string& path,
                                                      const ArrayMetadata& array,
                                                      const CellBox& box) {
  ZARRFS_TRY(StoredShards stored, CellLister(store, path, array, &box).run());
  return std::move(stored.cells);
}

Result<std::vector<std::string>> list_beside_shards(Store& store, const std::string& path,
                                                    const ArrayMetadata& array) {
  return CellLister(store, path, array).run_beside();
}

std::optional<std::vector<std::uint64_t>> parse_key(const ChunkKeyEncoding& encoding,
                                                    std::size_t rank, std::string_view key) {
  const bool prefixed = encoding.kind == ChunkKeyEncoding::Kind::kDefault;
  if (rank == 0) {
    if (key != (prefixed ? "c" : "0")) return std::nullopt;
    return std::vector<std::uint64_t>();
  }
  if (prefixed) {
    if (key.size() < 3 || key[0] != 'c' || key[1] != encoding.separator) return std::nullopt;
    key.remove_prefix(2);
  }
  auto numbers = parse_numbers(key, encoding.separator);
  if (!numbers || numbers->size() != rank) return std::nullopt;
  return numbers;
}

Result<std::vector<std::uint64_t>> parse_coordinates(std::string_view text,
                                                     const std::vector<std::uint64_t>& counts) {
  if (counts.empty() && (text.empty() || text == "0")) return std::vector<std::uint64_t>();
  auto numbers = parse_numbers(text, '.');
  if (!numbers || numbers->size() != counts.size()) {
    return fail(Fault::kInvalid, "'" + printable(text) + "' is not a chunk: expected " +
                                     std::to_string(counts.size()) +
                                     " numbers with dots between them, such as " +
                                     dotted(std::vector<std::uint64_t>(counts.size(), 0)));
  }
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    if ((*numbers)[axis] < counts[axis]) continue;
    return fail(Fault::kInvalid, "chunk " + printable(text) + " lies outside the array: axis " +
                                     std::to_string(axis) + " has " + std::to_string(counts[axis]) +
                                     " chunks");
  }
  return std::move(*numbers);
}

std::string dotted(std::span<const std::uint64_t> coordinates) {
  if (coordinates.empty()) return "0";
  std::string text;
  for (const std::uint64_t number : coordinates) {
    if (!text.empty()) text += '.';
    text += std::to_string(number);
  }
  return text;
}

bool is_metadata_name(std::string_view name) {
  return name == "zarr.json" || name == ".zarray" || name == ".zgroup" || name == ".zattrs" ||
         name == ".zmetadata";
}

bool is_own_name(std::string_view name) {
  return name.starts_with(".zarrfs") || name.ends_with(kUnfinished);
}

bool is_given_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {".zarrfs", kConversionMarker, ".zarrfs-early",
                                                      ".zarrfs-parts", ".zarrfs-finished"};
  constexpr std::array<std::string_view, 7> kBegins = {
      ".zarrfs-kept-",  ".zarrfs-new",    ".zarrfs-next-",  ".zarrfs-part-",
      ".zarrfs-piece-", ".zarrfs-probe-", ".zarrfs-upload-"};
  return name.ends_with(kUnfinished) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kBegins.begin(), kBegins.end(),
                     [name](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace zarrfs::tools
