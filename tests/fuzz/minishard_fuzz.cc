// Indexes of Neuroglancer's shards, of any bytes. Input: the number of minishard bits, the shard's
// size (8 bytes), an entry of the shard index (16 bytes), the index of a minishard.
#include "core/formats/precomputed/precomputed_sharding.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  fuzz::Input input{{data, size}};
  PrecomputedSharding sharding;
  sharding.minishard_bits = input.byte() % 27;
  const std::uint64_t shard_size = input.number();
  Bytes entry;
  append_little(entry, input.number());
  append_little(entry, input.number());
  const auto range = minishard_range(entry, sharding, shard_size);
  if (range && *range) {
    require(lies_within(**range, shard_size) && (*range)->length > 0);
    require((*range)->offset >= sharding.index_size());
  }
  const auto index = MinishardIndex::parse(input.rest, sharding, {});
  if (!index) return 0;
  require(index->size() == input.rest.size() / 24);
  for (std::size_t i = 0; i < index->size() && i < 64; ++i) {
    const auto id = load_little<std::uint64_t>(input.rest.subspan(i * 8));
    const auto found = index->find(id);
    if (i == 0) require(found && found->offset >= sharding.index_size());
    if (found) require(checked_add(found->offset, found->length).has_value());
  }
  return 0;
}
