// numcodecs.bz2: one or more bzip2 streams. Source: numcodecs, bz2.
#include <bzlib.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/output.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

/// The library's lengths have 32 bits.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;

tl::unexpected<Error> damaged_stream(const std::string& reason) {
  return fail(Fault::kDamaged, "bz2: " + reason);
}

/// A decompression stream that is released with its scope.
class Decompressor {
 public:
  Decompressor() : ready_(BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK) {}
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() {
    if (ready_) BZ2_bzDecompressEnd(&stream_);
  }

  /// Decompresses the stream at the start of `in` and takes it away from `in`.
  Result<void> run(ByteView& in, Output& out) {
    if (!ready_) return fail(Fault::kNoMemory, "bz2: no memory to decompress with");
    int status = BZ_OK;
    while (status != BZ_STREAM_END && !out.over_limit()) {
      const ByteView piece = in.first(std::min(in.size(), kMostAtOnce));
      MutableByteView space = out.space();
      space = space.first(std::min(space.size(), kMostAtOnce));
      // The library takes pointers to non-const but only reads.
      stream_.next_in = reinterpret_cast<char*>(const_cast<std::uint8_t*>(piece.data()));
      stream_.avail_in = static_cast<unsigned>(piece.size());
      stream_.next_out = reinterpret_cast<char*>(space.data());
      stream_.avail_out = static_cast<unsigned>(space.size());
      status = BZ2_bzDecompress(&stream_);
      if (status == BZ_MEM_ERROR) return fail(Fault::kNoMemory, "bz2: no memory");
      if (status != BZ_OK && status != BZ_STREAM_END) return damaged_stream("a block is damaged");
      in = in.subspan(piece.size() - stream_.avail_in);
      out.filled(space.size() - stream_.avail_out);
      if (status == BZ_OK && in.empty() && stream_.avail_out != 0) {
        return damaged_stream("it ends before its last block");
      }
    }
    return {};
  }

 private:
  bz_stream stream_{};
  bool ready_;
};

Result<void> decompress_all(ByteView bytes, Output& out) {
  if (bytes.empty()) return damaged_stream("there are no bytes");
  while (!bytes.empty() && !out.over_limit()) {
    Decompressor stream;
    ZARRFS_CHECK(stream.run(bytes, out));
  }
  return {};
}

class Bz2Codec final : public Codec {
 public:
  explicit Bz2Codec(int level) : level_(level) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["level"] = spelled_member(question.spec, "level", 1);
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    Output out(limit, bytes.size());
    ZARRFS_CHECK(decompress_all(bytes, out));
    return out.take("bz2");
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (bytes.size() > kMostAtOnce) {
      return fail(Fault::kUnsupported,
                  "bz2: " + std::to_string(bytes.size()) + " bytes are more than it takes at once");
    }
    // The bound that the library's manual gives.
    Bytes out(bytes.size() + bytes.size() / 100 + 600);
    auto produced = static_cast<unsigned>(out.size());
    char* const in = reinterpret_cast<char*>(const_cast<std::uint8_t*>(bytes.data()));
    const int status = BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &produced, in,
                                                static_cast<unsigned>(bytes.size()), level_, 0, 0);
    if (status != BZ_OK) return fail(Fault::kNoMemory, "bz2: no memory to compress with");
    out.resize(produced);
    return out;
  }

 private:
  int level_;
};

}  // namespace

MadeCodec make_bz2(const CodecSpec& spec, const Elements& /*decoded*/) {
  ZARRFS_TRY(const std::int64_t level, Configuration(spec).integer("level", 1, 9, 1));
  return std::make_unique<Bz2Codec>(static_cast<int>(level));
}

}  // namespace zarrfs
