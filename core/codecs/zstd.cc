// The zstd codec: one or more frames. Source: RFC 8878; zarr-extensions, codecs/zstd.
#include <zstd.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/output.h"
#include "core/codecs/v2_spelling.h"
#include "core/codecs/zstd_dictionary.h"

namespace zarrfs {
namespace {

constexpr int kMaxWindowLog = 31;
/// What a frame may claim as its size and get at once; larger ones grow as they decode.
constexpr std::uint64_t kTrusted = std::uint64_t{16} << 20U;
constexpr std::uint64_t kTrustedRatio = 256;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using Context = std::unique_ptr<ZSTD_DCtx, FreeContext>;
using Compressor = std::unique_ptr<ZSTD_CCtx, FreeContext>;

tl::unexpected<Error> damaged_frame(const std::string& reason) {
  return fail(Fault::kDamaged, "zstd: " + reason);
}

Result<Bytes> decode_at_once(ZSTD_DCtx* context, ByteView bytes, std::uint64_t size) {
  Bytes out(size);
  const std::size_t produced =
      ZSTD_decompressDCtx(context, out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(produced) != 0) return damaged_frame(ZSTD_getErrorName(produced));
  out.resize(produced);
  return out;
}

Result<Bytes> decode_in_pieces(ZSTD_DCtx* context, ByteView bytes, std::uint64_t limit) {
  ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kMaxWindowLog);
  Output out(limit, bytes.size());
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::size_t wanted = 1;  // 0 where a frame has just ended
  while (in.pos < in.size || wanted != 0) {
    const MutableByteView space = out.space();
    ZSTD_outBuffer buffer{space.data(), space.size(), 0};
    const std::size_t before = in.pos;
    wanted = ZSTD_decompressStream(context, &buffer, &in);
    if (ZSTD_isError(wanted) != 0) return damaged_frame(ZSTD_getErrorName(wanted));
    out.filled(buffer.pos);
    if (out.over_limit()) break;
    if (wanted != 0 && in.pos == before && buffer.pos == 0) {
      return damaged_frame("a frame ends before its last block");
    }
  }
  return out.take("zstd");
}

/// Walks the frames by their block headers: the sum of their content sizes, or nothing where a
/// frame does not tell its own; kDamaged where a frame is not whole.
Result<std::optional<std::uint64_t>> claimed_size(ByteView bytes) {
  if (bytes.empty()) return damaged_frame("there are no bytes");
  std::optional<std::uint64_t> sum = 0;
  while (!bytes.empty()) {
    const std::size_t frame = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(frame) != 0) {
      return damaged_frame(std::string("a frame is not whole: ") + ZSTD_getErrorName(frame));
    }
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    const bool known = sum && size != ZSTD_CONTENTSIZE_UNKNOWN;
    sum = known ? checked_add(*sum, size) : std::nullopt;
    bytes = bytes.subspan(frame);
  }
  return sum;
}

class ZstdCodec final : public Codec {
 public:
  ZstdCodec(int level, bool checksum) : level_(level), checksum_(checksum) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["level"] = spelled_member(question.spec, "level", 0);
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    ZARRFS_TRY(const std::optional<std::uint64_t> claimed, claimed_size(bytes));
    const Context context(ZSTD_createDCtx());
    if (!context) return fail(Fault::kNoMemory, "zstd: no memory to decompress with");
    if (!claimed) return decode_in_pieces(context.get(), bytes, limit);
    const std::uint64_t size = *claimed;
    if (size > limit) return over_limit_error("zstd", limit);
    if (size > kTrusted && size / kTrustedRatio > bytes.size()) {
      return decode_in_pieces(context.get(), bytes, limit);
    }
    return decode_at_once(context.get(), bytes, size);
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    const Compressor context(ZSTD_createCCtx());
    if (!context) return fail(Fault::kNoMemory, "zstd: no memory to compress with");
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level_);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum_ ? 1 : 0);
    Bytes out(ZSTD_compressBound(bytes.size()));
    const std::size_t produced =
        ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(produced) != 0) {
      return fail(Fault::kNoMemory, std::string("zstd: ") + ZSTD_getErrorName(produced));
    }
    out.resize(produced);
    return out;
  }

 private:
  int level_;
  bool checksum_;
};

}  // namespace

Result<Bytes> decode_zstd_with(ByteView dictionary, ByteView frame, std::size_t most) {
  const Context context(ZSTD_createDCtx());
  if (context == nullptr) return fail(Fault::kNoMemory, "zstd: out of memory");
  Bytes out(most);
  const std::size_t size =
      ZSTD_decompress_usingDict(context.get(), out.data(), out.size(), frame.data(), frame.size(),
                                dictionary.data(), dictionary.size());
  if (ZSTD_isError(size) != 0) return damaged_frame(ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

MadeCodec make_zstd(const CodecSpec& spec, const Elements& /*decoded*/) {
  const Configuration configuration(spec);
  ZARRFS_TRY(const std::int64_t level,
             configuration.integer("level", ZSTD_minCLevel(), ZSTD_maxCLevel(), 0));
  ZARRFS_TRY(const bool checksum, configuration.boolean("checksum", false));
  return std::make_unique<ZstdCodec>(static_cast<int>(level), checksum);
}

}  // namespace zarrfs
