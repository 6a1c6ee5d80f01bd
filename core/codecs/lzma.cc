// numcodecs.lzma: an .xz or an older .lzma container. Source: numcodecs, lzma, whose numbers are
// those of Python's lzma module.
#include <lzma.h>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/output.h"
#include "core/codecs/v2_spelling.h"

namespace zarrfs {
namespace {

enum Format : std::int64_t { kAuto = 0, kXz = 1, kAlone = 2, kRaw = 3 };

/// Decoders may use this much; the highest preset needs 65 MiB.
constexpr std::uint64_t kMaxMemory = std::uint64_t{512} << 20U;

/// A stream that is released with its scope.
struct Stream {
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { lzma_end(&stream); }
  lzma_stream stream = LZMA_STREAM_INIT;
};

class LzmaCodec final : public Codec {
 public:
  LzmaCodec(std::int64_t format, lzma_check check, std::uint32_t preset, bool has_filters)
      : format_(format), check_(check), preset_(preset), has_filters_(has_filters) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kBytesToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    V2Spelling spelling{numcodecs_json(question.spec)};
    spelling.json["format"] = spelled_member(question.spec, "format", 1);
    spelling.json["check"] = spelled_member(question.spec, "check", -1);
    spelling.json["preset"] = spelled_member(question.spec, "preset", nullptr);
    spelling.json["filters"] = spelled_member(question.spec, "filters", nullptr);
    return spelling;
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t limit) const override {
    Output out(limit, bytes.size());
    ZARRFS_CHECK(run_decoder(bytes, out));
    return out.take("lzma");
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    if (has_filters_ || format_ == kAuto) {
      return fail(Fault::kUnsupported,
                  "lzma: encoding with filters or without a format is not "
                  "supported");
    }
    Stream encoder;
    lzma_options_lzma options;
    lzma_lzma_preset(&options, preset_);
    const lzma_ret ready = format_ == kXz ? lzma_easy_encoder(&encoder.stream, preset_, check_)
                                          : lzma_alone_encoder(&encoder.stream, &options);
    if (ready != LZMA_OK) return fail(Fault::kNoMemory, "lzma: no memory to compress with");
    Output out(lzma_stream_buffer_bound(bytes.size()) * 2, bytes.size());
    ZARRFS_CHECK(run(encoder.stream, bytes, out));
    return out.take("lzma");
  }

 private:
  Result<void> run_decoder(ByteView bytes, Output& out) const {
    Stream decoder;
    const lzma_ret ready = format_ == kAlone ? lzma_alone_decoder(&decoder.stream, kMaxMemory)
                           : format_ == kXz
                               ? lzma_stream_decoder(&decoder.stream, kMaxMemory, LZMA_CONCATENATED)
                               : lzma_auto_decoder(&decoder.stream, kMaxMemory, LZMA_CONCATENATED);
    if (ready != LZMA_OK) return fail(Fault::kNoMemory, "lzma: no memory to decompress with");
    return run(decoder.stream, bytes, out);
  }

  static Result<void> run(lzma_stream& stream, ByteView bytes, Output& out) {
    stream.next_in = bytes.data();
    stream.avail_in = bytes.size();
    while (!out.over_limit()) {
      const MutableByteView space = out.space();
      stream.next_out = space.data();
      stream.avail_out = space.size();
      const lzma_ret status = lzma_code(&stream, LZMA_FINISH);
      out.filled(space.size() - stream.avail_out);
      if (status == LZMA_STREAM_END) return check_end(stream);
      if (status != LZMA_OK) return refusal(status);
    }
    return {};
  }

  static Result<void> check_end(const lzma_stream& stream) {
    if (stream.avail_in == 0) return {};
    return fail(Fault::kDamaged,
                "lzma: " + std::to_string(stream.avail_in) + " bytes follow its end");
  }

  static tl::unexpected<Error> refusal(lzma_ret status) {
    switch (status) {
      case LZMA_MEM_ERROR: return fail(Fault::kNoMemory, "lzma: no memory");
      case LZMA_MEMLIMIT_ERROR:
        return fail(Fault::kUnsupported, "lzma: the dictionary takes more than " +
                                             std::to_string(kMaxMemory) + " bytes of memory");
      case LZMA_BUF_ERROR: return fail(Fault::kDamaged, "lzma: it ends before its last block");
      case LZMA_FORMAT_ERROR: return fail(Fault::kDamaged, "lzma: the container is another one");
      default: return fail(Fault::kDamaged, "lzma: a block is damaged");
    }
  }

  std::int64_t format_;
  lzma_check check_;
  std::uint32_t preset_;
  bool has_filters_;
};

}  // namespace

MadeCodec make_lzma(const CodecSpec& spec, const Elements& /*decoded*/) {
  const Configuration configuration(spec);
  constexpr std::int64_t kLevels = 9;
  constexpr std::int64_t kDefaultCheck = -1;
  ZARRFS_TRY(const std::int64_t format, configuration.integer("format", kAuto, kRaw, kXz));
  ZARRFS_TRY(const std::int64_t check,
             configuration.integer("check", kDefaultCheck, LZMA_CHECK_ID_MAX, kDefaultCheck));
  ZARRFS_TRY(const std::int64_t preset,
             configuration.integer("preset", 0, UINT32_MAX, LZMA_PRESET_DEFAULT));
  if ((preset & LZMA_PRESET_LEVEL_MASK) > kLevels) {
    return configuration.refuse("preset", "is not one of lzma's");
  }
  if (format == kRaw) {
    return fail(Fault::kUnsupported, "codec " + spec.name + ": format 3, raw, is not supported");
  }
  const auto used = check == kDefaultCheck ? LZMA_CHECK_CRC64 : static_cast<lzma_check>(check);
  if (lzma_check_is_supported(used) == 0) {
    return fail(Fault::kUnsupported,
                "codec " + spec.name + ": check " + std::to_string(check) + " is not built in");
  }
  return std::make_unique<LzmaCodec>(format, used, static_cast<std::uint32_t>(preset),
                                     configuration.find("filters") != nullptr);
}

}  // namespace zarrfs
