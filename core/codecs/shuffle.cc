// numcodecs.shuffle: the first bytes of all items, then the second ones, and so on.
// Source: numcodecs, shuffle.
#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

class ShuffleCodec final : public Codec {
 public:
  explicit ShuffleCodec(std::size_t item_size) : item_size_(item_size) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["elementsize"] = spelled_member(question.spec, "elementsize", 4);
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    if (bytes.size() > limit) {
      return fail(Fault::kDamaged, "shuffle: " + std::to_string(bytes.size()) +
                                       " bytes are more than " + std::to_string(limit));
    }
    ZARRFS_CHECK(check(bytes));
    Bytes out(bytes.size());
    const std::size_t items = bytes.size() / item_size_;
    for (std::size_t byte = 0; byte < item_size_; ++byte) {
      for (std::size_t i = 0; i < items; ++i) out[i * item_size_ + byte] = bytes[byte * items + i];
    }
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    ZARRFS_CHECK(check(bytes));
    Bytes out(bytes.size());
    const std::size_t items = bytes.size() / item_size_;
    for (std::size_t byte = 0; byte < item_size_; ++byte) {
      for (std::size_t i = 0; i < items; ++i) out[byte * items + i] = bytes[i * item_size_ + byte];
    }
    return out;
  }

 private:
  [[nodiscard]] Result<void> check(ByteView bytes) const {
    if (bytes.size() % item_size_ == 0) return {};
    return fail(Fault::kDamaged, "shuffle: " + std::to_string(bytes.size()) +
                                     " bytes are not a multiple of elementsize " +
                                     std::to_string(item_size_));
  }

  std::size_t item_size_;
};

}  // namespace

MadeCodec make_shuffle(const CodecSpec& spec, const Elements& decoded) {
  const std::int64_t fallback = decoded.type.variable_length() ? 4 : decoded.type.size;
  ZARRFS_TRY(const std::int64_t size,
             Configuration(spec).integer("elementsize", 0, INT32_MAX, fallback));
  return std::make_unique<ShuffleCodec>(size < 1 ? 1 : static_cast<std::size_t>(size));
}

}  // namespace zarrfs
