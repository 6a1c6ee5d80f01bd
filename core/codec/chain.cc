#include <algorithm>

#include "core/codec/codec.h"

namespace zarrfs {
namespace {

/// How long bytes may be that decode to `elements`; checksums and containers add a little to raw
/// elements, and variable-length elements have no size of their own.
constexpr std::uint64_t kSlack = 1U << 16U;
constexpr std::uint64_t kMaxVariable = std::uint64_t{4} << 30U;

std::uint64_t limit_of(const Elements& elements) {
  if (elements.type.variable_length()) return kMaxVariable;
  return checked_add(elements.bytes(), kSlack).value_or(kMaxVariable);
}

bool known(const std::string& name) {
  const auto names = codec_names();
  return std::binary_search(names.begin(), names.end(), name) || name == "zarrs.vlen_v2";
}

const char* stage_name(CodecStage stage) {
  switch (stage) {
    case CodecStage::kArrayToArray: return "array to array";
    case CodecStage::kArrayToBytes: return "array to bytes";
    case CodecStage::kBytesToBytes: return "bytes to bytes";
  }
  return "";
}

}  // namespace

std::uint64_t Elements::count() const { return checked_product(shape).value_or(0); }

std::uint64_t Elements::bytes() const { return checked_multiply(count(), type.size).value_or(0); }

Result<void> Codec::check_whole(ByteView /*bytes*/) const { return {}; }

Result<CodecChain> CodecChain::make(const std::vector<CodecSpec>& specs, const Elements& decoded) {
  if (!checked_product(decoded.shape) ||
      !checked_multiply(decoded.count(), std::max(decoded.type.size, 1U))) {
    return fail(Fault::kDamaged, "a chunk of more bytes than 64 bits count");
  }
  CodecChain chain;
  chain.decoded_ = decoded;
  Elements current = decoded;
  CodecStage reached = CodecStage::kArrayToArray;
  for (const CodecSpec& spec : specs) {
    if (!spec.must_understand && !known(spec.name)) continue;
    ZARRFS_TRY(std::shared_ptr<const Codec> codec, make_codec(spec, current));
    const CodecStage stage = codec->stage();
    if (stage < reached ||
        (stage == CodecStage::kBytesToBytes && reached == CodecStage::kArrayToArray) ||
        (stage == CodecStage::kArrayToBytes && reached != CodecStage::kArrayToArray)) {
      return fail(Fault::kDamaged, "codecs: " + printable(spec.name) + " (" + stage_name(stage) +
                                       ") stands at the wrong place");
    }
    reached = stage == CodecStage::kArrayToBytes ? CodecStage::kBytesToBytes : stage;
    chain.steps_.push_back({spec, stage, current, codec});
    ZARRFS_TRY(current, codec->encoded(current));
  }
  if (reached != CodecStage::kBytesToBytes) {
    return fail(Fault::kDamaged, "codecs: there is no array to bytes codec");
  }
  return chain;
}

Result<CodecChain> CodecChain::make_bytes_only(const std::vector<CodecSpec>& specs) {
  CodecChain chain;
  for (const CodecSpec& spec : specs) {
    if (!spec.must_understand && !known(spec.name)) continue;
    ZARRFS_TRY(const DataType bytes, parse_data_type("uint8"));
    const Elements any{bytes, {}};
    ZARRFS_TRY(std::shared_ptr<const Codec> codec, make_codec(spec, any));
    if (codec->stage() != CodecStage::kBytesToBytes) {
      return fail(Fault::kDamaged,
                  "codecs: " + printable(spec.name) +
                      " stands behind sharding_indexed, though it is no bytes to bytes codec");
    }
    chain.steps_.push_back({spec, CodecStage::kBytesToBytes, any, codec});
  }
  return chain;
}

Result<Bytes> CodecChain::decode_bytes_from(std::size_t first, ByteView stored) const {
  Bytes bytes;
  ByteView view = stored;
  const bool bytes_only = steps_.empty() || steps_[0].stage == CodecStage::kBytesToBytes;
  for (std::size_t i = steps_.size(); i > first; --i) {
    const Step& step = steps_[i - 1];
    const std::uint64_t limit =
        bytes_only ? kMaxVariable : std::max(limit_of(decoded_), limit_of(step.decoded));
    ZARRFS_TRY(bytes, step.codec->decode(view, step.decoded, limit));
    view = bytes;
  }
  if (first >= steps_.size()) bytes.assign(stored.begin(), stored.end());
  return bytes;
}

Result<Bytes> CodecChain::decode(ByteView stored) const {
  ZARRFS_TRY(Bytes bytes, decode_bytes_from(0, stored));
  const bool whole = steps_.empty() || steps_[0].stage == CodecStage::kBytesToBytes ||
                     decoded_.type.variable_length() || bytes.size() == decoded_.bytes();
  if (!whole) {
    return fail(Fault::kDamaged, "it decodes to " + std::to_string(bytes.size()) +
                                     " bytes instead of " + std::to_string(decoded_.bytes()));
  }
  return bytes;
}

Result<Bytes> CodecChain::encode(ByteView elements) const {
  Bytes bytes(elements.begin(), elements.end());
  for (const Step& step : steps_) {
    ZARRFS_TRY(bytes, step.codec->encode(bytes, step.decoded));
  }
  return bytes;
}

Result<void> CodecChain::check_whole(ByteView stored) const {
  // From the outermost codec inwards, as far as each can be undone at little cost: checksums and
  // fixed sizes.
  Bytes bytes;
  ByteView view = stored;
  for (std::size_t i = steps_.size(); i > 0; --i) {
    const Step& step = steps_[i - 1];
    ZARRFS_CHECK(step.codec->check_whole(view));
    if (step.stage == CodecStage::kArrayToBytes) {
      ZARRFS_TRY(const Elements encoded, step.codec->encoded(step.decoded));
      const bool sized = !step.decoded.type.variable_length() && step.spec.name == "bytes";
      if (sized && view.size() != step.decoded.bytes()) {
        return fail(Fault::kInvalid, std::to_string(view.size()) + " bytes are no chunk of " +
                                         std::to_string(step.decoded.bytes()));
      }
      return {};
    }
    const auto overhead = step.codec->fixed_overhead();
    if (!overhead) return {};  // a compressor: what is inside is not looked at
    view = view.subspan(overhead->before, view.size() - overhead->before - overhead->after);
  }
  return {};
}

}  // namespace zarrfs
