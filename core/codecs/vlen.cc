// Codecs of variable-length elements: vlen-utf8 and vlen-bytes store what memory holds.
// Source: zarr-extensions, codecs/vlen-utf8 and codecs/vlen-bytes.
#include <string>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/codecs/codecs.h"
#include "core/codecs/v2_spelling.h"
#include "core/codecs/vlen_items.h"

namespace zarrfs {
namespace {

constexpr std::size_t kLength = sizeof(std::uint32_t);

auto damaged_items(const std::string& reason) {
  return fail(Fault::kDamaged, "variable-length items: " + reason);
}

template <class Visit>
Result<void> walk_items(ByteView bytes, std::uint64_t count, const Visit& visit) {
  if (bytes.size() < kLength) return damaged_items("no room for their number");
  const auto stored = load_little<std::uint32_t>(bytes);
  if (stored != count) {
    return damaged_items("there are " + std::to_string(stored) + " where the chunk has " +
                         std::to_string(count) + " elements");
  }
  std::size_t at = kLength;
  for (std::uint32_t i = 0; i < stored; ++i) {
    if (bytes.size() - at < kLength)
      return damaged_items("item " + std::to_string(i) + " is missing");
    const auto length = load_little<std::uint32_t>(bytes.subspan(at));
    at += kLength;
    if (bytes.size() - at < length) {
      return damaged_items("item " + std::to_string(i) + " of " + std::to_string(length) +
                           " bytes ends after the chunk");
    }
    visit(bytes.subspan(at, length));
    at += length;
  }
  if (at == bytes.size()) return {};
  return damaged_items(std::to_string(bytes.size() - at) + " bytes follow the last one");
}

class VlenCodec final : public Codec {
 public:
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToBytes; }

  [[nodiscard]] std::optional<V2Spelling> v2_spelling(const V2Question& question) const override {
    // zarrs.vlen_v2 makes the bytes of either.
    const bool text = question.decoded.type.kind == TypeKind::kString;
    return V2Spelling{Json::object({{"id", text ? "vlen-utf8" : "vlen-bytes"}})};
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t limit) const override {
    if (bytes.size() > limit) {
      return damaged_items(std::to_string(bytes.size()) + " bytes are more than a chunk may have");
    }
    ZARRFS_CHECK(check_items(bytes, decoded.count()));
    return Bytes(bytes.begin(), bytes.end());
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    ZARRFS_CHECK(check_items(bytes, decoded.count()));
    return Bytes(bytes.begin(), bytes.end());
  }
};

MadeCodec make_vlen(const CodecSpec& spec, const Elements& decoded) {
  if (!decoded.type.variable_length()) {
    return fail(Fault::kDamaged, "codec " + spec.name + ": data type " +
                                     printable(decoded.type.name) + " has a fixed length");
  }
  return std::make_unique<VlenCodec>();
}

}  // namespace

Result<void> check_items(ByteView bytes, std::uint64_t count) {
  return walk_items(bytes, count, [](ByteView) {});
}

Result<std::vector<ByteView>> split_items(ByteView bytes, std::uint64_t count) {
  std::vector<ByteView> items;
  ZARRFS_CHECK(walk_items(bytes, count, [&](ByteView item) { items.push_back(item); }));
  return items;
}

Bytes join_items(const std::vector<ByteView>& items) {
  Bytes bytes;
  append_little(bytes, static_cast<std::uint32_t>(items.size()));
  for (const ByteView item : items) {
    append_little(bytes, static_cast<std::uint32_t>(item.size()));
    bytes.insert(bytes.end(), item.begin(), item.end());
  }
  return bytes;
}

MadeCodec make_vlen_utf8(const CodecSpec& spec, const Elements& decoded) {
  return make_vlen(spec, decoded);
}

MadeCodec make_vlen_bytes(const CodecSpec& spec, const Elements& decoded) {
  return make_vlen(spec, decoded);
}

}  // namespace zarrfs
