// Chunks of any bytes, through any chain of codecs. Input: the array's zarr.json, a NUL, the chunk.
#include "core/metadata/metadata.h"
#include "core/zarr/layout.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

namespace {
// Larger chunks only cost time.
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 16U;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  fuzz::Input input{{data, size}};
  const auto node = parse_node(input.text(), "a");
  if (!node || !std::holds_alternative<ArrayMetadata>(*node)) return 0;
  const auto layout = Layout::make(std::get<ArrayMetadata>(*node));
  if (!layout) return 0;
  const CodecChain& chain = layout->chunk_chain();
  const auto elements = checked_product(chain.decoded().shape);
  if (!elements || *elements > kMaxElements) return 0;
  const auto decoded = chain.decode(input.rest);
  if (!decoded) {
    require(!decoded.error().message.empty());
    return 0;
  }
  const std::uint64_t bytes = chain.decoded().bytes();
  require(bytes == 0 || decoded->size() == bytes);
  const auto encoded = chain.encode(*decoded);
  if (!encoded) return 0;
  require(chain.decode(*encoded).has_value());
  return 0;
}
