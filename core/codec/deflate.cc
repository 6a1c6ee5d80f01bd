// gzip and zlib. Source: RFC 1952, RFC 1950; Zarr v3 core, codecs/gzip; numcodecs.zlib. By zlib.
#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

constexpr int kWindow = 15;
constexpr int kGzipWindow = kWindow + 16;

class Deflate final : public Codec {
 public:
  Deflate(const char* name, int window, int level) : name_(name), window_(window), level_(level) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    Bytes out;
    ZARRFS_CHECK(inflate_all(bytes, limit, &out));
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    z_stream stream{};
    if (deflateInit2(&stream, level_, Z_DEFLATED, window_, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      return fail(Fault::kNoMemory, message("no memory"));
    Bytes out(deflateBound(&stream, bytes.size()));
    stream.next_in = const_cast<Bytef*>(bytes.data());
    stream.next_out = out.data();
    std::size_t left_in = bytes.size();
    std::size_t left_out = out.size();
    int status = Z_OK;
    while (status == Z_OK) {
      constexpr std::size_t kStep = std::size_t{1} << 30U;
      const auto in = static_cast<uInt>(std::min(left_in, kStep));
      const auto room = static_cast<uInt>(std::min(left_out, kStep));
      stream.avail_in = in;
      stream.avail_out = room;
      status = deflate(&stream, left_in <= kStep ? Z_FINISH : Z_NO_FLUSH);
      left_in -= in - stream.avail_in;
      left_out -= room - stream.avail_out;
    }
    deflateEnd(&stream);
    if (status != Z_STREAM_END) return fail(Fault::kIo, message("cannot compress"));
    out.resize(out.size() - left_out);
    return out;
  }

  [[nodiscard]] Result<void> check_whole(ByteView bytes) const override {
    return inflate_all(bytes, ~std::uint64_t{0}, nullptr);
  }

 private:
  [[nodiscard]] std::string message(const std::string& what) const {
    return std::string("codec ") + name_ + ": " + what;
  }

  /// Inflates all members of `bytes`, into `out` where that is given; at most `limit` bytes.
  [[nodiscard]] Result<void> inflate_all(ByteView bytes, std::uint64_t limit, Bytes* out) const {
    z_stream stream{};
    if (inflateInit2(&stream, window_) != Z_OK) return fail(Fault::kNoMemory, message("no memory"));
    auto result = inflate_members(stream, bytes, limit, out);
    inflateEnd(&stream);
    return result;
  }

  Result<void> inflate_members(z_stream& stream, ByteView bytes, std::uint64_t limit,
                               Bytes* out) const {
    std::array<std::uint8_t, 1U << 16U> buffer;
    std::uint64_t total = 0;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
      if (stream.avail_in == 0) {
        const std::size_t step = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30U);
        stream.next_in = const_cast<Bytef*>(bytes.data());
        stream.avail_in = static_cast<uInt>(step);
        bytes = bytes.subspan(step);
      }
      stream.next_out = buffer.data();
      stream.avail_out = static_cast<uInt>(buffer.size());
      status = inflate(&stream, Z_NO_FLUSH);
      if (status == Z_BUF_ERROR) return fail(Fault::kDamaged, message("the data are cut off"));
      if (status != Z_OK && status != Z_STREAM_END) {
        return fail(Fault::kDamaged,
                    message(stream.msg != nullptr ? stream.msg : "the data are damaged"));
      }
      const std::size_t produced = buffer.size() - stream.avail_out;
      total += produced;
      if (total > limit)
        return fail(Fault::kDamaged,
                    message("the data expand to more than " + std::to_string(limit) + " bytes"));
      if (out != nullptr)
        out->insert(out->end(), buffer.begin(),
                    buffer.begin() + static_cast<std::ptrdiff_t>(produced));
      const bool more = stream.avail_in > 0 || !bytes.empty();
      if (status == Z_STREAM_END && more) {  // another member, as gzip allows
        if (inflateReset(&stream) != Z_OK) return fail(Fault::kIo, message("cannot go on"));
        status = Z_OK;
      }
    }
    return {};
  }

  const char* name_;
  int window_;
  int level_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_gzip(const Json& configuration, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t level, integer_member(configuration, "gzip", "level", 1, -1, 9));
  return std::make_unique<Deflate>("gzip", kGzipWindow, static_cast<int>(level));
}

Result<std::unique_ptr<Codec>> make_zlib(const Json& configuration, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t level, integer_member(configuration, "zlib", "level", 1, -1, 9));
  return std::make_unique<Deflate>("zlib", kWindow, static_cast<int>(level));
}

}  // namespace zarrfs
