// lzma: .xz streams, or the older .lzma (format 3). Source: numcodecs.lzma, Python's lzma module.
// By liblzma.
#include <lzma.h>

#include <array>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

constexpr std::int64_t kFormatXz = 1;
constexpr std::int64_t kFormatAlone = 2;
constexpr std::uint64_t kMemoryLimit = std::uint64_t{512} << 20U;

class Lzma final : public Codec {
 public:
  Lzma(std::int64_t format, std::uint32_t preset, lzma_check check)
      : format_(format), preset_(preset), check_(check) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_auto_decoder(&stream, kMemoryLimit, LZMA_CONCATENATED) != LZMA_OK)
      return fail(Fault::kNoMemory, "codec lzma: no memory");
    auto out = run(stream, bytes, limit);
    lzma_end(&stream);
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_options_lzma options{};
    if (lzma_lzma_preset(&options, preset_))
      return fail(Fault::kInvalid, "codec lzma: preset " + std::to_string(preset_));
    const lzma_ret begun = format_ == kFormatAlone ? lzma_alone_encoder(&stream, &options)
                                                   : lzma_easy_encoder(&stream, preset_, check_);
    if (begun != LZMA_OK) return fail(Fault::kNoMemory, "codec lzma: no memory");
    auto out = run(stream, bytes, ~std::uint64_t{0});
    lzma_end(&stream);
    return out;
  }

 private:
  static Result<Bytes> run(lzma_stream& stream, ByteView bytes, std::uint64_t limit) {
    Bytes out;
    std::array<std::uint8_t, 1U << 16U> buffer;
    stream.next_in = bytes.data();
    stream.avail_in = bytes.size();
    for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
      stream.next_out = buffer.data();
      stream.avail_out = buffer.size();
      status = lzma_code(&stream, LZMA_FINISH);
      if (status != LZMA_OK && status != LZMA_STREAM_END)
        return fail(Fault::kDamaged, "codec lzma: the data are damaged or cut off");
      const std::size_t produced = buffer.size() - stream.avail_out;
      if (out.size() + produced > limit)
        return fail(Fault::kDamaged,
                    "codec lzma: the data expand to more than " + std::to_string(limit) + " bytes");
      out.insert(out.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(produced));
    }
    return out;
  }

  std::int64_t format_;
  std::uint32_t preset_;
  lzma_check check_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_lzma(const Json& configuration, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t format,
             integer_member(configuration, "lzma", "format", kFormatXz, kFormatXz, kFormatAlone));
  ZARRFS_TRY(const std::int64_t preset,
             integer_member(configuration, "lzma", "preset", LZMA_PRESET_DEFAULT, 0, 9));
  ZARRFS_TRY(const std::int64_t check, integer_member(configuration, "lzma", "check", -1, -1, 15));
  if (!configuration.value("filters", Json()).is_null())
    return fail(Fault::kUnsupported, "codec lzma: filters of its own");
  return std::make_unique<Lzma>(format, static_cast<std::uint32_t>(preset),
                                check < 0 ? LZMA_CHECK_CRC64 : static_cast<lzma_check>(check));
}

}  // namespace zarrfs
