// bytes: elements in either byte order. Source: Zarr v3 core, codecs/bytes.
#include "core/codec/factories.h"

namespace zarrfs {
namespace {

class BytesCodec final : public Codec {
 public:
  explicit BytesCodec(bool big) : big_(big) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    if (bytes.size() != decoded.bytes()) {
      return fail(Fault::kDamaged, "codec bytes: " + std::to_string(bytes.size()) +
                                       " bytes instead of " + std::to_string(decoded.bytes()));
    }
    return turned(bytes, decoded);
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    return turned(bytes, decoded);
  }

 private:
  [[nodiscard]] Bytes turned(ByteView bytes, const Elements& decoded) const {
    Bytes out(bytes.begin(), bytes.end());
    if (big_) swap_elements(decoded.type, out);
    return out;
  }
  bool big_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_bytes(const Json& configuration, const Elements& decoded) {
  if (decoded.type.variable_length()) {
    return fail(Fault::kDamaged,
                "codec bytes: elements of type " + decoded.type.name + " have no fixed size");
  }
  const Json endian = configuration.value("endian", Json());
  // Structs may leave it out: little-endian, as zarr-python reads them.
  const bool needed = decoded.type.swap_unit() > 1 && decoded.type.kind != TypeKind::kStruct;
  if (endian.is_null() && needed) {
    return fail(Fault::kDamaged, "codec bytes: there is no endian, though data_type " +
                                     decoded.type.name + " has several bytes");
  }
  if (!endian.is_null() && endian != "little" && endian != "big") {
    return fail(Fault::kDamaged, "codec bytes: endian is " + printable(dump_json(endian)));
  }
  return std::make_unique<BytesCodec>(endian == "big");
}

}  // namespace zarrfs
