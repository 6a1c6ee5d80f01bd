// Checksums of four bytes before or behind the data. Source: Zarr v3 core, codecs/crc32c;
// numcodecs' checksum32 module: without `location`, crc32 and adler32 stand at the start, the
// others at the end.
#include <zlib.h>

#include <algorithm>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

constexpr std::size_t kSize = 4;
using Sum = std::uint32_t (*)(ByteView bytes, std::uint32_t seed);

std::uint32_t sum_crc32c(ByteView bytes, std::uint32_t /*seed*/) { return crc32c(bytes); }

std::uint32_t sum_crc32(ByteView bytes, std::uint32_t /*seed*/) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

std::uint32_t sum_adler32(ByteView bytes, std::uint32_t /*seed*/) {
  return static_cast<std::uint32_t>(adler32_z(1, bytes.data(), bytes.size()));
}

/// Fletcher's checksum over big-endian 16-bit words, as HDF5 and numcodecs compute it.
std::uint32_t sum_fletcher32(ByteView bytes, std::uint32_t /*seed*/) {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const auto fold = [](std::uint32_t value) { return (value & 0xFFFFU) + (value >> 16U); };
  for (std::size_t words = bytes.size() / 2, at = 0; words > 0;) {
    std::size_t block = std::min<std::size_t>(words, 360);
    words -= block;
    for (; block > 0; --block, at += 2) {
      first += static_cast<std::uint32_t>(bytes[at]) << 8U | bytes[at + 1];
      second += first;
    }
    first = fold(first);
    second = fold(second);
  }
  if (bytes.size() % 2 != 0) {
    first += static_cast<std::uint32_t>(bytes.back()) << 8U;
    second += first;
    first = fold(first);
    second = fold(second);
  }
  return fold(second) << 16U | fold(first);
}

std::uint32_t rotate(std::uint32_t value, unsigned bits) {
  return value << bits | value >> (32U - bits);
}

/// Bob Jenkins' lookup3 (hashlittle), over bytes.
std::uint32_t sum_jenkins(ByteView bytes, std::uint32_t seed) {
  std::uint32_t a = 0xdeadbeefU + static_cast<std::uint32_t>(bytes.size()) + seed;
  std::uint32_t b = a;
  std::uint32_t c = a;
  while (bytes.size() > 12) {
    a += load_little<std::uint32_t>(bytes);
    b += load_little<std::uint32_t>(bytes.subspan(4));
    c += load_little<std::uint32_t>(bytes.subspan(8));
    a -= c, a ^= rotate(c, 4), c += b;
    b -= a, b ^= rotate(a, 6), a += c;
    c -= b, c ^= rotate(b, 8), b += a;
    a -= c, a ^= rotate(c, 16), c += b;
    b -= a, b ^= rotate(a, 19), a += c;
    c -= b, c ^= rotate(b, 4), b += a;
    bytes = bytes.subspan(12);
  }
  if (bytes.empty()) return c;
  Bytes last(bytes.begin(), bytes.end());
  last.resize(12);
  a += load_little<std::uint32_t>(last);
  b += load_little<std::uint32_t>(ByteView(last).subspan(4));
  c += load_little<std::uint32_t>(ByteView(last).subspan(8));
  c ^= b, c -= rotate(b, 14);
  a ^= c, a -= rotate(c, 11);
  b ^= a, b -= rotate(a, 25);
  c ^= b, c -= rotate(b, 16);
  a ^= c, a -= rotate(c, 4);
  b ^= a, b -= rotate(a, 14);
  c ^= b, c -= rotate(b, 24);
  return c;
}

