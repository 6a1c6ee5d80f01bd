// Elements of few bits without the bits between them: packbits of Zarr v3 (lowest bit first), and
// numcodecs.packbits (booleans, highest bit first, behind a byte that counts the padding bits).
// Source: zarr-extensions, codecs/packbits; numcodecs, packbits.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/v2_spelling.h"
#include "core/types/small_float.h"

namespace zarrfs {
namespace {

Result<void> check_packed_size(const char* codec, ByteView bytes, std::uint64_t expected) {
  if (bytes.size() == expected) return {};
  return fail(Fault::kDamaged, std::string(codec) + ": " + std::to_string(bytes.size()) +
                                   " bytes where the chunk's elements take " +
                                   std::to_string(expected));
}

Result<void> check_padding(const char* codec, std::uint8_t stored, std::uint64_t expected) {
  if (stored == expected) return {};
  return fail(Fault::kDamaged, std::string(codec) + ": it notes " + std::to_string(stored) +
                                   " padding bits where there are " + std::to_string(expected));
}

// ---- packbits --------------------------------------------------------------------------------

/// How the elements of a data type are made of bits.
struct Components {
  unsigned number = 1;  ///< Of an element: 2 for complex numbers.
  unsigned bits = 0;    ///< Of a component, as far as they mean something.
  unsigned bytes = 0;   ///< Of a component in memory.
  bool has_sign = false;
};

Result<Components> components_of(const DataType& type) {
  const unsigned size = type.size;
  switch (type.kind) {
    case TypeKind::kBool: return Components{1, 1, 1, false};
    case TypeKind::kInt: return Components{1, size * 8, size, true};
    case TypeKind::kUint:
    case TypeKind::kFloat: return Components{1, size * 8, size, false};
    case TypeKind::kComplex: return Components{2, size * 4, size / 2, false};
    case TypeKind::kSmallInt: return Components{1, type.name == "int2" ? 2U : 4U, 1, true};
    case TypeKind::kSmallUint: return Components{1, type.name == "uint2" ? 2U : 4U, 1, false};
    case TypeKind::kSmallFloat:
    case TypeKind::kSmallComplex: {
      constexpr std::string_view kPair = "complex_";
      const bool pair = type.kind == TypeKind::kSmallComplex;
      const SmallFloat* format =
          find_small_float(std::string_view(type.name).substr(pair ? kPair.size() : 0));
      if (format != nullptr)
        return Components{pair ? 2U : 1U, format->bits(), format->size(), false};
      break;
    }
    default: break;
  }
  return fail(Fault::kDamaged,
              "codec packbits: data type " + printable(type.name) + " cannot be packed");
}

enum class Padding { kNone, kFirstByte, kLastByte };

struct Packing {
  Components components;
  unsigned first_bit = 0;
  unsigned width = 0;  ///< Bits that are stored of a component.
  Padding padding = Padding::kNone;

  /// Bits of `count` elements, which are few enough for that to fit 64 bits.
  [[nodiscard]] std::uint64_t total(std::uint64_t count) const {
    return count * components.number * width;
  }
};

std::uint64_t low_bits(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// Up to 64 bits at bit `at`, lowest first.
std::uint64_t read_bits(ByteView packed, std::uint64_t at, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned done = 0; done < width;) {
    const auto within = static_cast<unsigned>((at + done) % 8);
    const unsigned take = std::min(8 - within, width - done);
    const std::uint64_t bits = packed[(at + done) / 8] >> within & low_bits(take);
    value |= bits << done;
    done += take;
  }
  return value;
}

void write_bits(Bytes& packed, std::size_t first_byte, std::uint64_t at, unsigned width,
                std::uint64_t value) {
  for (unsigned done = 0; done < width;) {
    const auto within = static_cast<unsigned>((at + done) % 8);
    const unsigned take = std::min(8 - within, width - done);
    packed[first_byte + (at + done) / 8] |=
        static_cast<std::uint8_t>((value >> done & low_bits(take)) << within);
    done += take;
  }
}

class PackbitsCodec final : public Codec {
 public:
  explicit PackbitsCodec(Packing packing) : packing_(packing) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    const std::uint64_t count = decoded.count();
    ZARRFS_CHECK(check(bytes, count));
    const Components& parts = packing_.components;
    const ByteView packed = bytes.subspan(packing_.padding == Padding::kFirstByte ? 1 : 0);
    Bytes elements(decoded.bytes());
    for (std::uint64_t i = 0; i < count * parts.number; ++i) {
      const std::uint64_t value = component(read_bits(packed, i * packing_.width, packing_.width));
      std::memcpy(elements.data() + i * parts.bytes, &value, parts.bytes);
    }
    return elements;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_packed_size("packbits", bytes, decoded.bytes()));
    const std::uint64_t count = decoded.count();
    const Components& parts = packing_.components;
    const std::size_t first = packing_.padding == Padding::kFirstByte ? 1 : 0;
    Bytes packed(encoded_size(count));
    for (std::uint64_t i = 0; i < count * parts.number; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + i * parts.bytes, parts.bytes);
      if (parts.bits == 1) value = value != 0 ? 1 : 0;
      write_bits(packed, first, i * packing_.width, packing_.width, value >> packing_.first_bit);
    }
    const auto padding = static_cast<std::uint8_t>(padding_bits(count));
    if (packing_.padding == Padding::kFirstByte) packed.front() = padding;
    if (packing_.padding == Padding::kLastByte) packed.back() = padding;
    return packed;
  }

 private:
  [[nodiscard]] std::uint64_t padding_bits(std::uint64_t count) const {
    return (8 - packing_.total(count) % 8) % 8;
  }

  [[nodiscard]] std::uint64_t encoded_size(std::uint64_t count) const {
    return divide_up(packing_.total(count), 8) + (packing_.padding == Padding::kNone ? 0 : 1);
  }

  [[nodiscard]] Result<void> check(ByteView bytes, std::uint64_t count) const {
    ZARRFS_CHECK(check_packed_size("packbits", bytes, encoded_size(count)));
    if (packing_.padding == Padding::kNone) return {};
    const bool first = packing_.padding == Padding::kFirstByte;
    return check_padding("packbits", first ? bytes.front() : bytes.back(), padding_bits(count));
  }

  /// A component in memory: the stored bits at their place, signs extended.
  [[nodiscard]] std::uint64_t component(std::uint64_t stored) const {
    std::uint64_t value = stored << packing_.first_bit;
    const unsigned used = packing_.first_bit + packing_.width;
    const bool negative = packing_.components.has_sign && (value >> (used - 1U) & 1U) != 0;
    return negative ? value | ~low_bits(used) : value;
  }

  Packing packing_;
};

