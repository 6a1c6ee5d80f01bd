// numcodecs.delta: each element less the one before it. Source: numcodecs, delta.
#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/element_numbers.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

/// a + b and a - b as numpy has them: integers wrap.
template <class T>
T sum(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    return element_of<Half>(number_of(a) + number_of(b));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return {static_cast<std::uint8_t>(number_of(a) | number_of(b))};
  }
}

template <class T>
T difference(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    return element_of<Half>(number_of(a) - number_of(b));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return a - b;
  } else {
    return {static_cast<std::uint8_t>(number_of(a) ^ number_of(b))};
  }
}

template <class T>
void accumulate(Bytes& elements) {
  for (std::size_t i = 1; i < elements.size() / sizeof(T); ++i) {
    store_element(elements, i, sum(load_element<T>(elements, i - 1), load_element<T>(elements, i)));
  }
}

template <class T>
Bytes differences(ByteView elements) {
  Bytes result(elements.begin(), elements.end());
  for (std::size_t i = 1; i < elements.size() / sizeof(T); ++i) {
    store_element(result, i,
                  difference(load_element<T>(elements, i), load_element<T>(elements, i - 1)));
  }
  return result;
}

/// "u1" for "|u1".
void drop_bar(Json& typestr) {
  const auto text = typestr.get<std::string>();
  if (text.starts_with('|')) typestr = text.substr(1);
}

class DeltaCodec final : public Codec {
 public:
  explicit DeltaCodec(DataType stored) : stored_(std::move(stored)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.elementwise = false;
    if (!set_types(spelling.json, question)) return std::nullopt;
    spelling.converts = spelling.json["dtype"] != spelling.json["astype"];
    // GDAL fails to undo delta of "|u1"; numcodecs takes either.
    drop_bar(spelling.json["dtype"]);
    drop_bar(spelling.json["astype"]);
    return spelling;
  }

  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{stored_, decoded.shape};
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_elements("delta", bytes, {stored_, decoded.shape}));
    Bytes elements = convert_numbers(bytes, stored_, decoded.type);
    with_number_type(decoded.type, [&](auto one) { accumulate<decltype(one)>(elements); });
    return elements;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_elements("delta", bytes, decoded));
    const Bytes elements =
        with_number_type(decoded.type, [&](auto one) { return differences<decltype(one)>(bytes); });
    return convert_numbers(elements, decoded.type, stored_);
  }

 private:
  DataType stored_;
};

}  // namespace

MadeCodec make_delta(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  ZARRFS_CHECK(require_numbers("delta", decoded.type));
  ZARRFS_TRY(const DataType dtype, configuration.numpy_type("dtype", decoded.type));
  ZARRFS_CHECK(require_same_type("delta", dtype, decoded.type));
  ZARRFS_TRY(DataType stored, configuration.numpy_type("astype", dtype));
  ZARRFS_CHECK(require_numbers("delta", stored));
  return std::make_unique<DeltaCodec>(std::move(stored));
}

}  // namespace zarrfs
