// Checksums of four bytes before or after the bytes they are of.
// Source: Zarr v3 core, codecs/crc32c; numcodecs, checksum32 and fletcher32.
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

constexpr std::size_t kSize = sizeof(std::uint32_t);

using Checksum = std::function<std::uint32_t(ByteView)>;

class ChecksumCodec final : public Codec {
 public:
  ChecksumCodec(std::string name, bool at_start, Checksum checksum)
      : name_(std::move(name)), at_start_(at_start), checksum_(std::move(checksum)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    const std::string& name = question.spec.name;
    if (!at_start_ || (name != "numcodecs.crc32" && name != "numcodecs.adler32"))
      return std::nullopt;
    V2Spelling spelling{numcodecs_json(question.spec)};
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    ZARRFS_CHECK(check(bytes));
    const ByteView content = content_of(bytes);
    if (content.size() > limit) {
      return fail(Fault::kDamaged, name_ + ": " + std::to_string(content.size()) +
                                       " bytes are more than " + std::to_string(limit));
    }
    return Bytes(content.begin(), content.end());
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    Bytes out;
    out.reserve(bytes.size() + kSize);
    if (at_start_) append_little(out, checksum_(bytes));
    out.insert(out.end(), bytes.begin(), bytes.end());
    if (!at_start_) append_little(out, checksum_(bytes));
    return out;
  }

  [[nodiscard]] std::optional<FixedOverhead> fixed_overhead() const override {
    if (at_start_) return FixedOverhead{kSize, 0};
    return FixedOverhead{0, kSize};
  }

 private:
  [[nodiscard]] Result<void> check(ByteView bytes) const {
    if (bytes.size() < kSize) {
      return fail(Fault::kDamaged, name_ + ": " + std::to_string(bytes.size()) +
                                       " bytes are too few to hold the checksum");
    }
    const auto stored =
        load_little<std::uint32_t>(at_start_ ? bytes : bytes.subspan(bytes.size() - kSize));
    const std::uint32_t computed = checksum_(content_of(bytes));
    if (stored == computed) return {};
    return fail(Fault::kDamaged, name_ + ": the checksum is " + std::to_string(computed) +
                                     ", but " + std::to_string(stored) + " is stored");
  }

  [[nodiscard]] ByteView content_of(ByteView bytes) const {
    return bytes.subspan(at_start_ ? kSize : 0, bytes.size() - kSize);
  }

  std::string name_;
  bool at_start_;
  Checksum checksum_;
};

/// zlib's checksums take 32-bit lengths.
template <class Function>
std::uint32_t in_pieces(Function function, std::uint32_t value, ByteView bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 30U;
  while (!bytes.empty()) {
    const ByteView piece = bytes.first(std::min(bytes.size(), kPiece));
    value =
        static_cast<std::uint32_t>(function(value, piece.data(), static_cast<uInt>(piece.size())));
    bytes = bytes.subspan(piece.size());
  }
  return value;
}

std::uint32_t crc32_of(ByteView bytes) { return in_pieces(::crc32, 0, bytes); }
std::uint32_t adler32_of(ByteView bytes) { return in_pieces(::adler32, 1, bytes); }

std::uint32_t folded(std::uint32_t sum) { return (sum & 0xFFFFU) + (sum >> 16U); }

/// Fletcher's checksum as HDF5 computes it: over big-endian 16-bit words, the last one filled up
/// with a zero byte; folded each 360 words, before the sums can wrap.
std::uint32_t fletcher32_of(ByteView bytes) {
  constexpr std::size_t kFold = 720;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    const std::uint32_t low = at + 1 < bytes.size() ? bytes[at + 1] : 0U;
    first += static_cast<std::uint32_t>(bytes[at]) << 8U | low;
    second += first;
    if ((at + 2) % kFold != 0) continue;
    first = folded(first);
    second = folded(second);
  }
  first = folded(folded(first));
  second = folded(folded(second));
  return second << 16U | first;
}

/// Bob Jenkins' lookup3 ("hashlittle"), the checksum of HDF5's metadata.
class Lookup3 {
 public:
  Lookup3(std::uint32_t length, std::uint32_t initial)
      : a_(0xDEADBEEFU + length + initial), b_(a_), c_(a_) {}

  std::uint32_t hash(ByteView bytes) {
    while (bytes.size() > 12) {
      add(bytes.first(12));
      mix();
      bytes = bytes.subspan(12);
    }
    if (bytes.empty()) return c_;
    add(bytes);
    finish();
    return c_;
  }

