// The files of webknossos-wrap: a header, then the blocks of a cube in Morton order, and where they
// are compressed a table of their ends between the two. Source: scalableminds/webknossos-wrap,
// README.md ("File format"). Pure functions and immutable values; thread-safe. No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

struct WkwHeader {
  static constexpr std::uint64_t kBytes = 16;
  std::uint32_t block_log2 = 0;  ///< Voxels along each edge of a block.
  std::uint32_t file_log2 = 0;   ///< Blocks along each edge of a file.
  bool lz4 = false;              ///< Blocks of LZ4 or LZ4HC; else raw.
  std::string data_type;
  std::uint64_t channels = 1;
  std::uint64_t voxel_bytes = 1;  ///< All channels of a voxel.
  std::uint64_t data_offset = 0;  ///< Of the first block; 0 in header.wkw.

  [[nodiscard]] std::uint64_t block_edge() const { return std::uint64_t{1} << block_log2; }
  [[nodiscard]] std::uint64_t file_edge() const { return std::uint64_t{1} << file_log2; }
  [[nodiscard]] std::uint64_t blocks() const { return std::uint64_t{1} << (3 * file_log2); }
  [[nodiscard]] std::uint64_t block_bytes() const { return voxel_bytes << (3 * block_log2); }
  /// Whether both say the same of blocks, files and voxels.
  [[nodiscard]] bool same_form(const WkwHeader& other) const;
};

/// kDamaged or kUnsupported, with the byte that is wrong. What exists has blocks of at most 2 GiB
/// and at most 2^23 of them in a file.
Result<WkwHeader> parse_wkw_header(ByteView bytes);

/// The number of the block at `block` (x, y, z, each below the file's edge) in its file.
std::uint64_t wkw_block_number(const std::array<std::uint64_t, 3>& block, std::uint32_t file_log2);

/// Where the blocks of one file lie.
class WkwIndex final : public Shard {
 public:
  /// `ends` is the table of a compressed file (blocks() numbers of 64 bits), and empty for a raw
  /// one. kDamaged where it has another length, or the first block lies within header and table.
  static Result<WkwIndex> make(const WkwHeader& header, ByteView ends, const FileIdentity& file);
  [[nodiscard]] FileIdentity identity() const override { return file_; }
  [[nodiscard]] std::size_t memory() const override {
    return sizeof(*this) + ends_.size() * sizeof(std::uint64_t);
  }
  /// kDamaged, with numbers, where the block has no bytes or does not lie in the file.
  [[nodiscard]] Result<ByteRange> find(std::uint64_t block) const;

 private:
  WkwHeader header_;
  FileIdentity file_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace zarrfs
