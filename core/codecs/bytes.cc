// The bytes codec: elements one after the other, in either byte order.
// Source: Zarr v3 core, codecs/bytes.
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"

namespace zarrfs {
namespace {

class BytesCodec final : public Codec {
 public:
  explicit BytesCodec(bool big_endian) : big_endian_(big_endian) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_length(bytes, decoded.bytes()));
    return in_order(bytes, decoded.type);
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    return in_order(bytes, decoded.type);
  }

 private:
  static Result<void> check_length(ByteView bytes, std::uint64_t expected) {
    if (bytes.size() == expected) return {};
    return fail(Fault::kDamaged, "bytes: " + std::to_string(bytes.size()) +
                                     " bytes where the chunk's elements take " +
                                     std::to_string(expected));
  }

  [[nodiscard]] Bytes in_order(ByteView bytes, const DataType& type) const {
    Bytes ordered(bytes.begin(), bytes.end());
    if (big_endian_) swap_elements(type, ordered);
    return ordered;
  }

  bool big_endian_;
};

}  // namespace

MadeCodec make_bytes(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  if (decoded.type.variable_length()) {
    return fail(Fault::kDamaged, "codec bytes: elements of data type " + decoded.type.name +
                                     " have no fixed length");
  }
  // Writers leave the order of structs out where it is little.
  const bool needs_order = decoded.type.swap_unit() > 1 && decoded.type.kind != TypeKind::kStruct;
  const auto fallback = needs_order ? std::nullopt : std::optional<std::string>("little");
  ZARRFS_TRY(const std::string endian, configuration.string("endian", fallback));
  if (endian != "little" && endian != "big") {
    return configuration.refuse("endian", "is neither little nor big");
  }
  return std::make_unique<BytesCodec>(endian == "big");
}

}  // namespace zarrfs
