#include "core/chunks/zstd_frames.h"

#include <algorithm>

namespace zarrfs {

namespace {
constexpr int kSampledCells = 2;
constexpr int kSampledChunks = 3;  // of each cell

bool chunk_lacks_size(ArrayReader& reader, const Coordinates& chunk, std::uint64_t offset) {
  const auto stored = reader.find_chunk(chunk);
  if (!stored || !*stored || !lies_within({offset, kZstdFrameStart}, (*stored)->range.length)) {
    return false;
  }
  ChunkBytes start = **stored;
  start.range = {start.range.offset + offset, kZstdFrameStart};
  const auto bytes = start.read();
  return bytes && zstd_lacks_size(*bytes);
}
}  // namespace

std::optional<std::uint64_t> zstd_frame_offset(const CodecChain& chain) {
  std::uint64_t offset = 0;
  for (auto step = chain.steps().rbegin(); step != chain.steps().rend(); ++step) {
    if (step->stage != CodecStage::kBytesToBytes) return std::nullopt;
    if (canonical_codec_name(step->spec.name) == "zstd") return offset;
    const auto overhead = step->codec->fixed_overhead();
    if (!overhead) return std::nullopt;
    offset += overhead->before;
  }
  return std::nullopt;
}

bool zstd_lacks_size(ByteView start) {
  constexpr std::uint32_t kMagic = 0xFD2FB528U;
  if (start.size() < kZstdFrameStart || load_little<std::uint32_t>(start) != kMagic) return false;
  const unsigned descriptor = start[4];
  const bool has_size_flag = (descriptor >> 6U) != 0;
  const bool single_segment = (descriptor & 0x20U) != 0;
  return !has_size_flag && !single_segment;
}

bool sampled_zstd_lacks_size(ArrayReader& reader, ShardDirectory& cells) {
  const auto offset = zstd_frame_offset(reader.layout().chunk_chain());
  if (!offset) return false;
  bool lacks = false;
  int cells_left = kSampledCells;
  const auto sample_cell = [&](const Coordinates& cell) {
    int chunks_left = kSampledChunks;
    const auto visited = reader.visit_shard(cell, 0, [&](const ArrayReader::Visited& one) {
      lacks = lacks || chunk_lacks_size(reader, one.chunk, *offset);
      return !lacks && --chunks_left > 0;
    });
    return visited && !lacks && --cells_left > 0;
  };
  const auto listed = cells.visit(0, sample_cell);
  return listed && lacks;
}

}  // namespace zarrfs
