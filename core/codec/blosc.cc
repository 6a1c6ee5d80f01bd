// blosc. Source: Zarr v3 core, codecs/blosc; the Blosc1 container format. By c-blosc, its
// thread-safe calls only.
#include <blosc.h>

#include <array>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

constexpr std::array<const char*, 6> kCompressors = {"lz4",  "lz4hc",  "blosclz",
                                                     "zstd", "snappy", "zlib"};

class Blosc final : public Codec {
 public:
  struct Settings {
    std::string compressor;
    int level = 5;
    int shuffle = 1;
    std::size_t typesize = 1;
    std::size_t blocksize = 0;
  };
  explicit Blosc(Settings settings) : settings_(std::move(settings)) {}
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    ZARRFS_CHECK(check_whole(bytes));
    std::size_t size = 0;
    if (blosc_cbuffer_validate(bytes.data(), bytes.size(), &size) != 0)
      return fail(Fault::kDamaged, "codec blosc: the container is damaged");
    if (size > limit)
      return fail(Fault::kDamaged, "codec blosc: the data expand to " + std::to_string(size) +
                                       " bytes, more than " + std::to_string(limit));
    Bytes out(size);
    const int written =
        size == 0 ? 0 : blosc_decompress_ctx(bytes.data(), out.data(), out.size(), 1);
    if (written < 0 || static_cast<std::size_t>(written) != size)
      return fail(Fault::kDamaged, "codec blosc: the data are damaged");
    return out;
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (bytes.size() > BLOSC_MAX_BUFFERSIZE)
      return fail(Fault::kTooBig,
                  "codec blosc: a chunk of " + std::to_string(bytes.size()) + " bytes");
    Bytes out(bytes.size() + BLOSC_MAX_OVERHEAD);
    const int written = blosc_compress_ctx(settings_.level, settings_.shuffle, settings_.typesize,
                                           bytes.size(), bytes.data(), out.data(), out.size(),
                                           settings_.compressor.c_str(), settings_.blocksize, 1);
    if (written <= 0)
      return fail(Fault::kUnsupported, "codec blosc: cannot compress by " + settings_.compressor);
    out.resize(static_cast<std::size_t>(written));
    return out;
  }

  [[nodiscard]] Result<void> check_whole(ByteView bytes) const override {
    if (bytes.size() < BLOSC_MIN_HEADER_LENGTH) {
      return fail(Fault::kDamaged, "codec blosc: " + std::to_string(bytes.size()) +
                                       " bytes are fewer than a header");
    }
    const auto told = load_little<std::uint32_t>(bytes.subspan(12));
    if (told != bytes.size()) {
      return fail(Fault::kDamaged, "codec blosc: the container says it has " +
                                       std::to_string(told) + " bytes, but there are " +
                                       std::to_string(bytes.size()));
    }
    return {};
  }

 private:
  Settings settings_;
};

Result<int> parse_shuffle(const Json& value, std::size_t typesize) {
  if (value.is_null()) return 1;
  if (value == "noshuffle" || value == 0) return 0;
  if (value == "shuffle" || value == 1) return 1;
  if (value == "bitshuffle" || value == 2) return 2;
  if (value == -1) return typesize == 1 ? 2 : 1;  // numcodecs' automatic choice
  return fail(Fault::kDamaged, "codec blosc: shuffle is " + printable(dump_json(value)));
}

}  // namespace

Result<std::unique_ptr<Codec>> make_blosc(const Json& configuration, const Elements& decoded) {
  Blosc::Settings settings;
  const Json name = configuration.value("cname", Json("lz4"));
  const bool known = name.is_string() && std::find(kCompressors.begin(), kCompressors.end(),
                                                   name.get<std::string>()) != kCompressors.end();
  if (!known) return fail(Fault::kDamaged, "codec blosc: cname is " + printable(dump_json(name)));
  settings.compressor = name.get<std::string>();
  ZARRFS_TRY(const std::int64_t level, integer_member(configuration, "blosc", "clevel", 5, 0, 9));
  ZARRFS_TRY(const std::int64_t typesize,
             integer_member(configuration, "blosc", "typesize",
                            std::max<std::int64_t>(decoded.type.size, 1), 0, 1 << 20));
  ZARRFS_TRY(const std::int64_t blocksize,
             integer_member(configuration, "blosc", "blocksize", 0, 0, BLOSC_MAX_BUFFERSIZE));
  settings.level = static_cast<int>(level);
  settings.typesize =
      typesize < 1 || typesize > BLOSC_MAX_TYPESIZE ? 1 : static_cast<std::size_t>(typesize);
  settings.blocksize = static_cast<std::size_t>(blocksize);
  ZARRFS_TRY(settings.shuffle,
             parse_shuffle(configuration.value("shuffle", Json()), settings.typesize));
  return std::make_unique<Blosc>(std::move(settings));
}

}  // namespace zarrfs
