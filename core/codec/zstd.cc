// zstd. Source: RFC 8878; zarr-extensions codecs/zstd. By libzstd.
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

Error zstd_error(const std::string& what) { return {Fault::kDamaged, "codec zstd: " + what}; }

class Zstd final : public Codec {
 public:
  Zstd(int level, bool checksum) : level_(level), checksum_(checksum) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                       ZSTD_freeDCtx);
    if (!context) return fail(Fault::kNoMemory, "codec zstd: no memory");
    Bytes out;
    const auto told = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (told == ZSTD_CONTENTSIZE_ERROR) return fail(zstd_error("there is no frame"));
    if (told != ZSTD_CONTENTSIZE_UNKNOWN && told > limit) return fail(too_long(limit));
    out.resize(told == ZSTD_CONTENTSIZE_UNKNOWN ? ZSTD_DStreamOutSize()
                                                : static_cast<std::size_t>(told));
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer target{out.data(), out.size(), 0};
    std::size_t wanted = 1;
    while (in.pos < in.size || wanted != 0) {
      if (target.pos == target.size && (in.pos < in.size || wanted != 0)) {
        if (out.size() > limit) return fail(too_long(limit));
        out.resize(std::max<std::size_t>(out.size() * 2, ZSTD_DStreamOutSize()));
        target = {out.data(), out.size(), target.pos};
      }
      const std::size_t before = in.pos + target.pos;
      wanted = ZSTD_decompressStream(context.get(), &target, &in);
      if (ZSTD_isError(wanted) != 0) return fail(zstd_error(ZSTD_getErrorName(wanted)));
      if (wanted != 0 && in.pos == in.size && in.pos + target.pos == before)
        return fail(zstd_error("the frame is cut off"));
    }
    if (target.pos > limit) return fail(too_long(limit));
    out.resize(target.pos);
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                       ZSTD_freeCCtx);
    if (!context) return fail(Fault::kNoMemory, "codec zstd: no memory");
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level_);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum_ ? 1 : 0);
    Bytes out(ZSTD_compressBound(bytes.size()));
    const std::size_t size =
        ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(size) != 0) return fail(zstd_error(ZSTD_getErrorName(size)));
    out.resize(size);
    return out;
  }

  [[nodiscard]] Result<void> check_whole(ByteView bytes) const override {
    do {
      const std::size_t frame = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
      if (ZSTD_isError(frame) != 0) return fail(zstd_error(ZSTD_getErrorName(frame)));
      bytes = bytes.subspan(frame);
    } while (!bytes.empty());
    return {};
  }

 private:
  static Error too_long(std::uint64_t limit) {
    return zstd_error("the data expand to more than " + std::to_string(limit) + " bytes");
  }

  int level_;
  bool checksum_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_zstd(const Json& configuration, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t level,
             integer_member(configuration, "zstd", "level", 0, -131072, 22));
  const Json checksum = configuration.value("checksum", Json(false));
  if (!checksum.is_boolean())
    return fail(Fault::kDamaged, "codec zstd: checksum is " + printable(dump_json(checksum)));
  return std::make_unique<Zstd>(static_cast<int>(level), checksum.get<bool>());
}

}  // namespace zarrfs