 private:
  static std::uint32_t rotated(std::uint32_t value, int bits) { return std::rotl(value, bits); }

  /// Adds up to 12 bytes as three little-endian words, missing bytes being zero.
  void add(ByteView bytes) {
    std::uint32_t words[3] = {0, 0, 0};
    std::memcpy(words, bytes.data(), bytes.size());
    a_ += words[0];
    b_ += words[1];
    c_ += words[2];
  }

  void mix() {
    a_ = (a_ - c_) ^ rotated(c_, 4);
    c_ += b_;
    b_ = (b_ - a_) ^ rotated(a_, 6);
    a_ += c_;
    c_ = (c_ - b_) ^ rotated(b_, 8);
    b_ += a_;
    a_ = (a_ - c_) ^ rotated(c_, 16);
    c_ += b_;
    b_ = (b_ - a_) ^ rotated(a_, 19);
    a_ += c_;
    c_ = (c_ - b_) ^ rotated(b_, 4);
    b_ += a_;
  }

  void finish() {
    c_ = (c_ ^ b_) - rotated(b_, 14);
    a_ = (a_ ^ c_) - rotated(c_, 11);
    b_ = (b_ ^ a_) - rotated(a_, 25);
    c_ = (c_ ^ b_) - rotated(b_, 16);
    a_ = (a_ ^ c_) - rotated(c_, 4);
    b_ = (b_ ^ a_) - rotated(a_, 14);
    c_ = (c_ ^ b_) - rotated(b_, 24);
  }

  std::uint32_t a_;
  std::uint32_t b_;
  std::uint32_t c_;
};

std::uint32_t lookup3(ByteView bytes, std::uint32_t initial, const Bytes& prefix) {
  if (prefix.empty()) return Lookup3(static_cast<std::uint32_t>(bytes.size()), initial).hash(bytes);
  Bytes joined = prefix;
  joined.insert(joined.end(), bytes.begin(), bytes.end());
  return Lookup3(static_cast<std::uint32_t>(joined.size()), initial).hash(joined);
}

MadeCodec make_located(const CodecSpec& spec, const char* fallback, Checksum checksum) {
  const Configuration configuration(spec);
  ZARRFS_TRY(const std::string location, configuration.string("location", fallback));
  if (location != "start" && location != "end") {
    return configuration.refuse("location", "is neither start nor end");
  }
  return std::make_unique<ChecksumCodec>(spec.name, location == "start", std::move(checksum));
}

/// A prefix of bytes, as a list of integers.
Result<Bytes> parse_prefix(const Configuration& configuration) {
  Bytes prefix;
  const Json* spelled = configuration.find("prefix");
  if (spelled == nullptr) return prefix;
  if (!spelled->is_array()) return configuration.refuse("prefix", "is not a list of bytes");
  for (const Json& one : *spelled) {
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() > 255) {
      return configuration.refuse("prefix", "is not a list of bytes");
    }
    prefix.push_back(one.get<std::uint8_t>());
  }
  return prefix;
}

}  // namespace

MadeCodec make_crc32c(const CodecSpec& spec, const Elements& /*decoded*/) {
  return make_located(spec, "end", [](ByteView bytes) { return crc32c(bytes); });
}

MadeCodec make_crc32(const CodecSpec& spec, const Elements& /*decoded*/) {
  return make_located(spec, "start", crc32_of);
}

MadeCodec make_adler32(const CodecSpec& spec, const Elements& /*decoded*/) {
  return make_located(spec, "start", adler32_of);
}

MadeCodec make_fletcher32(const CodecSpec& spec, const Elements& /*decoded*/) {
  return std::make_unique<ChecksumCodec>(spec.name, false, fletcher32_of);
}

MadeCodec make_jenkins_lookup3(const CodecSpec& spec, const Elements& /*decoded*/) {
  const Configuration configuration(spec);
  ZARRFS_TRY(const std::int64_t initial, configuration.integer("initval", 0, UINT32_MAX, 0));
  ZARRFS_TRY(Bytes prefix, parse_prefix(configuration));
  const auto checksum = [initial, prefix = std::move(prefix)](ByteView bytes) {
    return lookup3(bytes, static_cast<std::uint32_t>(initial), prefix);
  };
  return std::make_unique<ChecksumCodec>(spec.name, false, checksum);
}

}  // namespace zarrfs
