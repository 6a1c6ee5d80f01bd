// delta, fixedscaleoffset and astype. Source: numcodecs.delta, numcodecs.fixedscaleoffset,
// numcodecs.astype, as zarr-python 3 stores them.
#include <cmath>

#include "core/codec/arithmetic.h"
#include "core/codec/factories.h"

namespace zarrfs {
namespace {

/// Reads elements of `from`, gives each to `act`, and writes what it returns as elements of `to`.
template <class Act>
Bytes map_elements(ByteView bytes, const DataType& from, const DataType& to, Act&& act) {
  const std::size_t count = bytes.size() / from.size;
  Bytes out(count * to.size);
  with_number_type(from, [&](auto in) {
    with_number_type(to, [&](auto target) {
      using In = decltype(in);
      using Out = decltype(target);
      for (std::size_t i = 0; i < count; ++i)
        store_element<Out>(out, i, act(load_element<In>(bytes, i), Out{}));
    });
  });
  return out;
}

/// A codec between elements of `decoded` and `encoded`, both numbers.
class NumberCodec : public Codec {
 public:
  NumberCodec(DataType decoded, DataType encoded)
      : decoded_(std::move(decoded)), encoded_(std::move(encoded)) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }
  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{encoded_, decoded.shape};
  }

 protected:
  DataType decoded_;
  DataType encoded_;
};

/// The first element as it is, then each as the difference to the one before; differences wrap as
/// integers do.
class Delta final : public NumberCodec {
 public:
  using NumberCodec::NumberCodec;

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t /*limit*/) const override {
    Bytes out;
    with_number_type(decoded_, [&](auto zero) {
      using Value = decltype(zero);
      Value sum{};
      out = map_elements(bytes, encoded_, decoded_, [&](auto difference, auto) {
        return sum = add(sum, convert<Value>(difference));
      });
    });
    return out;
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    Bytes out;
    with_number_type(decoded_, [&](auto zero) {
      using Value = decltype(zero);
      Value before{};
      out = map_elements(bytes, decoded_, encoded_, [&](auto value, auto target) {
        const Value difference = subtract(static_cast<Value>(value), before);
        before = static_cast<Value>(value);
        return convert<decltype(target)>(difference);
      });
    });
    return out;
  }

 private:
  template <class T>
  static T add(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    } else {
      return a + b;
    }
  }
  template <class T>
  static T subtract(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) -
                            static_cast<std::make_unsigned_t<T>>(b));
    } else {
      return a - b;
    }
  }
};

/// stored = round((value - offset) * scale).
class FixedScaleOffset final : public NumberCodec {
 public:
  FixedScaleOffset(DataType decoded, DataType encoded, double offset, double scale)
      : NumberCodec(std::move(decoded), std::move(encoded)), offset_(offset), scale_(scale) {}

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t /*limit*/) const override {
    return map_elements(bytes, encoded_, decoded_, [&](auto value, auto target) {
      using Target = decltype(target);
      if constexpr (std::is_same_v<decltype(value),
                                   float>) {  // numpy calculates in the stored type
        return convert<Target>(value / static_cast<float>(scale_) + static_cast<float>(offset_));
      } else {
        return convert<Target>(static_cast<double>(value) / scale_ + offset_);
      }
    });
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    return map_elements(bytes, decoded_, encoded_, [&](auto value, auto target) {
      using Target = decltype(target);
      if constexpr (std::is_same_v<decltype(value), float>) {
        return convert<Target>(
            std::nearbyint((value - static_cast<float>(offset_)) * static_cast<float>(scale_)));
      } else {
        return convert<Target>(std::nearbyint((static_cast<double>(value) - offset_) * scale_));
      }
    });
  }

 private:
  double offset_;
  double scale_;
};

class AsType final : public NumberCodec {
 public:
  using NumberCodec::NumberCodec;
  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t /*limit*/) const override {
    return map_elements(bytes, encoded_, decoded_,
                        [](auto value, auto target) { return convert<decltype(target)>(value); });
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    return map_elements(bytes, decoded_, encoded_,
                        [](auto value, auto target) { return convert<decltype(target)>(value); });
  }
};

struct Types {
  DataType decoded;
  DataType encoded;
};

/// The types before and after: the elements' own, and the one that the configuration names.
Result<Types> parse_types(const Json& configuration, const char* codec, const char* decoded_member,
                          const char* encoded_member, const Elements& decoded) {
  ZARRFS_TRY(DataType declared,
             numeric_type_member(configuration, codec, decoded_member, decoded.type));
  if (declared.kind != decoded.type.kind || declared.size != decoded.type.size) {
    return fail(Fault::kDamaged, std::string("codec ") + codec + ": " + decoded_member + " is " +
                                     declared.name + ", but the elements are " + decoded.type.name);
  }
  ZARRFS_TRY(DataType encoded, numeric_type_member(configuration, codec, encoded_member, declared));
  if (!with_number_type(declared, [](auto) {})) {
    return fail(Fault::kUnsupported,
                std::string("codec ") + codec + " for elements of type " + declared.name);
  }
  return Types{std::move(declared), std::move(encoded)};
}

Result<double> number_member(const Json& configuration, const char* codec, const char* member) {
  const Json value = configuration.value(member, Json());
  if (!value.is_number())
    return fail(Fault::kDamaged, std::string("codec ") + codec + ": " + member + " is " +
                                     printable(dump_json(value)));
  return value.get<double>();
}

}  // namespace

Result<std::unique_ptr<Codec>> make_delta(const Json& configuration, const Elements& decoded) {
  ZARRFS_TRY(Types types, parse_types(configuration, "delta", "dtype", "astype", decoded));
  return std::make_unique<Delta>(std::move(types.decoded), std::move(types.encoded));
}

Result<std::unique_ptr<Codec>> make_fixedscaleoffset(const Json& configuration,
                                                     const Elements& decoded) {
  ZARRFS_TRY(Types types,
             parse_types(configuration, "fixedscaleoffset", "dtype", "astype", decoded));
  ZARRFS_TRY(const double offset, number_member(configuration, "fixedscaleoffset", "offset"));
  ZARRFS_TRY(const double scale, number_member(configuration, "fixedscaleoffset", "scale"));
  if (scale == 0) return fail(Fault::kDamaged, "codec fixedscaleoffset: scale is 0");
  return std::make_unique<FixedScaleOffset>(std::move(types.decoded), std::move(types.encoded),
                                            offset, scale);
}

Result<std::unique_ptr<Codec>> make_astype(const Json& configuration, const Elements& decoded) {
  ZARRFS_TRY(Types types,
             parse_types(configuration, "astype", "decode_dtype", "encode_dtype", decoded));
  return std::make_unique<AsType>(std::move(types.decoded), std::move(types.encoded));
}

}  // namespace zarrfs
