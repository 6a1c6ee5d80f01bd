// Codecs that scale: numcodecs.fixedscaleoffset and scale_offset.
// Source: numcodecs, fixedscaleoffset; zarr-extensions, codecs/scale_offset.
#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/element_numbers.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

/// The type that numpy calculates in when an array of `type` meets a float: its own type for
/// floats, float64 for integers.
DataType working_type(const DataType& type) {
  if (type.kind == TypeKind::kFloat) return type;
  DataType working;
  working.kind = TypeKind::kFloat;
  working.name = "float64";
  working.size = sizeof(double);
  return working;
}

/// The type in which a number rounds: float for Half, which numpy rounds after each operation.
template <class T>
using Arithmetic = decltype(number_of(T{}));

template <class T>
Arithmetic<T> rounded(Arithmetic<T> number) {
  return number_of(element_of<T>(number));
}

/// (x - offset) * scale, each operation rounded to T.
template <class T>
Arithmetic<T> scaled(T element, double offset, double scale) {
  const auto factor = rounded<T>(static_cast<Arithmetic<T>>(scale));
  const auto shift = rounded<T>(static_cast<Arithmetic<T>>(offset));
  return rounded<T>(rounded<T>(number_of(element) - shift) * factor);
}

/// x / scale + offset, each operation rounded to T.
template <class T>
Arithmetic<T> unscaled(T element, double offset, double scale) {
  const auto factor = rounded<T>(static_cast<Arithmetic<T>>(scale));
  const auto shift = rounded<T>(static_cast<Arithmetic<T>>(offset));
  return rounded<T>(rounded<T>(number_of(element) / factor) + shift);
}

template <class T, class Change>
void change_each(Bytes& elements, const Change& change) {
  for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
    store_element(elements, i, element_of<T>(change(load_element<T>(elements, i))));
  }
}

class FixedScaleOffsetCodec final : public Codec {
 public:
  FixedScaleOffsetCodec(double offset, double scale, DataType stored)
      : offset_(offset), scale_(scale), stored_(std::move(stored)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["offset"] = spelled_member(question.spec, "offset", 0);
    spelling.json["scale"] = spelled_member(question.spec, "scale", 1);
    if (!set_types(spelling.json, question)) return std::nullopt;
    return spelling;
  }

  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{stored_, decoded.shape};
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_elements("fixedscaleoffset", bytes, {stored_, decoded.shape}));
    const DataType working = working_type(stored_);
    Bytes elements = convert_numbers(bytes, stored_, working);
    with_float_type(working, [&](auto one) {
      using T = decltype(one);
      change_each<T>(elements, [&](T element) { return unscaled(element, offset_, scale_); });
    });
    return convert_numbers(elements, working, decoded.type);
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_elements("fixedscaleoffset", bytes, decoded));
    const DataType working = working_type(decoded.type);
    Bytes elements = convert_numbers(bytes, decoded.type, working);
    with_float_type(working, [&](auto one) {
      using T = decltype(one);
      change_each<T>(elements,
                     [&](T element) { return std::nearbyint(scaled(element, offset_, scale_)); });
    });
    return convert_numbers(elements, working, stored_);
  }

 private:
  double offset_;
  double scale_;
  DataType stored_;
};

