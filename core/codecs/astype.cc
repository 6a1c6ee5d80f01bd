// Codecs that change the type of numbers: numcodecs.astype, numcodecs.quantize, cast_value.
// Source: numcodecs, astype and quantize; zarr-extensions, codecs/cast_value.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/element_numbers.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

class AsTypeCodec final : public Codec {
 public:
  explicit AsTypeCodec(DataType stored) : stored_(std::move(stored)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    for (const char* name : {"encode_dtype", "decode_dtype"}) {
      const auto type =
          stored_typestr(spelled_member(question.spec, name, nullptr), question.big_endian);
      if (!type) return std::nullopt;
      spelling.json[name] = *type;
    }
    return spelling;
  }
  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{stored_, decoded.shape};
  }
  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_elements("astype", bytes, {stored_, decoded.shape}));
    return convert_numbers(bytes, stored_, decoded.type);
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_elements("astype", bytes, decoded));
    return convert_numbers(bytes, decoded.type, stored_);
  }

 private:
  DataType stored_;
};

// ---- quantize --------------------------------------------------------------------------------

/// The power of two by which quantize multiplies so that `digits` decimal digits survive.
double quantize_scale(std::int64_t digits) {
  const double precision = std::pow(10.0, static_cast<double>(-digits));
  const double exponent = std::log10(precision);
  const double whole = exponent < 0 ? std::floor(exponent) : std::ceil(exponent);
  return std::exp2(std::ceil(std::log2(std::pow(10.0, -whole))));
}

class QuantizeCodec final : public Codec {
 public:
  QuantizeCodec(std::int64_t digits, DataType stored)
      : scale_(quantize_scale(digits)), stored_(std::move(stored)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["digits"] = spelled_member(question.spec, "digits", 0);
    if (!set_types(spelling.json, question)) return std::nullopt;
    spelling.identity = spelling.json["dtype"] == spelling.json["astype"];
    return spelling;
  }
  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{stored_, decoded.shape};
  }
  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_elements("quantize", bytes, {stored_, decoded.shape}));
    return convert_numbers(bytes, stored_, decoded.type);
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_elements("quantize", bytes, decoded));
    const Bytes elements =
        with_float_type(decoded.type, [&](auto one) { return quantized<decltype(one)>(bytes); });
    return convert_numbers(elements, decoded.type, stored_);
  }

 private:
  template <class T>
  [[nodiscard]] Bytes quantized(ByteView bytes) const {
    Bytes elements(bytes.begin(), bytes.end());
    using Number = decltype(number_of(T{}));
    const auto scale = number_of(element_of<T>(static_cast<Number>(scale_)));
    for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
      const auto product =
          number_of(element_of<T>(scale * number_of(load_element<T>(elements, i))));
      store_element(elements, i, element_of<T>(std::nearbyint(product) / scale));
    }
    return elements;
  }

  double scale_;
  DataType stored_;
};

// ---- cast_value ------------------------------------------------------------------------------

enum class Rounding {
  kNearestEven,
  kTowardsZero,
  kTowardsPositive,
  kTowardsNegative,
  kNearestAway
};
enum class OutOfRange { kError, kClamp, kWrap };

constexpr std::array<std::string_view, 5> kRoundings = {
    "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"};

double round_to_integer(double number, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven: return std::nearbyint(number);
    case Rounding::kTowardsZero: return std::trunc(number);
    case Rounding::kTowardsPositive: return std::ceil(number);
    case Rounding::kTowardsNegative: return std::floor(number);
    case Rounding::kNearestAway: break;
  }
  return std::round(number);
}

/// Nothing where the number cannot be cast.
template <class To>
std::optional<To> cast_to_integer(__int128 number, OutOfRange rule) {
  constexpr int kBits = std::numeric_limits<To>::digits;  // the sign not counted
  constexpr __int128 kHigh = (__int128{1} << kBits) - 1;
  constexpr __int128 kLow = std::is_signed_v<To> ? -kHigh - 1 : 0;
  if (number >= kLow && number <= kHigh) return static_cast<To>(number);
  if (rule == OutOfRange::kWrap) return static_cast<To>(number);
  if (rule == OutOfRange::kClamp) return static_cast<To>(number < kLow ? kLow : kHigh);
  return std::nullopt;
}

template <class To>
std::optional<To> cast_to_integer(double number, Rounding rounding, OutOfRange rule) {
  constexpr double kAnyInteger = 18446744073709551616.0;  // 2^64
  if (std::isnan(number)) return std::nullopt;
  double whole = round_to_integer(number, rounding);
  if (std::abs(whole) >= kAnyInteger) {
    if (rule == OutOfRange::kWrap && std::isfinite(whole))
      whole = std::fmod(whole, kAnyInteger);
    else if (rule == OutOfRange::kClamp)
      whole = whole < 0 ? -kAnyInteger : kAnyInteger;
    else
      return std::nullopt;
  }
  return cast_to_integer<To>(static_cast<__int128>(whole), rule);
}

template <class To, class From>
std::optional<To> cast_to_float(From number, OutOfRange rule) {
  const To element = element_of<To>(number);
  const bool overflow =
      std::isinf(number_of(element)) && std::isfinite(static_cast<double>(number));
  if (!overflow) return element;
  if (rule != OutOfRange::kClamp) return std::nullopt;
  constexpr double kLargestHalf = 65504;
  double largest = kLargestHalf;
  if constexpr (!std::is_same_v<To, Half>) largest = std::numeric_limits<To>::max();
  return element_of<To>(number < 0 ? -largest : largest);
}

