// gzip and zlib: the same compression in two containers. Source: RFC 1950 to 1952; Zarr v3 core,
// codecs/gzip (several members may follow each other); numcodecs, zlib.
#include <zlib.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/output.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

constexpr int kWindow = 15;
constexpr int kGzip = 16;  // added to the window: the gzip container
constexpr int kMemory = 8;
/// zlib's lengths have 32 bits.
constexpr std::size_t kPiece = std::size_t{1} << 30U;

/// An inflate stream that is released with its scope.
class Inflater {
 public:
  explicit Inflater(int window) : ready_(inflateInit2(&stream_, window) == Z_OK) {}
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  [[nodiscard]] bool ready() const { return ready_; }

  /// Inflates one member at the start of `in` and takes it away from `in`.
  Result<void> inflate_member(ByteView& in, Output& out, const char* name) {
    inflateReset(&stream_);
    int status = Z_OK;
    while (status != Z_STREAM_END) {
      const ByteView piece = in.first(std::min(in.size(), kPiece));
      MutableByteView space = out.space();
      space = space.first(std::min(space.size(), kPiece));
      // zlib takes a pointer to non-const but only reads.
      stream_.next_in = const_cast<Bytef*>(piece.data());
      stream_.avail_in = static_cast<uInt>(piece.size());
      stream_.next_out = space.data();
      stream_.avail_out = static_cast<uInt>(space.size());
      status = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t produced = space.size() - stream_.avail_out;
      in = in.subspan(piece.size() - stream_.avail_in);
      out.filled(produced);
      if (status == Z_STREAM_END) break;
      if (status == Z_BUF_ERROR || (status == Z_OK && in.empty() && stream_.avail_out != 0)) {
        return fail(Fault::kDamaged, std::string(name) + ": it ends before its last byte");
      }
      if (status == Z_MEM_ERROR) return fail(Fault::kNoMemory, std::string(name) + ": no memory");
      if (status != Z_OK) {
        const char* reason = stream_.msg == nullptr ? "it needs a dictionary" : stream_.msg;
        return fail(Fault::kDamaged, std::string(name) + ": " + reason);
      }
      if (out.over_limit()) return {};
    }
    return {};
  }

 private:
  z_stream stream_{};
  bool ready_;
};

class DeflateCodec final : public Codec {
 public:
  DeflateCodec(const char* name, bool gzip, int level) : name_(name), gzip_(gzip), level_(level) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["level"] = spelled_member(question.spec, "level", 1);
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    Output out(limit, bytes.size());
    ZARRFS_CHECK(inflate_all(bytes, out));
    return out.take(name_);
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (bytes.size() > UINT32_MAX) {
      return fail(Fault::kUnsupported, std::string(name_) + ": " + std::to_string(bytes.size()) +
                                           " bytes are more than it takes at once");
    }
    z_stream stream{};
    if (deflateInit2(&stream, level_, Z_DEFLATED, window(), kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      return fail(Fault::kNoMemory, std::string(name_) + ": no memory to compress with");
    }
    Bytes out(deflateBound(&stream, bytes.size()));
    stream.next_in = const_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), UINT32_MAX));
    const int status = deflate(&stream, Z_FINISH);
    const std::size_t produced = stream.total_out;
    deflateEnd(&stream);
    if (status != Z_STREAM_END) {
      return fail(Fault::kUnsupported, std::string(name_) + ": it compresses to too many bytes");
    }
    out.resize(produced);
    return out;
  }

 private:
  [[nodiscard]] int window() const { return gzip_ ? kWindow + kGzip : kWindow; }

  Result<void> inflate_all(ByteView bytes, Output& out) const {
    if (bytes.empty()) return fail(Fault::kDamaged, std::string(name_) + ": there are no bytes");
    Inflater inflater(window());
    if (!inflater.ready()) return fail(Fault::kNoMemory, std::string(name_) + ": no memory");
    do {
      ZARRFS_CHECK(inflater.inflate_member(bytes, out, name_));
    } while (gzip_ && !bytes.empty() && !out.over_limit());
    if (bytes.empty() || out.over_limit()) return {};
    return fail(Fault::kDamaged,
                std::string(name_) + ": " + std::to_string(bytes.size()) + " bytes follow its end");
  }

  const char* name_;
  bool gzip_;
  int level_;
};

}  // namespace

MadeCodec make_gzip(const CodecSpec& spec, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t level, Configuration(spec).integer("level", -1, 9, 1));
  return std::make_unique<DeflateCodec>("gzip", true, static_cast<int>(level));
}

MadeCodec make_zlib(const CodecSpec& spec, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t level, Configuration(spec).integer("level", -1, 9, 1));
  return std::make_unique<DeflateCodec>("zlib", false, static_cast<int>(level));
}

}  // namespace zarrfs
