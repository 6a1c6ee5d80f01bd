#include "core/zarr/embedded_file.h"

#include <array>
#include <string_view>

namespace zarrfs {
namespace {

struct Signature {
  std::string_view bytes;
  const char* name;
};
constexpr std::array kAtStart = {
    Signature{{"II*\0", 4}, "TIFF"},
    Signature{{"MM\0*", 4}, "TIFF"},
    Signature{{"II+\0", 4}, "TIFF"},  // BigTIFF
    Signature{{"MM\0+", 4}, "TIFF"},
};
constexpr Signature kHdf5{{"\x89HDF\r\n\x1a\n", 8}, "HDF5"};
/// HDF5 looks for its signature at 0 and at this offset doubled again and again.
constexpr std::uint64_t kFirstUserBlock = 512;

Result<bool> has(const File& file, std::uint64_t offset, std::string_view signature) {
  if (!lies_within({offset, signature.size()}, file.size())) return false;
  ZARRFS_TRY(const Bytes bytes, file.read_range({offset, signature.size()}));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == signature;
}

struct Found {
  std::uint64_t offset = 0;
  const char* name = nullptr;
};

Result<std::optional<Found>> find_signature(const File& file) {
  for (const Signature& signature : kAtStart) {
    ZARRFS_TRY(const bool found, has(file, 0, signature.bytes));
    if (found) return Found{0, signature.name};
  }
  for (std::uint64_t at = 0; at < file.size(); at = at == 0 ? kFirstUserBlock : at * 2) {
    ZARRFS_TRY(const bool found, has(file, at, kHdf5.bytes));
    if (found) return Found{at, kHdf5.name};
    if (at > file.size() / 2) break;
  }
  return std::nullopt;
}

bool holds(ByteRange range, std::uint64_t offset) {
  return range.offset <= offset && offset - range.offset < range.length;
}

}  // namespace

Result<std::optional<std::string>> embedded_file_in(ArrayReader& array,
                                                    std::span<const std::uint64_t> cell) {
  const Layout& layout = array.layout();
  if (!layout.sharded() || !layout.levels().front().around.steps().empty()) return std::nullopt;
  ZARRFS_TRY(const auto file, array.store().open(array.shard_path(cell)));
  if (file == nullptr) return std::nullopt;
  ZARRFS_TRY(const auto found, find_signature(*file));
  if (!found) return std::nullopt;
  ZARRFS_TRY(const IndexFormat format, layout.index_format_of(cell));
  const auto index = format.range(file->size());
  bool owned = index && holds(*index, found->offset);
  ZARRFS_CHECK(array.visit_shard(cell, 0, [&](const ArrayReader::Visited& chunk) {
    owned = owned || (chunk.damage.empty() && holds(chunk.range, found->offset));
    return !owned;
  }));
  if (owned) return std::nullopt;
  return found->name;
}

}  // namespace zarrfs
