// Volumes of other formats, of any bytes: which one (a byte), then its document or header up to a
// NUL, then the bytes of a file of chunks. Each chunk is looked for and read, as a mount does.
#include "core/formats/format.h"
#include "core/formats/images.h"
#include "core/formats/precomputed/segmentation.h"
#include "core/formats/wkw.h"
#include "tests/fuzz/input.h"
#include "tests/support/memory_store.h"

namespace {

using namespace zarrfs;

void read_first_chunks(const Volume& volume) {
  for (const auto& [path, node] : volume) {
    if (node.chunks == nullptr || node.error) continue;
    for (std::uint64_t x = 0; x < 4 && x < node.counts.back(); ++x) {
      bool empty = false;
      for (const std::uint64_t count : node.counts) empty = empty || count == 0;
      if (empty) break;
      const std::vector<std::uint64_t> chunk{0, 0, 0, x};
      const auto file = node.chunks->find(chunk);
      if (!file || *file == nullptr || (*file)->size() > (std::uint64_t{1} << 24U)) continue;
      static_cast<void>((*file)->read_range({0, (*file)->size()}));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{{data, size}};
  const std::uint8_t choice = input.byte();
  if (choice % 4 == 3) {  // a header's NULs end no text
    const auto header = parse_wkw_header(input.rest);
    if (header && header->blocks() <= 4096 && input.rest.size() >= WkwHeader::kBytes) {
      const auto index = WkwIndex::make(*header, input.rest.subspan(WkwHeader::kBytes),
                                        {.size = input.rest.size()});
      for (std::uint64_t block = 0; index && block < header->blocks(); ++block) {
        const auto range = index->find(block);
        if (range) fuzz::require(lies_within(*range, input.rest.size()) && range->length > 0);
      }
    }
    static_cast<void>(
        decode_segmentation(input.rest, {{9, 5, 3}, 1U + choice / 128U, 8, {4, 4, 2}}));
    static_cast<void>(decode_jpeg(input.rest, {64, 1, 1}));
    static_cast<void>(decode_png(input.rest, {64, 1, 1}));
    return 0;
  }
  const std::string text(input.text());
  auto store = std::make_shared<testing::MemoryStore>();
  for (const char* name : {"a", "b", "b/1"}) static_cast<void>(store->make_directory(name, 0755));
  const std::string rest(input.rest.begin(), input.rest.end());
  for (const char* name : {"a/0.shard", "a/1.shard", "a/0-8_0-8_0-8", "a/0-8_0-8_0-8.gz"}) {
    store->write_file(name, rest);
  }
  store->write_file("b/1/header.wkw", rest);
  const VolumeContext context{store, "", std::make_shared<IndexCache>(1U << 20U)};
  const auto volume = choice % 4 == 0 ? open_precomputed(context, {text, {}})
                                      : open_wkw_dataset(context, {text, {}});
  if (volume && *volume != nullptr) read_first_chunks(**volume);
  return 0;
}