class CastValueCodec final : public Codec {
 public:
  CastValueCodec(DataType stored, Rounding rounding, OutOfRange rule)
      : stored_(std::move(stored)), rounding_(rounding), rule_(rule) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }
  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{stored_, decoded.shape};
  }
  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_elements("cast_value", bytes, {stored_, decoded.shape}));
    return cast_all(bytes, stored_, decoded.type, Fault::kDamaged);
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_elements("cast_value", bytes, decoded));
    return cast_all(bytes, decoded.type, stored_, Fault::kInvalid);
  }

 private:
  [[nodiscard]] Result<Bytes> cast_all(ByteView bytes, const DataType& from, const DataType& to,
                                       Fault fault) const {
    return with_number_type(from, [&](auto from_element) {
      return with_number_type(to, [&](auto to_element) {
        return cast_elements<decltype(from_element), decltype(to_element)>(bytes, to, fault);
      });
    });
  }

  template <class To, class From>
  [[nodiscard]] std::optional<To> cast(From number) const {
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      return cast_to_integer<To>(static_cast<double>(number), rounding_, rule_);
    } else if constexpr (std::is_integral_v<To>) {
      return cast_to_integer<To>(static_cast<__int128>(number), rule_);
    } else if constexpr (std::is_same_v<To, BoolByte>) {
      return element_of<To>(number);
    } else {
      return cast_to_float<To>(number, rule_);
    }
  }

  template <class From, class To>
  [[nodiscard]] Result<Bytes> cast_elements(ByteView bytes, const DataType& to, Fault fault) const {
    const std::size_t count = bytes.size() / sizeof(From);
    Bytes elements(count * sizeof(To));
    for (std::size_t i = 0; i < count; ++i) {
      const auto element = cast<To>(number_of(load_element<From>(bytes, i)));
      if (!element) {
        return fail(fault, "cast_value: element " + std::to_string(i) + " does not fit " + to.name);
      }
      store_element(elements, i, *element);
    }
    return elements;
  }

  DataType stored_;
  Rounding rounding_;
  OutOfRange rule_;
};

}  // namespace

MadeCodec make_astype(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  ZARRFS_CHECK(require_numbers("astype", decoded.type));
  if (configuration.find("encode_dtype") == nullptr) {
    return configuration.refuse("encode_dtype", "is missing");
  }
  ZARRFS_TRY(DataType stored, configuration.numpy_type("encode_dtype", decoded.type));
  ZARRFS_CHECK(require_numbers("astype", stored));
  ZARRFS_TRY(const DataType shown, configuration.numpy_type("decode_dtype", decoded.type));
  ZARRFS_CHECK(require_same_type("astype", shown, decoded.type));
  return std::make_unique<AsTypeCodec>(std::move(stored));
}

MadeCodec make_quantize(const CodecSpec& spec, const Elements& decoded) {
  constexpr std::int64_t kMostDigits = 300;
  const Configuration configuration(spec);
  if (decoded.type.kind != TypeKind::kFloat) {
    return fail(Fault::kDamaged,
                "codec quantize: data type " + printable(decoded.type.name) + " is not a float");
  }
  ZARRFS_TRY(const std::int64_t digits,
             configuration.integer("digits", -kMostDigits, kMostDigits, std::nullopt));
  ZARRFS_TRY(const DataType dtype, configuration.numpy_type("dtype", decoded.type));
  ZARRFS_CHECK(require_same_type("quantize", dtype, decoded.type));
  ZARRFS_TRY(DataType stored, configuration.numpy_type("astype", dtype));
  ZARRFS_CHECK(require_numbers("quantize", stored));
  return std::make_unique<QuantizeCodec>(digits, std::move(stored));
}

MadeCodec make_cast_value(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  ZARRFS_CHECK(require_numbers("cast_value", decoded.type));
  const Json* type = configuration.find("data_type");
  if (type == nullptr) return configuration.refuse("data_type", "is missing");
  ZARRFS_TRY(DataType stored, parse_data_type(*type));
  ZARRFS_CHECK(require_numbers("cast_value", stored));
  if (configuration.find("scalar_map") != nullptr) {
    return fail(Fault::kUnsupported, "codec cast_value: scalar_map is not supported");
  }
  ZARRFS_TRY(const std::string rounding, configuration.string("rounding", "nearest-even"));
  const auto* const known = std::find(kRoundings.begin(), kRoundings.end(), rounding);
  if (known == kRoundings.end()) return configuration.refuse("rounding", "is not known");
  ZARRFS_TRY(const std::string rule, configuration.string("out_of_range", "error"));
  if (rule != "error" && rule != "clamp" && rule != "wrap") {
    return configuration.refuse("out_of_range", "is neither error, clamp nor wrap");
  }
  return std::make_unique<CastValueCodec>(std::move(stored),
                                          static_cast<Rounding>(known - kRoundings.begin()),
                                          rule == "clamp"  ? OutOfRange::kClamp
                                          : rule == "wrap" ? OutOfRange::kWrap
                                                           : OutOfRange::kError);
}

}  // namespace zarrfs
