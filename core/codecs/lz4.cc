// numcodecs.lz4: the decoded size as a 32-bit little-endian integer, then one LZ4 block.
// Source: numcodecs, lz4.
#include <lz4.h>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/output.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

constexpr std::size_t kHeader = sizeof(std::uint32_t);
/// No LZ4 block expands more than this.
constexpr std::uint64_t kMaxRatio = 255;

class Lz4Codec final : public Codec {
 public:
  explicit Lz4Codec(int acceleration) : acceleration_(acceleration) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["acceleration"] = spelled_member(question.spec, "acceleration", 1);
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    ZARRFS_CHECK(check(bytes));
    const auto size = load_little<std::uint32_t>(bytes);
    if (size > limit) return over_limit_error("lz4", limit);
    const ByteView block = bytes.subspan(kHeader);
    Bytes out(size);
    const int produced = LZ4_decompress_safe(
        reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(out.data()),
        static_cast<int>(block.size()), static_cast<int>(size));
    if (produced < 0 || static_cast<std::uint32_t>(produced) != size) {
      return fail(Fault::kDamaged, "lz4: the block does not decode to the " + std::to_string(size) +
                                       " bytes its header says");
    }
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (bytes.size() > LZ4_MAX_INPUT_SIZE) {
      return fail(Fault::kUnsupported,
                  "lz4: " + std::to_string(bytes.size()) + " bytes are more than it takes at once");
    }
    Bytes out;
    append_little(out, static_cast<std::uint32_t>(bytes.size()));
    const int bound = LZ4_compressBound(static_cast<int>(bytes.size()));
    out.resize(kHeader + static_cast<std::size_t>(bound));
    const int produced = LZ4_compress_fast(reinterpret_cast<const char*>(bytes.data()),
                                           reinterpret_cast<char*>(out.data() + kHeader),
                                           static_cast<int>(bytes.size()), bound, acceleration_);
    out.resize(kHeader + static_cast<std::size_t>(produced));
    return out;
  }

 private:
  static Result<void> check(ByteView bytes) {
    if (bytes.size() <= kHeader || bytes.size() > LZ4_MAX_INPUT_SIZE) {
      return fail(Fault::kDamaged,
                  "lz4: " + std::to_string(bytes.size()) + " bytes cannot be a size and a block");
    }
    const auto size = load_little<std::uint32_t>(bytes);
    if (size <= LZ4_MAX_INPUT_SIZE && size <= bytes.size() * kMaxRatio) return {};
    return fail(Fault::kDamaged, "lz4: " + std::to_string(bytes.size()) +
                                     " bytes cannot decode to the " + std::to_string(size) +
                                     " bytes the header says");
  }

  int acceleration_;
};

}  // namespace

MadeCodec make_lz4(const CodecSpec& spec, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t acceleration,
             Configuration(spec).integer("acceleration", INT32_MIN, INT32_MAX, 1));
  return std::make_unique<Lz4Codec>(static_cast<int>(acceleration));
}

}  // namespace zarrfs
