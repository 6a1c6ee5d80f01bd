// The blosc codec, version 1 of the format. Source: Zarr v3 core, codecs/blosc; numcodecs, blosc.
// Only the functions of the library that take a context of their own are used: they share nothing.
#include <blosc.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/output.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 6> kCompressors = {"blosclz", "lz4",  "lz4hc",
                                                          "snappy",  "zlib", "zstd"};

struct Settings {
  std::string compressor;
  int level = 5;
  int shuffle = BLOSC_SHUFFLE;
  std::size_t type_size = 1;
  std::size_t block_size = 0;
};

class BloscCodec final : public Codec {
 public:
  explicit BloscCodec(Settings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    Json& json = spelling.json;
    json["cname"] = spelled_text(question.spec, "cname", "lz4");
    json["clevel"] = spelled_member(question.spec, "clevel", 5);
    json["shuffle"] = settings_.shuffle;
    json["blocksize"] = spelled_member(question.spec, "blocksize", 0);
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    ZARRFS_TRY(const std::size_t size, decoded_size(bytes));
    if (size > limit) return over_limit_error("blosc", limit);
    Bytes out(size);
    const int produced = blosc_decompress_ctx(bytes.data(), out.data(), out.size(), 1);
    if (produced < 0 || static_cast<std::size_t>(produced) != size) {
      return fail(Fault::kDamaged, "blosc: a block of the " + std::to_string(bytes.size()) +
                                       " bytes is damaged or of a compressor that is not built in");
    }
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (bytes.size() > BLOSC_MAX_BUFFERSIZE) {
      return fail(Fault::kUnsupported, "blosc: " + std::to_string(bytes.size()) +
                                           " bytes are more than it takes, " +
                                           std::to_string(BLOSC_MAX_BUFFERSIZE));
    }
    Bytes out(bytes.size() + BLOSC_MAX_OVERHEAD);
    const int produced = blosc_compress_ctx(settings_.level, settings_.shuffle, settings_.type_size,
                                            bytes.size(), bytes.data(), out.data(), out.size(),
                                            settings_.compressor.c_str(), settings_.block_size, 1);
    if (produced <= 0) {
      return fail(Fault::kUnsupported,
                  "blosc: compressor " + settings_.compressor + " is not built in");
    }
    out.resize(static_cast<std::size_t>(produced));
    return out;
  }

 private:
  /// The size that the header gives, once the header agrees with itself and the bytes' number.
  static Result<std::size_t> decoded_size(ByteView bytes) {
    std::size_t size = 0;
    if (bytes.size() < BLOSC_MIN_HEADER_LENGTH ||
        blosc_cbuffer_validate(bytes.data(), bytes.size(), &size) < 0) {
      return fail(Fault::kDamaged,
                  "blosc: the header is not that of " + std::to_string(bytes.size()) + " bytes");
    }
    return size;
  }

  Settings settings_;
};

/// noshuffle, shuffle, bitshuffle of Zarr v3, or the numbers of numcodecs (-1: by the type's size).
Result<int> parse_shuffle(const Configuration& configuration, std::size_t type_size) {
  const Json* spelled = configuration.find("shuffle");
  if (spelled == nullptr) return BLOSC_SHUFFLE;
  if (*spelled == "noshuffle" || *spelled == 0) return BLOSC_NOSHUFFLE;
  if (*spelled == "shuffle" || *spelled == 1) return BLOSC_SHUFFLE;
  if (*spelled == "bitshuffle" || *spelled == 2) return BLOSC_BITSHUFFLE;
  if (*spelled == -1) return type_size == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
  return configuration.refuse("shuffle", "is not noshuffle, shuffle or bitshuffle");
}

}  // namespace

MadeCodec make_blosc(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  Settings settings;
  ZARRFS_TRY(settings.compressor, configuration.string("cname", "lz4"));
  if (std::find(kCompressors.begin(), kCompressors.end(), settings.compressor) ==
      kCompressors.end()) {
    return configuration.refuse("cname", "is not a compressor of blosc");
  }
  const std::int64_t element = std::clamp<std::int64_t>(decoded.type.size, 1, INT32_MAX);
  ZARRFS_TRY(const std::int64_t level, configuration.integer("clevel", 0, 9, 5));
  ZARRFS_TRY(const std::int64_t size, configuration.integer("typesize", 0, INT32_MAX, element));
  ZARRFS_TRY(const std::int64_t block, configuration.integer("blocksize", 0, INT32_MAX, 0));
  settings.level = static_cast<int>(level);
  // The format has one byte for it.
  settings.type_size = size < 1 || size > BLOSC_MAX_TYPESIZE ? 1 : static_cast<std::size_t>(size);
  settings.block_size = static_cast<std::size_t>(block);
  ZARRFS_TRY(settings.shuffle, parse_shuffle(configuration, settings.type_size));
  return std::make_unique<BloscCodec>(std::move(settings));
}

}  // namespace zarrfs
