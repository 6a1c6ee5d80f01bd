// Shard indexes of any bytes. Input: one byte of choices, the shard's size (8 bytes), the index
// without its checksum (which is made right, or nothing behind it would ever be reached).
#include "core/base/json.h"
#include "core/zarr/shard_index.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  fuzz::Input input{{data, size}};
  const std::uint8_t choices = input.byte();
  const bool checksum = (choices & 1U) != 0;
  const bool at_start = (choices & 2U) != 0;
  const bool big = (choices & 4U) != 0;
  const std::uint64_t shard_size = input.number();
  CodecSpec bytes{"bytes"};
  bytes.configuration["endian"] = big ? "big" : "little";
  std::vector<CodecSpec> specs{bytes};
  if (checksum) specs.push_back(CodecSpec{"crc32c"});
  const auto format = IndexFormat::make(specs, {input.rest.size() / 16}, at_start);
  if (!format) return 0;
  Bytes encoded(input.rest.begin(), input.rest.end());
  encoded.resize(encoded.size() / 16 * 16);
  if (checksum) append_little(encoded, crc32c(encoded));
  const auto index = ShardIndex::decode(encoded, *format, shard_size);
  if (!index) return 0;

  const auto index_range = format->range(shard_size);
  std::uint64_t present = 0;
  bool damaged = false;
  for (std::uint64_t i = 0; i < index->size(); ++i) {
    const IndexEntry entry = index->entry(i);
    if (entry.state != IndexEntry::State::kMissing) ++present;
    if (entry.state == IndexEntry::State::kDamaged) {
      damaged = true;
      require(!index->describe_damage(i).empty());
    }
    if (entry.state != IndexEntry::State::kPresent) continue;
    require(lies_within(entry.range, shard_size) && entry.range.length > 0);
    require(index_range.has_value());
    const bool before = entry.range.offset + entry.range.length <= index_range->offset;
    const bool behind = entry.range.offset >= index_range->offset + index_range->length;
    require(before || behind);
  }
  require(index->present() == present);
  if (damaged) return 0;
  const auto again = index->encode(*format);
  require(again.has_value() && *again == encoded);
  return 0;
}
