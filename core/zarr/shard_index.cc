#include "core/zarr/shard_index.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kMissing = ~std::uint64_t{0};
constexpr std::uint64_t kEntryBytes = 16;

/// The bytes that the checksums of `chain` add; kUnsupported, by name, for a step that an index
/// cannot have: its size must not depend on its contents.
Result<std::uint64_t> checksum_bytes(const CodecChain& chain) {
  std::uint64_t added = 0;
  for (const CodecChain::Step& step : chain.steps()) {
    if (step.spec.name == "bytes" || step.spec.name == "transpose") continue;
    const auto overhead =
        step.stage == CodecStage::kBytesToBytes ? step.codec->fixed_overhead() : std::nullopt;
    if (!overhead) {
      return fail(Fault::kUnsupported, "index_codecs: \"" + printable(step.spec.name) +
                                           "\" does not give an index a fixed size");
    }
    added += overhead->before + overhead->after;
  }
  return added;
}

std::string describe(ByteRange range) {
  return "[" + std::to_string(range.offset) + ", +" + std::to_string(range.length) + ")";
}

bool overlap(ByteRange a, ByteRange b) {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

}  // namespace

Result<IndexFormat> IndexFormat::make(const std::vector<CodecSpec>& specs,
                                      std::vector<std::uint64_t> counts, bool at_start) {
  const auto entries = checked_product(counts);
  if (!entries || *entries > kMaxIndexBytes / kEntryBytes) {
    return fail(Fault::kUnsupported, "a shard of " +
                                         (entries ? std::to_string(*entries) : "more than 2^64") +
                                         " chunks has an index larger than " +
                                         std::to_string(kMaxIndexBytes) + " bytes");
  }
  Elements array;
  ZARRFS_TRY(array.type, parse_data_type("uint64"));
  array.shape = std::move(counts);
  array.shape.push_back(2);
  IndexFormat format;
  format.entries_ = *entries;
  format.at_start_ = at_start;
  auto chain = CodecChain::make(specs, array);
  if (!chain) return fail(chain.error().fault, "index_codecs: " + chain.error().message);
  format.chain_ = std::move(*chain);
  ZARRFS_TRY(const std::uint64_t added, checksum_bytes(format.chain_));
  format.encoded_size_ = *entries * kEntryBytes + added;
  return format;
}

Result<ByteRange> IndexFormat::range(std::uint64_t shard_size) const {
  if (shard_size < encoded_size_) {
    return fail(Fault::kDamaged, std::to_string(shard_size) + " bytes are less than its index, " +
                                     std::to_string(encoded_size_));
  }
  return ByteRange{at_start_ ? 0 : shard_size - encoded_size_, encoded_size_};
}

Result<ShardIndex> ShardIndex::decode(ByteView encoded, const IndexFormat& format,
                                      std::uint64_t shard_size) {
  if (encoded.size() != format.encoded_size()) {
    return fail(Fault::kDamaged, "the index has " + std::to_string(encoded.size()) +
                                     " bytes, not " + std::to_string(format.encoded_size()));
  }
  ShardIndex index;
  ZARRFS_TRY(index.index_range_, format.range(shard_size));
  index.shard_size_ = shard_size;
  auto decoded = format.chain().decode(encoded);
  if (!decoded) return fail(decoded.error().fault, "the index: " + decoded.error().message);
  if (decoded->size() != format.entries() * kEntryBytes) {
    return fail(Fault::kDamaged, "the index decodes to " + std::to_string(decoded->size()) +
                                     " bytes, not " +
                                     std::to_string(format.entries() * kEntryBytes));
  }
  index.offsets_.resize(format.entries() * 2);
  if (!decoded->empty()) std::memcpy(index.offsets_.data(), decoded->data(), decoded->size());
  return index;
}

ShardIndex ShardIndex::empty(std::uint64_t entries) {
  ShardIndex index;
  index.offsets_.assign(entries * 2, kMissing);
  return index;
}

IndexEntry ShardIndex::entry(std::uint64_t linear) const {
  const ByteRange range{offsets_[2 * linear], offsets_[2 * linear + 1]};
  if (range.offset == kMissing && range.length == kMissing) return {};
  // Half missing entries lie past the end of any shard.
  const bool sound =
      range.length > 0 && lies_within(range, shard_size_) && !overlap(range, index_range_);
  return {sound ? IndexEntry::State::kPresent : IndexEntry::State::kDamaged, range};
}

void ShardIndex::set(std::uint64_t linear, ByteRange range) {
  offsets_[2 * linear] = range.offset;
  offsets_[2 * linear + 1] = range.length;
  const auto end = checked_add(range.offset, range.length);
  if (end) shard_size_ = std::max(shard_size_, *end);
}

void ShardIndex::clear(std::uint64_t linear) {
  offsets_[2 * linear] = kMissing;
  offsets_[2 * linear + 1] = kMissing;
}

std::uint64_t ShardIndex::present() const {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < offsets_.size(); i += 2) {
    if (offsets_[i] != kMissing || offsets_[i + 1] != kMissing) ++number;
  }
  return number;
}

Result<Bytes> ShardIndex::encode(const IndexFormat& format) const {
  if (format.entries() != size()) {
    return fail(Fault::kInvalid, "an index of " + std::to_string(size()) +
                                     " entries does not fit a shard of " +
                                     std::to_string(format.entries()));
  }
  const auto* first = reinterpret_cast<const std::uint8_t*>(offsets_.data());
  return format.chain().encode(ByteView(first, offsets_.size() * sizeof(std::uint64_t)));
}

std::string ShardIndex::describe_damage(std::uint64_t linear) const {
  const ByteRange range{offsets_[2 * linear], offsets_[2 * linear + 1]};
  if ((range.offset == kMissing) != (range.length == kMissing)) {
    return "only the " + std::string(range.offset == kMissing ? "offset" : "length") +
           " is marked missing: " + describe(range);
  }
  if (range.length == 0) return describe(range) + " has no bytes";
  if (!lies_within(range, shard_size_)) {
    return describe(range) + " lies past the end, " + std::to_string(shard_size_);
  }
  return describe(range) + " overlaps the index, " + describe(index_range_);
}

}  // namespace zarrfs
