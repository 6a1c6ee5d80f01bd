#include "core/formats/wkw.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::uint32_t kMaxFileLog2 = 7;
constexpr std::uint64_t kMaxBlockBytes = std::uint64_t{1} << 31U;

struct VoxelType {
  const char* name;
  std::uint64_t bytes;
};
/// By the byte that stands for them, from 1.
constexpr std::array kVoxelTypes = {
    VoxelType{"uint8", 1},  VoxelType{"uint16", 2},  VoxelType{"uint32", 4},
    VoxelType{"uint64", 8}, VoxelType{"float32", 4}, VoxelType{"float64", 8},
    VoxelType{"int8", 1},   VoxelType{"int16", 2},   VoxelType{"int32", 4},
    VoxelType{"int64", 8},
};

tl::unexpected<Error> wrong_header(Fault fault, const std::string& what, std::uint64_t value,
                                   const std::string& wanted) {
  return fail(fault, "the header's " + what + " is " + std::to_string(value) + ", not " + wanted);
}

}  // namespace

bool WkwHeader::same_form(const WkwHeader& other) const {
  return block_log2 == other.block_log2 && file_log2 == other.file_log2 && lz4 == other.lz4 &&
         data_type == other.data_type && voxel_bytes == other.voxel_bytes;
}

Result<WkwHeader> parse_wkw_header(ByteView bytes) {
  if (bytes.size() < WkwHeader::kBytes) {
    return fail(Fault::kDamaged, std::to_string(bytes.size()) + " bytes cannot hold a header of " +
                                     std::to_string(WkwHeader::kBytes));
  }
  if (bytes[0] != 'W' || bytes[1] != 'K' || bytes[2] != 'W') {
    return fail(Fault::kDamaged, "the header does not begin with WKW");
  }
  if (bytes[3] != 1) return wrong_header(Fault::kUnsupported, "version", bytes[3], "1");
  WkwHeader header;
  header.block_log2 = bytes[4] & 0x0fU;
  header.file_log2 = bytes[4] >> 4U;
  if (header.file_log2 > kMaxFileLog2) {
    return wrong_header(Fault::kUnsupported, "number of blocks along an edge", header.file_edge(),
                        "at most 128");
  }
  if (bytes[5] < 1 || bytes[5] > 3) {
    return wrong_header(Fault::kDamaged, "block type", bytes[5], "1 (raw), 2 (LZ4) or 3 (LZ4HC)");
  }
  header.lz4 = bytes[5] != 1;
  if (bytes[6] < 1 || bytes[6] > kVoxelTypes.size()) {
    return wrong_header(Fault::kDamaged, "voxel type", bytes[6], "1 to 10");
  }
  const VoxelType& type = kVoxelTypes.at(bytes[6] - 1U);
  header.data_type = type.name;
  header.voxel_bytes = bytes[7];
  if (header.voxel_bytes == 0 || header.voxel_bytes % type.bytes != 0) {
    return wrong_header(Fault::kDamaged, "voxel size", header.voxel_bytes,
                        std::string("a multiple of the size of ") + type.name);
  }
  header.channels = header.voxel_bytes / type.bytes;
  header.data_offset = load_little<std::uint64_t>(bytes.subspan(8));
  if (header.block_bytes() > kMaxBlockBytes) {
    return wrong_header(Fault::kUnsupported, "block", header.block_bytes(), "at most 2 GiB");
  }
  return header;
}

std::uint64_t wkw_block_number(const std::array<std::uint64_t, 3>& block, std::uint32_t file_log2) {
  std::uint64_t number = 0;
  for (std::size_t bit = 0; bit < file_log2; ++bit) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      number |= ((block.at(axis) >> bit) & 1U) << (3 * bit + axis);
    }
  }
  return number;
}

Result<WkwIndex> WkwIndex::make(const WkwHeader& header, ByteView ends, const FileIdentity& file) {
  const std::uint64_t table = header.lz4 ? header.blocks() * sizeof(std::uint64_t) : 0;
  if (ends.size() != table) {
    return fail(Fault::kDamaged, "its table of blocks has " + std::to_string(ends.size()) +
                                     " bytes, not " + std::to_string(table));
  }
  if (header.data_offset < WkwHeader::kBytes + table) {
    return fail(Fault::kDamaged, "its header says that blocks begin at " +
                                     std::to_string(header.data_offset) + ", and it is " +
                                     std::to_string(WkwHeader::kBytes + table) + " bytes long");
  }
  WkwIndex index;
  index.header_ = header;
  index.file_ = file;
  index.ends_.resize(ends.size() / sizeof(std::uint64_t));
  if (!ends.empty()) std::memcpy(index.ends_.data(), ends.data(), ends.size());
  return index;
}

Result<ByteRange> WkwIndex::find(std::uint64_t block) const {
  std::uint64_t begin = header_.data_offset;
  std::optional<std::uint64_t> end;
  if (!header_.lz4) {
    const auto first = checked_add(begin, block * header_.block_bytes());
    begin = first.value_or(std::numeric_limits<std::uint64_t>::max());
    end = checked_add(begin, header_.block_bytes());
  } else {
    if (block > 0) begin = ends_[block - 1];
    end = ends_[block];
  }
  if (end && begin < *end && begin >= header_.data_offset && *end <= file_.size) {
    return ByteRange{begin, *end - begin};
  }
  return fail(Fault::kDamaged, "block " + std::to_string(block) + " from " + std::to_string(begin) +
                                   " to " + std::to_string(end.value_or(0)) +
                                   " does not lie between " + std::to_string(header_.data_offset) +
                                   " and the end, " + std::to_string(file_.size));
}

}  // namespace zarrfs
