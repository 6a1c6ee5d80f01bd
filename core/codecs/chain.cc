// Chains of codecs, and what is common to all codecs.
#include <algorithm>
#include <limits>

#include "core/base/printable.h"
#include "core/codecs/codec.h"
#include "core/codecs/decoding_room.h"

namespace zarrfs {
namespace {

/// What a chunk may decode to where nothing else tells its size: chunks of variable-length
/// elements, and shards with codecs around them. Less where there is less memory for decoding.
constexpr std::uint64_t kMaxUnknown = std::uint64_t{2} << 30U;
/// No chunk of fixed-length elements is larger than this.
constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 48U;

/// Whether the elements have a size that arithmetic can be done with.
Result<void> check_size(const Elements& elements) {
  if (elements.count() <= kMaxChunk && elements.bytes() <= kMaxChunk) return {};
  return fail(Fault::kDamaged, "a chunk of " + std::to_string(elements.count()) +
                                   " elements of data type " + printable(elements.type.name) +
                                   " is larger than any can be");
}

/// The most that a compressor, a checksum or a padding byte makes of `size` bytes.
std::uint64_t expanded(std::uint64_t size) { return size + size / 8 + (std::uint64_t{64} << 10U); }

const char* stage_name(CodecStage stage) {
  switch (stage) {
    case CodecStage::kArrayToArray: return "array to array";
    case CodecStage::kArrayToBytes: return "array to bytes";
    case CodecStage::kBytesToBytes: break;
  }
  return "bytes to bytes";
}

/// zarrs has one name for the format of vlen-bytes and vlen-utf8; others tell them by the type.
CodecSpec named_for(const DataType& type, CodecSpec spec) {
  if (spec.name == "vlen-bytes" && type.kind == TypeKind::kString) spec.name = "vlen-utf8";
  return spec;
}

/// Builds the steps one by one and tells in which stage the chain is.
class ChainBuilder {
 public:
  ChainBuilder(Elements decoded, CodecStage stage) : elements_(std::move(decoded)), stage_(stage) {}

  Result<void> add(const CodecSpec& spec) {
    auto made = make_codec(spec, elements_);
    if (!made && made.error().fault == Fault::kUnsupported && !spec.must_understand) return {};
    if (!made) return fail(std::move(made.error()));
    std::shared_ptr<const Codec> codec = std::move(*made);
    ZARRFS_CHECK(enter(codec->stage(), spec.name));
    ZARRFS_TRY(Elements encoded, codec->encoded(elements_));
    ZARRFS_CHECK(check_size(encoded));
    steps.push_back({named_for(elements_.type, spec), codec->stage(), elements_, codec});
    if (codec->stage() == CodecStage::kArrayToArray) elements_ = std::move(encoded);
    return {};
  }

  [[nodiscard]] CodecStage stage() const { return stage_; }
  std::vector<CodecChain::Step> steps;

 private:
  /// kArrayToArray until the array to bytes codec, kBytesToBytes after it.
  Result<void> enter(CodecStage next, const std::string& name) {
    const bool array_side = next != CodecStage::kBytesToBytes;
    if (array_side != (stage_ == CodecStage::kArrayToArray)) {
      return fail(Fault::kDamaged, "codec " + printable(name) + ", " + stage_name(next) +
                                       ", does not belong at its place in the chain");
    }
    if (next == CodecStage::kArrayToBytes) stage_ = CodecStage::kBytesToBytes;
    return {};
  }

  Elements elements_;
  CodecStage stage_;
};

/// Limits of what each step may decode to, in the order of the steps.
std::vector<std::uint64_t> decode_limits(const std::vector<CodecChain::Step>& steps) {
  std::vector<std::uint64_t> limits(steps.size());
  const std::uint64_t unknown = std::min(kMaxUnknown, decoding_memory() / 8);
  std::uint64_t encoded = unknown;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].stage == CodecStage::kBytesToBytes) {
      limits[i] = encoded;
      encoded = expanded(encoded);
      continue;
    }
    const Elements& decoded = steps[i].decoded;
    limits[i] = decoded.type.variable_length() ? unknown : decoded.bytes();
    // One byte more for the padding that packbits notes.
    encoded = decoded.type.variable_length() ? unknown : decoded.bytes() + 1;
  }
  return limits;
}

/// Bytes of memory that decoding within `limits` takes: a step's input is there as long as its
/// output is made.
std::uint64_t bytes_to_decode(const std::vector<std::uint64_t>& limits) {
  std::uint64_t most = 0;
  std::uint64_t before = 0;
  for (const std::uint64_t limit : limits) {
    most = std::max(most, checked_add(before, limit).value_or(~std::uint64_t{0}));
    before = limit;
  }
  return most;
}

}  // namespace

std::uint64_t Elements::count() const {
  return checked_product(shape).value_or(std::numeric_limits<std::uint64_t>::max());
}

std::uint64_t Elements::bytes() const {
  if (type.variable_length()) return 0;
  return checked_multiply(count(), type.size).value_or(std::numeric_limits<std::uint64_t>::max());
}

std::optional<V2Spelling> Codec::v2_spelling(const V2Question& /*question*/) const {
  return std::nullopt;
}

Result<CodecChain> CodecChain::make(const std::vector<CodecSpec>& specs, const Elements& decoded) {
  ZARRFS_CHECK(check_size(decoded));
  ChainBuilder builder(decoded, CodecStage::kArrayToArray);
  for (const CodecSpec& spec : specs) ZARRFS_CHECK(builder.add(spec));
  if (builder.stage() == CodecStage::kArrayToArray) {
    return fail(Fault::kDamaged, "the list of codecs has no array to bytes codec");
  }
  CodecChain chain;
  chain.steps_ = std::move(builder.steps);
  chain.decoded_ = decoded;
  return chain;
}

Result<CodecChain> CodecChain::make_bytes_only(const std::vector<CodecSpec>& specs) {
  Elements bytes;
  bytes.type.name = "uint8";
  bytes.type.size = 1;
  ChainBuilder builder(bytes, CodecStage::kBytesToBytes);
  for (const CodecSpec& spec : specs) ZARRFS_CHECK(builder.add(spec));
  CodecChain chain;
  chain.steps_ = std::move(builder.steps);
  chain.decoded_ = std::move(bytes);
  return chain;
}

Result<Bytes> CodecChain::decode(ByteView stored) const {
  const std::vector<std::uint64_t> limits = decode_limits(steps_);
  ZARRFS_TRY(const DecodingRoom room, DecodingRoom::take(bytes_to_decode(limits)));
  Bytes bytes;
  ByteView view = stored;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    ZARRFS_TRY(bytes, steps_[i].codec->decode(view, steps_[i].decoded, limits[i]));
    view = bytes;
  }
  if (steps_.empty()) return Bytes(stored.begin(), stored.end());
  return bytes;
}

Result<Bytes> CodecChain::encode(ByteView elements) const {
  const bool fixed = !steps_.empty() && steps_.front().stage != CodecStage::kBytesToBytes &&
                     !decoded_.type.variable_length();
  if (fixed && elements.size() != decoded_.bytes()) {
    return fail(Fault::kInvalid, "a chunk has " + std::to_string(decoded_.bytes()) +
                                     " bytes of elements, not " + std::to_string(elements.size()));
  }
  Bytes bytes;
  ByteView view = elements;
  for (const Step& step : steps_) {
    ZARRFS_TRY(bytes, step.codec->encode(view, step.decoded));
    view = bytes;
  }
  if (steps_.empty()) return Bytes(elements.begin(), elements.end());
  return bytes;
}

}  // namespace zarrfs
