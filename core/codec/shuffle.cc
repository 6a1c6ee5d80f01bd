// shuffle: the bytes of elements sorted by their place in the element. Source: numcodecs.shuffle.
#include <algorithm>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

class Shuffle final : public Codec {
 public:
  explicit Shuffle(std::size_t size) : size_(size) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t /*limit*/) const override {
    Bytes out(bytes.begin(), bytes.end());  // bytes behind the last whole element stay
    const std::size_t count = bytes.size() / size_;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < size_; ++k) out[i * size_ + k] = bytes[k * count + i];
    }
    return out;
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    Bytes out(bytes.begin(), bytes.end());
    const std::size_t count = bytes.size() / size_;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < size_; ++k) out[k * count + i] = bytes[i * size_ + k];
    }
    return out;
  }

 private:
  std::size_t size_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_shuffle(const Json& configuration,
                                            const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t size,
             integer_member(configuration, "shuffle", "elementsize", 4, 1, 1 << 20));
  return std::make_unique<Shuffle>(static_cast<std::size_t>(size));
}

}  // namespace zarrfs
