// bitround: fractions rounded to some bits, so that they compress; decoding changes nothing.
// Source: numcodecs, bitround; zarr-extensions, codecs/bitround.
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/element_numbers.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

class BitroundCodec final : public Codec {
 public:
  /// `dropped` is the number of fraction bits that become zero.
  explicit BitroundCodec(unsigned dropped) : dropped_(dropped) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["keepbits"] = spelled_member(question.spec, "keepbits", 0);
    spelling.identity = true;
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_elements("bitround", bytes, decoded));
    return Bytes(bytes.begin(), bytes.end());
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_elements("bitround", bytes, decoded));
    Bytes elements(bytes.begin(), bytes.end());
    if (dropped_ == 0) return elements;
    if (decoded.type.size == 2) round_each<std::uint16_t>(elements);
    if (decoded.type.size == 4) round_each<std::uint32_t>(elements);
    if (decoded.type.size == 8) round_each<std::uint64_t>(elements);
    return elements;
  }

 private:
  /// Rounds to the nearest, ties to even, by adding to the bits as if they were an integer.
  template <class T>
  void round_each(Bytes& elements) const {
    const T half = (T{1} << (dropped_ - 1U)) - T{1};
    const T kept = static_cast<T>(static_cast<T>(~T{0}) >> dropped_ << dropped_);
    for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
      const T bits = load_element<T>(elements, i);
      const T last_kept = static_cast<T>(bits >> dropped_) & T{1};
      store_element(elements, i, static_cast<T>(static_cast<T>(bits + half + last_kept) & kept));
    }
  }

  unsigned dropped_;
};

}  // namespace

MadeCodec make_bitround(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  if (decoded.type.kind != TypeKind::kFloat) {
    return fail(Fault::kUnsupported,
                "codec bitround: data type " + printable(decoded.type.name) + " is not a float");
  }
  const std::int64_t fraction = decoded.type.size == 2 ? 10 : decoded.type.size == 4 ? 23 : 52;
  ZARRFS_TRY(const std::int64_t kept, configuration.integer("keepbits", 0, fraction, std::nullopt));
  return std::make_unique<BitroundCodec>(static_cast<unsigned>(fraction - kept));
}

}  // namespace zarrfs