class Checksum final : public Codec {
 public:
  Checksum(const char* name, Sum sum, bool at_start, std::uint32_t seed = 0, Bytes prefix = {})
      : name_(name), sum_(sum), at_start_(at_start), seed_(seed), prefix_(std::move(prefix)) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }
  [[nodiscard]] std::optional<FixedOverhead> fixed_overhead() const override {
    return FixedOverhead{at_start_ ? 4U : 0U, at_start_ ? 0U : 4U};
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_whole(bytes));
    const ByteView data = data_of(bytes);
    return Bytes(data.begin(), data.end());
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    Bytes sum;
    append_little(sum, compute(bytes));
    Bytes out(bytes.begin(), bytes.end());
    out.insert(at_start_ ? out.begin() : out.end(), sum.begin(), sum.end());
    return out;
  }

  [[nodiscard]] Result<void> check_whole(ByteView bytes) const override {
    if (bytes.size() < kSize)
      return fail(Fault::kDamaged, std::string("codec ") + name_ + ": " +
                                       std::to_string(bytes.size()) + " bytes hold no checksum");
    const auto stored = load_little<std::uint32_t>(at_start_ ? bytes : bytes.last(kSize));
    const std::uint32_t found = compute(data_of(bytes));
    if (stored == found) return {};
    return fail(Fault::kDamaged, std::string("codec ") + name_ + ": the checksum is " +
                                     std::to_string(found) + ", stored is " +
                                     std::to_string(stored));
  }

 private:
  [[nodiscard]] ByteView data_of(ByteView bytes) const {
    return at_start_ ? bytes.subspan(kSize) : bytes.first(bytes.size() - kSize);
  }
  [[nodiscard]] std::uint32_t compute(ByteView data) const {
    if (prefix_.empty()) return sum_(data, seed_);
    Bytes whole = prefix_;
    whole.insert(whole.end(), data.begin(), data.end());
    return sum_(whole, seed_);
  }

  const char* name_;
  Sum sum_;
  bool at_start_;
  std::uint32_t seed_;
  Bytes prefix_;
};

Result<std::unique_ptr<Codec>> make_checksum(const Json& configuration, const char* name, Sum sum,
                                             bool at_start) {
  const Json location = configuration.value("location", Json());
  if (!location.is_null() && location != "start" && location != "end") {
    return fail(Fault::kDamaged,
                std::string("codec ") + name + ": location is " + printable(dump_json(location)));
  }
  return std::make_unique<Checksum>(name, sum, location.is_null() ? at_start : location == "start");
}

}  // namespace

Result<std::unique_ptr<Codec>> make_crc32c(const Json& configuration, const Elements& /*decoded*/) {
  return make_checksum(configuration, "crc32c", sum_crc32c, false);
}
Result<std::unique_ptr<Codec>> make_crc32(const Json& configuration, const Elements& /*decoded*/) {
  return make_checksum(configuration, "crc32", sum_crc32, true);
}
Result<std::unique_ptr<Codec>> make_adler32(const Json& configuration,
                                            const Elements& /*decoded*/) {
  return make_checksum(configuration, "adler32", sum_adler32, true);
}
Result<std::unique_ptr<Codec>> make_fletcher32(const Json& configuration,
                                               const Elements& /*decoded*/) {
  return make_checksum(configuration, "fletcher32", sum_fletcher32, false);
}

Result<std::unique_ptr<Codec>> make_jenkins_lookup3(const Json& configuration,
                                                    const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t seed,
             integer_member(configuration, "jenkins_lookup3", "initval", 0, 0, 0xFFFFFFFFLL));
  const Json prefix = configuration.value("prefix", Json());
  Bytes bytes;
  for (const Json& item : prefix.is_array() ? prefix : Json::array()) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > 255)
      return fail(Fault::kDamaged,
                  "codec jenkins_lookup3: prefix is " + printable(dump_json(prefix)));
    bytes.push_back(item.get<std::uint8_t>());
  }
  if (!prefix.is_null() && !prefix.is_array())
    return fail(Fault::kDamaged,
                "codec jenkins_lookup3: prefix is " + printable(dump_json(prefix)));
  return std::make_unique<Checksum>("jenkins_lookup3", sum_jenkins, false,
                                    static_cast<std::uint32_t>(seed), std::move(bytes));
}

}  // namespace zarrfs
