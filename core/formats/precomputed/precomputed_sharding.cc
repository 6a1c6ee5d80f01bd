#include "core/formats/precomputed/precomputed_sharding.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/json.h"
#include "core/formats/document_fields.h"

namespace zarrfs {
namespace {

/// The numbers of bits that a shard's index may have: 2^26 minishards have an index of 1 GiB.
constexpr std::uint64_t kMaxMinishardBits = 26;
constexpr std::uint64_t kEntryBytes = 24;
constexpr unsigned kHexBits = 4;

std::uint64_t low_bits(std::uint64_t value, std::uint32_t bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}
std::uint64_t shifted(std::uint64_t value, std::uint32_t bits) {
  return bits >= 64 ? 0 : value >> bits;
}

Result<std::uint32_t> parse_bits(const Json& object, const char* name, const std::string& field,
                                 std::uint64_t most) {
  ZARRFS_TRY(const std::uint64_t bits, whole_member(object, name, field));
  if (bits <= most) return static_cast<std::uint32_t>(bits);
  return fail(Fault::kDamaged, field + "." + name + " is " + std::to_string(bits) + ", more than " +
                                   std::to_string(most));
}

/// Whether the encoding is gzip; raw where the document does not say.
Result<bool> parse_gzip(const Json& object, const char* name, const std::string& field) {
  const Json* encoding = find_member(object, name);
  if (encoding == nullptr || *encoding == "raw") return false;
  if (*encoding == "gzip") return true;
  return fail(Fault::kUnsupported,
              field + "." + name + " is " + brief(*encoding) + ", neither \"raw\" nor \"gzip\"");
}

/// The last step of MurmurHash3: spreads a word's bits over all of it.
std::uint32_t murmur_mix(std::uint32_t word) {
  word ^= word >> 16U;
  word *= 0x85ebca6bU;
  word ^= word >> 13U;
  word *= 0xc2b2ae35U;
  return word ^ (word >> 16U);
}

}  // namespace

PrecomputedSharding::Place PrecomputedSharding::place_of(std::uint64_t chunk_id) const {
  std::uint64_t hashed = shifted(chunk_id, preshift_bits);
  if (hash == Hash::kMurmur) hashed = murmurhash3_low64(hashed);
  return {low_bits(shifted(hashed, minishard_bits), shard_bits), low_bits(hashed, minishard_bits)};
}

std::string PrecomputedSharding::file_name(std::uint64_t shard) const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (; shard > 0; shard >>= kHexBits) digits += kDigits[shard % 16];
  const std::size_t width = std::max<std::size_t>((shard_bits + kHexBits - 1) / kHexBits, 1);
  digits.resize(std::max(digits.size(), width), '0');
  std::reverse(digits.begin(), digits.end());
  return digits + ".shard";
}

Result<PrecomputedSharding> parse_precomputed_sharding(const Json& spelled,
                                                       const std::string& field) {
  const Json* type = find_member(spelled, "@type");
  if (type == nullptr || *type != "neuroglancer_uint64_sharded_v1") {
    return fail(Fault::kUnsupported, field + ".@type is " +
                                         (type == nullptr ? "missing" : brief(*type)) +
                                         ", not \"neuroglancer_uint64_sharded_v1\"");
  }
  PrecomputedSharding sharding;
  ZARRFS_TRY(sharding.preshift_bits, parse_bits(spelled, "preshift_bits", field, 64));
  ZARRFS_TRY(sharding.minishard_bits,
             parse_bits(spelled, "minishard_bits", field, kMaxMinishardBits));
  ZARRFS_TRY(sharding.shard_bits,
             parse_bits(spelled, "shard_bits", field, 64 - sharding.minishard_bits));
  const Json* hash = find_member(spelled, "hash");
  if (hash != nullptr && *hash == "murmurhash3_x86_128") {
    sharding.hash = PrecomputedSharding::Hash::kMurmur;
  } else if (hash == nullptr || *hash != "identity") {
    return fail(Fault::kUnsupported, field + ".hash is " +
                                         (hash == nullptr ? "missing" : brief(*hash)) +
                                         ", neither \"identity\" nor \"murmurhash3_x86_128\"");
  }
  ZARRFS_TRY(sharding.gzip_index, parse_gzip(spelled, "minishard_index_encoding", field));
  ZARRFS_TRY(sharding.gzip_data, parse_gzip(spelled, "data_encoding", field));
  return sharding;
}