// ---- numcodecs.packbits ----------------------------------------------------------------------

class NumcodecsPackbitsCodec final : public Codec {
 public:
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.elementwise = false;
    return spelling;
  }

  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    Elements packed;
    ZARRFS_TRY(packed.type, parse_data_type("uint8"));
    packed.shape = {encoded_size(decoded.count())};
    return packed;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    const std::uint64_t count = decoded.count();
    ZARRFS_CHECK(check_packed_size("numcodecs.packbits", bytes, encoded_size(count)));
    ZARRFS_CHECK(check_padding("numcodecs.packbits", bytes[0], (8 - count % 8) % 8));
    Bytes elements(count);
    for (std::uint64_t i = 0; i < count; ++i) elements[i] = bytes[1 + i / 8] >> (7 - i % 8) & 1U;
    return elements;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    const std::uint64_t count = decoded.count();
    ZARRFS_CHECK(check_packed_size("numcodecs.packbits", bytes, count));
    Bytes packed(encoded_size(count));
    packed[0] = static_cast<std::uint8_t>((8 - count % 8) % 8);
    for (std::uint64_t i = 0; i < count; ++i) {
      const unsigned bit = bytes[i] != 0 ? 1 : 0;
      packed[1 + i / 8] |= static_cast<std::uint8_t>(bit << (7 - i % 8));
    }
    return packed;
  }

 private:
  static std::uint64_t encoded_size(std::uint64_t count) { return 1 + divide_up(count, 8); }
};

}  // namespace

MadeCodec make_packbits(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  Packing packing;
  ZARRFS_TRY(packing.components, components_of(decoded.type));
  const std::int64_t highest = packing.components.bits - 1;
  ZARRFS_TRY(const std::int64_t first, configuration.integer("first_bit", 0, highest, 0));
  ZARRFS_TRY(const std::int64_t last, configuration.integer("last_bit", first, highest, highest));
  packing.first_bit = static_cast<unsigned>(first);
  packing.width = static_cast<unsigned>(last - first + 1);
  ZARRFS_TRY(const std::string padding, configuration.string("padding_encoding", "none"));
  if (padding == "first_byte") packing.padding = Padding::kFirstByte;
  if (padding == "last_byte") packing.padding = Padding::kLastByte;
  if (padding != "none" && packing.padding == Padding::kNone) {
    return configuration.refuse("padding_encoding", "is neither first_byte, last_byte nor none");
  }
  return std::make_unique<PackbitsCodec>(packing);
}

MadeCodec make_numcodecs_packbits(const CodecSpec& spec, const Elements& decoded) {
  if (decoded.type.kind != TypeKind::kBool) {
    return fail(Fault::kDamaged, "codec " + spec.name + ": data type " +
                                     printable(decoded.type.name) + " is not bool");
  }
  return std::make_unique<NumcodecsPackbitsCodec>();
}

}  // namespace zarrfs
