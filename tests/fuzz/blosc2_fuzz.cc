// Frames of Blosc2, of any bytes: the header, and the file as a mount reads it.
#include "core/formats/blosc2_frame.h"
#include "core/formats/format.h"
#include "tests/fuzz/input.h"
#include "tests/support/memory_store.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  const ByteView bytes{data, size};
  const auto length = blosc2_header_bytes(bytes);
  if (!length || *length > size) return 0;
  const auto frame = parse_blosc2_frame(bytes.first(static_cast<std::size_t>(*length)));
  if (!frame || !*frame) return 0;
  require((*frame)->header_bytes + (*frame)->chunk_area <= (*frame)->frame_bytes);
  const Blosc2Index index(**frame, bytes.subspan(static_cast<std::size_t>(*length)), {});
  for (std::uint64_t chunk = 0; chunk < (size - *length) / 8 && chunk < 64; ++chunk) {
    const auto place = index.find(chunk);
    if (!place || place->kind != Blosc2Index::Place::Kind::kStored) continue;
    require(place->offset + kBlosc2ChunkHeader <= (*frame)->header_bytes + (*frame)->chunk_area);
  }
  auto store = std::make_shared<testing::MemoryStore>();
  store->write_file("a.b2nd", std::string(bytes.begin(), bytes.end()));
  const VolumeContext context{store, "a.b2nd", std::make_shared<IndexCache>(1U << 20U)};
  const auto volume = open_b2nd(context, {});
  if (!volume || *volume == nullptr) return 0;
  const VolumeNode& node = (*volume)->at("");
  const auto chunks = checked_product(node.counts);
  if (!chunks || *chunks == 0 || *chunks > 1U << 20U) return 0;
  const auto file = node.chunks->find(std::vector<std::uint64_t>(node.counts.size()));
  if (!file || *file == nullptr || (*file)->size() > std::uint64_t{1} << 24U) return 0;
  static_cast<void>((*file)->read_range({0, (*file)->size()}));
  return 0;
}