std::optional<std::uint64_t> compressed_morton_code(std::span<const std::uint64_t, 3> chunk,
                                                    std::span<const std::uint64_t, 3> grid) {
  std::uint64_t code = 0;
  unsigned bits = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool needed = grid[axis] > 0 && ((grid[axis] - 1) >> bit) != 0;
      if (!needed) continue;
      if (bits == 64) return std::nullopt;
      code |= ((chunk[axis] >> bit) & 1U) << bits++;
    }
  }
  return code;
}

std::uint64_t murmurhash3_low64(std::uint64_t value) {
  constexpr std::uint32_t kBytes = 8;
  const std::uint32_t first = std::rotl(static_cast<std::uint32_t>(value) * 0x239b961bU, 15);
  const std::uint32_t second =
      std::rotl(static_cast<std::uint32_t>(value >> 32U) * 0xab0e9789U, 16);
  std::array<std::uint32_t, 4> words{first * 0xab0e9789U, second * 0x38b34ae5U, 0, 0};
  const auto mingle = [&words] {
    words[0] += words[1] + words[2] + words[3];
    for (std::size_t i = 1; i < words.size(); ++i) words.at(i) += words[0];
  };
  for (std::uint32_t& word : words) word ^= kBytes;
  mingle();
  for (std::uint32_t& word : words) word = murmur_mix(word);
  mingle();
  return std::uint64_t{words[1]} << 32U | words[0];
}

Result<std::optional<ByteRange>> minishard_range(ByteView entry,
                                                 const PrecomputedSharding& sharding,
                                                 std::uint64_t shard_size) {
  const auto start = load_little<std::uint64_t>(entry);
  const auto end = load_little<std::uint64_t>(entry.subspan(sizeof(start)));
  const auto offset = checked_add(start, sharding.index_size());
  if (start <= end && offset && lies_within({*offset, end - start}, shard_size)) {
    return start == end ? std::nullopt : std::optional(ByteRange{*offset, end - start});
  }
  return fail(Fault::kDamaged, "the shard index says " + std::to_string(start) + " to " +
                                   std::to_string(end) + " behind its " +
                                   std::to_string(sharding.index_size()) +
                                   " bytes, and the shard has " + std::to_string(shard_size));
}

Result<MinishardIndex> MinishardIndex::parse(ByteView decoded, const PrecomputedSharding& sharding,
                                             const FileIdentity& file) {
  if (decoded.size() % kEntryBytes != 0) {
    return fail(Fault::kDamaged, "the minishard index has " + std::to_string(decoded.size()) +
                                     " bytes, which is no multiple of 24");
  }
  MinishardIndex index;
  index.file_ = file;
  const std::size_t count = decoded.size() / kEntryBytes;
  const auto number = [&](std::size_t row, std::size_t column) {
    return load_little<std::uint64_t>(decoded.subspan((row * count + column) * 8));
  };
  std::uint64_t chunk_id = 0;
  std::uint64_t at = sharding.index_size();
  index.entries_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = checked_add(chunk_id, number(0, i));
    const auto offset = checked_add(at, number(1, i));
    const auto end = offset ? checked_add(*offset, number(2, i)) : std::nullopt;
    if (!id || !end || (i > 0 && *id == chunk_id)) {
      return fail(Fault::kDamaged,
                  "entry " + std::to_string(i) + " of the minishard index, +" +
                      std::to_string(number(0, i)) + " at +" + std::to_string(number(1, i)) +
                      " of " + std::to_string(number(2, i)) +
                      (id && end ? " bytes, lists a chunk twice" : " bytes, runs over 2^64"));
    }
    chunk_id = *id;
    at = *end;
    index.entries_.push_back({chunk_id, {*offset, *end - *offset}});
  }
  return index;
}

std::optional<ByteRange> MinishardIndex::find(std::uint64_t chunk_id) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), chunk_id,
                       [](const Entry& entry, std::uint64_t id) { return entry.chunk_id < id; });
  if (found == entries_.end() || found->chunk_id != chunk_id) return std::nullopt;
  return found->range;
}

}  // namespace zarrfs
