// lz4 as numcodecs stores it: the decoded length (uint32, little-endian), then one LZ4 block. By
// liblz4.
#include <lz4.h>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

constexpr std::size_t kPrefix = 4;

class Lz4 final : public Codec {
 public:
  explicit Lz4(int acceleration) : acceleration_(acceleration) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    if (bytes.size() < kPrefix)
      return fail(Fault::kDamaged,
                  "codec lz4: " + std::to_string(bytes.size()) + " bytes hold no length");
    const auto size = load_little<std::uint32_t>(bytes);
    if (size > limit || size > LZ4_MAX_INPUT_SIZE || bytes.size() > LZ4_MAX_INPUT_SIZE) {
      return fail(Fault::kDamaged, "codec lz4: the data expand to " + std::to_string(size) +
                                       " bytes, more than " + std::to_string(limit));
    }
    Bytes out(size);
    const int written = LZ4_decompress_safe(
        reinterpret_cast<const char*>(bytes.data() + kPrefix), reinterpret_cast<char*>(out.data()),
        static_cast<int>(bytes.size() - kPrefix), static_cast<int>(size));
    if (written < 0 || static_cast<std::uint32_t>(written) != size)
      return fail(Fault::kDamaged, "codec lz4: the data are damaged");
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (bytes.size() > LZ4_MAX_INPUT_SIZE)
      return fail(Fault::kTooBig,
                  "codec lz4: a chunk of " + std::to_string(bytes.size()) + " bytes");
    Bytes out;
    append_little(out, static_cast<std::uint32_t>(bytes.size()));
    const int room = LZ4_compressBound(static_cast<int>(bytes.size()));
    out.resize(kPrefix + static_cast<std::size_t>(room));
    const int written = LZ4_compress_fast(reinterpret_cast<const char*>(bytes.data()),
                                          reinterpret_cast<char*>(out.data() + kPrefix),
                                          static_cast<int>(bytes.size()), room, acceleration_);
    if (written <= 0) return fail(Fault::kIo, "codec lz4: cannot compress");
    out.resize(kPrefix + static_cast<std::size_t>(written));
    return out;
  }

 private:
  int acceleration_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_lz4(const Json& configuration, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t acceleration,
             integer_member(configuration, "lz4", "acceleration", 1, -65537, 65537));
  return std::make_unique<Lz4>(static_cast<int>(acceleration));
}

}  // namespace zarrfs