/// scale_offset calculates in the type of the elements, integers too.
class ScaleOffsetCodec final : public Codec {
 public:
  ScaleOffsetCodec(Bytes offset, Bytes scale)
      : offset_(std::move(offset)), scale_(std::move(scale)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_elements("scale_offset", bytes, decoded));
    if (decoded.type.kind != TypeKind::kFloat) {
      return with_integer_type(decoded.type,
                               [&](auto one) { return divide_integers<decltype(one)>(bytes); });
    }
    return with_float_type(decoded.type, [&](auto one) {
      using T = decltype(one);
      return scale_floats<T>(bytes, [&](T element) {
        return unscaled(element, double_of<T>(offset_), double_of<T>(scale_));
      });
    });
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_elements("scale_offset", bytes, decoded));
    if (decoded.type.kind != TypeKind::kFloat) {
      return with_integer_type(decoded.type,
                               [&](auto one) { return multiply_integers<decltype(one)>(bytes); });
    }
    return with_float_type(decoded.type, [&](auto one) {
      using T = decltype(one);
      return scale_floats<T>(bytes, [&](T element) {
        return scaled(element, double_of<T>(offset_), double_of<T>(scale_));
      });
    });
  }

 private:
  template <class T>
  static double double_of(const Bytes& element) {
    return static_cast<double>(number_of(load_element<T>(element, 0)));
  }

  template <class T, class Change>
  static Result<Bytes> scale_floats(ByteView bytes, const Change& change) {
    Bytes elements(bytes.begin(), bytes.end());
    change_each<T>(elements, change);
    return elements;
  }

  template <class T>
  Result<Bytes> multiply_integers(ByteView bytes) const {
    const T offset = load_element<T>(offset_, 0);
    const T scale = load_element<T>(scale_, 0);
    Bytes elements(bytes.begin(), bytes.end());
    for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
      T result = load_element<T>(bytes, i);
      if (__builtin_sub_overflow(result, offset, &result) ||
          __builtin_mul_overflow(result, scale, &result)) {
        return fail(Fault::kInvalid,
                    "scale_offset: element " + std::to_string(i) + " does not fit when scaled");
      }
      store_element(elements, i, result);
    }
    return elements;
  }

  template <class T>
  Result<Bytes> divide_integers(ByteView bytes) const {
    const T offset = load_element<T>(offset_, 0);
    const T scale = load_element<T>(scale_, 0);
    Bytes elements(bytes.begin(), bytes.end());
    for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
      const T stored = load_element<T>(bytes, i);
      T result = 0;
      // Dividing the smallest number by -1 is the one division that overflows.
      const bool divides =
          std::is_signed_v<T> && scale == static_cast<T>(-1)
              ? !__builtin_sub_overflow(T{0}, stored, &result)
              : stored % scale == 0 && ((result = static_cast<T>(stored / scale)), true);
      if (!divides || __builtin_add_overflow(result, offset, &result)) {
        return fail(Fault::kDamaged, "scale_offset: element " + std::to_string(i) +
                                         " is not a scaled integer of its type");
      }
      store_element(elements, i, result);
    }
    return elements;
  }

  Bytes offset_;
  Bytes scale_;
};

}  // namespace

MadeCodec make_fixed_scale_offset(const CodecSpec& spec, const Elements& decoded) {
  constexpr const char* kName = "fixedscaleoffset";
  const Configuration configuration(spec);
  ZARRFS_CHECK(require_numbers(kName, decoded.type));
  ZARRFS_TRY(const double offset, configuration.number("offset"));
  ZARRFS_TRY(const double scale, configuration.number("scale"));
  ZARRFS_TRY(const DataType dtype, configuration.numpy_type("dtype", decoded.type));
  ZARRFS_CHECK(require_same_type(kName, dtype, decoded.type));
  ZARRFS_TRY(DataType stored, configuration.numpy_type("astype", dtype));
  ZARRFS_CHECK(require_numbers(kName, stored));
  return std::make_unique<FixedScaleOffsetCodec>(offset, scale, std::move(stored));
}

MadeCodec make_scale_offset(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  ZARRFS_CHECK(require_numbers("scale_offset", decoded.type));
  if (decoded.type.kind == TypeKind::kBool) {
    return fail(Fault::kDamaged, "codec scale_offset: booleans have no scale");
  }
  const Json* offset = configuration.find("offset");
  const Json* scale = configuration.find("scale");
  ZARRFS_TRY(Bytes shift, parse_fill_value(decoded.type, offset ? *offset : Json(0), false));
  ZARRFS_TRY(Bytes factor, parse_fill_value(decoded.type, scale ? *scale : Json(1), false));
  if (factor == Bytes(decoded.type.size, 0)) return configuration.refuse("scale", "is zero");
  return std::make_unique<ScaleOffsetCodec>(std::move(shift), std::move(factor));
}

}  // namespace zarrfs
