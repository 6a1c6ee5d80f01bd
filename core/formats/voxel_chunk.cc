#include "core/formats/voxel_chunk.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "core/base/json.h"
#include "core/codecs/codec.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kGzipFrame = 18;  // RFC 1952: 10 bytes before, 8 behind
constexpr std::uint64_t kBlockHeader = 5;
constexpr std::uint64_t kBlock = 65535;

}  // namespace

Result<Bytes> decompress(const std::string& codec, ByteView bytes, std::uint64_t limit) {
  ZARRFS_TRY(const auto made, make_codec({codec, Json::object(), true}, {}));
  return made->decode(bytes, {}, limit);
}

Bytes made_whole(ByteView part, const Extent3& cut, const Extent3& whole, std::uint64_t channels,
                 std::uint64_t item) {
  Bytes out(whole[0] * whole[1] * whole[2] * channels * item);
  const std::uint64_t row = cut[0] * item;
  const std::uint8_t* from = part.data();
  for (std::uint64_t channel = 0; channel < channels; ++channel) {
    for (std::uint64_t z = 0; z < cut[2]; ++z) {
      for (std::uint64_t y = 0; y < cut[1]; ++y, from += row) {
        const std::uint64_t to = (channel * whole[2] + z) * whole[1] + y;
        std::copy_n(from, row, out.data() + to * whole[0] * item);
      }
    }
  }
  return out;
}

std::uint64_t stored_gzip_size(std::uint64_t size) {
  return kGzipFrame + size + std::max<std::uint64_t>(divide_up(size, kBlock), 1) * kBlockHeader;
}

// RFC 1951, section 3.2.4 (blocks without compression), in the frame of RFC 1952.
Bytes stored_gzip(ByteView bytes) {
  Bytes out{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
  out.reserve(static_cast<std::size_t>(stored_gzip_size(bytes.size())));
  ByteView rest = bytes;
  do {
    const ByteView block = rest.first(std::min<std::size_t>(rest.size(), kBlock));
    rest = rest.subspan(block.size());
    const auto length = static_cast<std::uint16_t>(block.size());
    out.push_back(rest.empty() ? 1 : 0);
    append_little(out, length);
    append_little(out, static_cast<std::uint16_t>(~length));
    out.insert(out.end(), block.begin(), block.end());
  } while (!rest.empty());
  append_little(out, static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size())));
  append_little(out, static_cast<std::uint32_t>(bytes.size()));
  return out;
}

}  // namespace zarrfs
