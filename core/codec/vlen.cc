// vlen-utf8 and vlen-bytes: uint32 count, then each item as uint32 length and bytes. Source:
// zarr-extensions codecs/vlen-utf8 and vlen-bytes, numcodecs.vlen. The wire format is the form in
// memory too.
#include "core/codec/factories.h"

namespace zarrfs {
namespace {

class Vlen final : public Codec {
 public:
  explicit Vlen(const char* name) : name_(name) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    ZARRFS_CHECK(check_whole(bytes));
    if (const auto count = load_little<std::uint32_t>(bytes); count != decoded.count()) {
      return fail(Fault::kDamaged, message(std::to_string(count) + " items instead of " +
                                           std::to_string(decoded.count())));
    }
    return Bytes(bytes.begin(), bytes.end());
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    return decode(bytes, decoded, 0);
  }

  [[nodiscard]] Result<void> check_whole(ByteView bytes) const override {
    if (bytes.size() < 4)
      return fail(Fault::kDamaged, message(std::to_string(bytes.size()) + " bytes hold no count"));
    const auto count = load_little<std::uint32_t>(bytes);
    bytes = bytes.subspan(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (bytes.size() < 4 || bytes.size() - 4 < load_little<std::uint32_t>(bytes)) {
        return fail(Fault::kDamaged, message("item " + std::to_string(i) + " of " +
                                             std::to_string(count) + " is cut off"));
      }
      bytes = bytes.subspan(4 + std::size_t{load_little<std::uint32_t>(bytes)});
    }
    return {};
  }

 private:
  [[nodiscard]] std::string message(const std::string& what) const {
    return std::string("codec ") + name_ + ": " + what;
  }
  const char* name_;
};

Result<std::unique_ptr<Codec>> make_vlen(const char* name, const Elements& decoded) {
  if (!decoded.type.variable_length()) {
    return fail(Fault::kDamaged, std::string("codec ") + name + ": elements of type " +
                                     decoded.type.name + " have a fixed size");
  }
  return std::make_unique<Vlen>(name);
}

}  // namespace

Result<std::unique_ptr<Codec>> make_vlen_utf8(const Json& /*configuration*/,
                                              const Elements& decoded) {
  return make_vlen("vlen-utf8", decoded);
}
Result<std::unique_ptr<Codec>> make_vlen_bytes(const Json& /*configuration*/,
                                               const Elements& decoded) {
  return make_vlen("vlen-bytes", decoded);
}

}  // namespace zarrfs
