#include "core/present/blosc_wrap.h"

#include <string>

namespace zarrfs {
namespace {

constexpr std::uint8_t kFormatVersion = 2;
constexpr std::uint8_t kCompressorVersion = 1;
constexpr std::uint8_t kNotSplit = 0x10;
constexpr std::size_t kHeader = 16;
constexpr std::size_t kBlockStart = kHeader + 4;   // after the table of one block
constexpr std::size_t kPayload = kBlockStart + 4;  // after the length of its one stream
constexpr std::size_t kLz4Prefix = 4;

std::uint8_t flags_of(Container container) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(container) << 5U) | kNotSplit;
}

std::size_t prefix_of(Container container) { return container == Container::kLz4 ? kLz4Prefix : 0; }

Bytes make_buffer(ByteView stream, Container container, std::uint32_t decoded,
                  std::uint32_t element_size) {
  Bytes buffer;
  buffer.reserve(kPayload + stream.size());
  const auto type_size =
      static_cast<std::uint8_t>(element_size >= 1 && element_size <= 255 ? element_size : 1);
  for (const std::uint8_t byte :
       {kFormatVersion, kCompressorVersion, flags_of(container), type_size}) {
    buffer.push_back(byte);
  }
  append_little(buffer, decoded);
  append_little(buffer, decoded);  // the block is the whole
  append_little(buffer, static_cast<std::uint32_t>(kPayload + stream.size()));
  append_little(buffer, static_cast<std::uint32_t>(kBlockStart));
  append_little(buffer, static_cast<std::uint32_t>(stream.size()));
  buffer.insert(buffer.end(), stream.begin(), stream.end());
  return buffer;
}

}  // namespace

Container container_of(std::string_view id) {
  if (id == "lz4") return Container::kLz4;
  if (id == "zlib") return Container::kZlib;
  if (id == "zstd") return Container::kZstd;
  return Container::kNone;
}

std::string_view container_name(Container container) {
  switch (container) {
    case Container::kLz4: return "lz4";
    case Container::kZlib: return "zlib";
    case Container::kZstd: return "zstd";
    case Container::kNone: break;
  }
  return "";
}

std::int32_t blosc_wrap_growth(Container container) {
  return static_cast<std::int32_t>(kPayload) - static_cast<std::int32_t>(prefix_of(container));
}

Result<Bytes> blosc_wrap(ByteView payload, Container container, std::uint64_t decoded_bytes,
                         std::uint32_t element_size, const CodecChain::Step& codec) {
  const std::size_t prefix = prefix_of(container);
  if (payload.size() < prefix) {
    return fail(Fault::kDamaged, "lz4 chunk of " + std::to_string(payload.size()) +
                                     " bytes is shorter than its size field, 4");
  }
  if (payload.size() > 2 * kMaxBloscWrapped || decoded_bytes == 0 ||
      decoded_bytes > kMaxBloscWrapped) {
    return fail(Fault::kDamaged, "chunk of " + std::to_string(payload.size()) + " bytes, decoded " +
                                     std::to_string(decoded_bytes) + ", fits no blosc buffer");
  }
  const auto decoded = static_cast<std::uint32_t>(decoded_bytes);
  if (prefix != 0 && load_little<std::uint32_t>(payload) != decoded) {
    return fail(Fault::kDamaged, "lz4 chunk says it holds " +
                                     std::to_string(load_little<std::uint32_t>(payload)) +
                                     " bytes, not " + std::to_string(decoded));
  }
  const ByteView stream = payload.subspan(prefix);
  if (stream.size() != decoded_bytes) return make_buffer(stream, container, decoded, element_size);
  ZARRFS_TRY(const Bytes raw, codec.codec->decode(payload, codec.decoded, decoded_bytes));
  if (raw.size() != decoded_bytes) {
    return fail(Fault::kDamaged, "chunk decodes to " + std::to_string(raw.size()) + " bytes, not " +
                                     std::to_string(decoded_bytes));
  }
  return make_buffer(raw, container, decoded, element_size);
}

std::optional<Bytes> blosc_unwrap(ByteView buffer, Container container,
                                  std::uint64_t decoded_bytes) {
  if (buffer.size() <= kPayload || decoded_bytes == 0 || decoded_bytes > kMaxBloscWrapped)
    return std::nullopt;
  const std::uint64_t length = buffer.size() - kPayload;
  const bool ours = buffer[0] == kFormatVersion && buffer[2] == flags_of(container) &&
                    load_little<std::uint32_t>(buffer.subspan(4)) == decoded_bytes &&
                    load_little<std::uint32_t>(buffer.subspan(8)) == decoded_bytes &&
                    load_little<std::uint32_t>(buffer.subspan(12)) == buffer.size() &&
                    load_little<std::uint32_t>(buffer.subspan(kHeader)) == kBlockStart &&
                    load_little<std::uint32_t>(buffer.subspan(kBlockStart)) == length;
  if (!ours || length == decoded_bytes) return std::nullopt;
  Bytes payload;
  payload.reserve(length + kLz4Prefix);
  if (prefix_of(container) != 0) {
    append_little(payload, static_cast<std::uint32_t>(decoded_bytes));
  }
  const ByteView stream = buffer.subspan(kPayload);
  payload.insert(payload.end(), stream.begin(), stream.end());
  return payload;
}

}  // namespace zarrfs
