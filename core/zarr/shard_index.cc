#include "core/zarr/shard_index.h"

#include <algorithm>

namespace zarrfs {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint64_t kEntryBytes = 16;

}  // namespace

Result<IndexFormat> IndexFormat::make(const std::vector<CodecSpec>& specs,
                                      std::vector<std::uint64_t> counts, bool at_start) {
  const auto entries = checked_product(counts);
  if (!entries || *entries > (std::uint64_t{1} << 40U)) {
    return fail(Fault::kUnsupported, "a shard of that many inner chunks");
  }
  IndexFormat format;
  format.entries_ = *entries;
  format.at_start_ = at_start;
  ZARRFS_TRY(const DataType type, parse_data_type("uint64"));
  counts.push_back(2);
  ZARRFS_TRY(format.chain_, CodecChain::make(specs, {type, std::move(counts)}));
  format.encoded_size_ = *entries * kEntryBytes;
  for (const CodecChain::Step& step : format.chain_.steps()) {
    if (step.stage == CodecStage::kBytesToBytes) {
      const auto overhead = step.codec->fixed_overhead();
      if (!overhead) {
        return fail(Fault::kUnsupported,
                    "index codec " + printable(step.spec.name) + ", whose size is not fixed");
      }
      format.encoded_size_ += overhead->before + overhead->after;
    } else if (step.stage == CodecStage::kArrayToArray ? step.spec.name != "transpose"
                                                       : step.spec.name != "bytes") {
      return fail(Fault::kUnsupported, "index codec " + printable(step.spec.name));
    }
  }
  return format;
}

Result<ByteRange> IndexFormat::range(std::uint64_t shard_size) const {
  if (shard_size < encoded_size_) {
    return fail(Fault::kDamaged, "its " + std::to_string(shard_size) +
                                     " bytes are fewer than its index has, " +
                                     std::to_string(encoded_size_));
  }
  return ByteRange{at_start_ ? 0 : shard_size - encoded_size_, encoded_size_};
}

Result<ShardIndex> ShardIndex::decode(ByteView encoded, const IndexFormat& format,
                                      std::uint64_t shard_size) {
  ZARRFS_TRY(const ByteRange range, format.range(shard_size));
  ZARRFS_TRY(const Bytes decoded, format.chain().decode(encoded));
  if (decoded.size() != format.entries() * kEntryBytes) {
    return fail(Fault::kDamaged, "its index has " + std::to_string(decoded.size()) +
                                     " bytes instead of " +
                                     std::to_string(format.entries() * kEntryBytes));
  }
  ShardIndex index;
  index.offsets_.resize(format.entries() * 2);
  if (!decoded.empty()) std::memcpy(index.offsets_.data(), decoded.data(), decoded.size());
  index.index_range_ = range;
  index.shard_size_ = shard_size;
  return index;
}

ShardIndex ShardIndex::empty(std::uint64_t entries) {
  ShardIndex index;
  index.offsets_.assign(entries * 2, kNone);
  index.shard_size_ = kNone;
  return index;
}

IndexEntry ShardIndex::entry(std::uint64_t linear) const {
  const ByteRange range{offsets_[linear * 2], offsets_[linear * 2 + 1]};
  if (range.offset == kNone && range.length == kNone) return {};
  const bool overlaps_index = range.offset < index_range_.offset + index_range_.length &&
                              range.offset + range.length > index_range_.offset;
  const bool damaged = range.offset == kNone || range.length == kNone || range.length == 0 ||
                       !lies_within(range, shard_size_) || overlaps_index;
  return {damaged ? IndexEntry::State::kDamaged : IndexEntry::State::kPresent, range};
}

void ShardIndex::set(std::uint64_t linear, ByteRange range) {
  offsets_[linear * 2] = range.offset;
  offsets_[linear * 2 + 1] = range.length;
}

void ShardIndex::clear(std::uint64_t linear) { set(linear, {kNone, kNone}); }

std::uint64_t ShardIndex::present() const {
  std::uint64_t present = 0;
  for (std::size_t i = 0; i < offsets_.size(); i += 2) {
    present += offsets_[i] == kNone && offsets_[i + 1] == kNone ? 0 : 1;
  }
  return present;
}

Result<Bytes> ShardIndex::encode(const IndexFormat& format) const {
  const auto* first = reinterpret_cast<const std::uint8_t*>(offsets_.data());
  return format.chain().encode(ByteView(first, offsets_.size() * 8));
}

std::string ShardIndex::describe_damage(std::uint64_t linear) const {
  const std::uint64_t offset = offsets_[linear * 2];
  const std::uint64_t length = offsets_[linear * 2 + 1];
  const std::string range = "[" + std::to_string(offset) + ", +" + std::to_string(length) + ")";
  if (offset == kNone || length == kNone) return range + " is half missing";
  if (length == 0) return range + " has no bytes";
  if (!lies_within({offset, length}, shard_size_)) {
    return range + " lies past the end, " + std::to_string(shard_size_);
  }
  return range + " overlaps the index at [" + std::to_string(index_range_.offset) + ", +" +
         std::to_string(index_range_.length) + ")";
}

}  // namespace zarrfs
