// bz2. Source: numcodecs.bz2. By libbz2.
#include <bzlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 30U;

class Bz2 final : public Codec {
 public:
  explicit Bz2(int level) : level_(level) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    Bytes out;
    do {  // one stream after the other
      bz_stream stream{};
      if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK)
        return fail(Fault::kNoMemory, "codec bz2: no memory");
      auto rest = decode_stream(stream, bytes, limit, out);
      BZ2_bzDecompressEnd(&stream);
      if (!rest) return fail(rest.error());
      bytes = *rest;
    } while (!bytes.empty());
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (bytes.size() > std::numeric_limits<unsigned>::max() / 2)
      return fail(Fault::kTooBig,
                  "codec bz2: a chunk of " + std::to_string(bytes.size()) + " bytes");
    Bytes out(bytes.size() + bytes.size() / 100 + 600);
    auto size = static_cast<unsigned>(out.size());
    auto* source = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    if (BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &size, source,
                                 static_cast<unsigned>(bytes.size()), level_, 0, 0) != BZ_OK) {
      return fail(Fault::kIo, "codec bz2: cannot compress");
    }
    out.resize(size);
    return out;
  }

 private:
  /// Appends one stream's data to `out`; returns the bytes behind it.
  static Result<ByteView> decode_stream(bz_stream& stream, ByteView bytes, std::uint64_t limit,
                                        Bytes& out) {
    std::array<char, 1U << 16U> buffer;
    for (int status = BZ_OK; status != BZ_STREAM_END;) {
      const std::size_t in = std::min(bytes.size(), kStep);
      stream.next_in = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
      stream.avail_in = static_cast<unsigned>(in);
      stream.next_out = buffer.data();
      stream.avail_out = static_cast<unsigned>(buffer.size());
      status = BZ2_bzDecompress(&stream);
      if (status != BZ_OK && status != BZ_STREAM_END)
        return fail(Fault::kDamaged, "codec bz2: the data are damaged");
      const std::size_t produced = buffer.size() - stream.avail_out;
      const std::size_t consumed = in - stream.avail_in;
      if (status == BZ_OK && produced == 0 && consumed == 0)
        return fail(Fault::kDamaged, "codec bz2: the data are cut off");
      out.insert(out.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(produced));
      if (out.size() > limit)
        return fail(Fault::kDamaged,
                    "codec bz2: the data expand to more than " + std::to_string(limit) + " bytes");
      bytes = bytes.subspan(consumed);
    }
    return bytes;
  }

  int level_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_bz2(const Json& configuration, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t level, integer_member(configuration, "bz2", "level", 1, 1, 9));
  return std::make_unique<Bz2>(static_cast<int>(level));
}

}  // namespace zarrfs
