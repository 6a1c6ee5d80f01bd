// Shards made by hand, entry by entry, so that a test can make any mistake on purpose. Written from
// the specification alone: shares no code with what it tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace zarrfs {

/// A shard whose index ends with a CRC-32C, as most writers make it.
class ShardBytes {
 public:
  explicit ShardBytes(std::size_t entries, bool index_at_start = false)
      : index_(entries * 2, ~std::uint64_t{0}),
        base_(index_at_start ? entries * 16 + 4 : 0),
        index_at_start_(index_at_start) {}

  ShardBytes& add(std::size_t entry, std::string_view chunk) {
    set(entry, base_ + chunks_.size(), chunk.size());
    chunks_ += chunk;
    return *this;
  }
  /// The entry as it stands in the index, whatever it says.
  ShardBytes& set(std::size_t entry, std::uint64_t offset, std::uint64_t length) {
    index_[entry * 2] = offset;
    index_[entry * 2 + 1] = length;
    return *this;
  }
  ShardBytes& with_bad_checksum() {
    checksum_error_ = 1;
    return *this;
  }
  [[nodiscard]] std::string text() const {
    Bytes index;
    for (const std::uint64_t number : index_) append_little(index, number);
    append_little(index, crc32c(index) ^ checksum_error_);
    const std::string encoded(index.begin(), index.end());
    return index_at_start_ ? encoded + chunks_ : chunks_ + encoded;
  }

 private:
  std::vector<std::uint64_t> index_;
  std::string chunks_;
  std::uint64_t base_;
  bool index_at_start_;
  std::uint32_t checksum_error_ = 0;
};

/// What an array document says; the rest is the same for all arrays of tests.
struct ArrayText {
  std::string shape = "[4, 6]";
  std::string chunk_shape = "[4, 4]";
  std::string type = "uint8";
  std::string fill = "7";
  std::string codecs;
};

inline std::string sharding(const std::string& chunk_shape, const std::string& location = "end",
                            const std::string& inner = R"({"name": "bytes"})") {
  return R"({"name": "sharding_indexed", "configuration": {"chunk_shape": )" + chunk_shape +
         R"(, "index_location": ")" + location + R"(", "codecs": [)" + inner +
         R"(], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
             {"name": "crc32c"}]}})";
}

inline std::string array_document(const ArrayText& array) {
  return R"({"zarr_format": 3, "node_type": "array", "shape": )" + array.shape +
         R"(, "data_type": ")" + array.type +
         R"(", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": )" +
         array.chunk_shape + R"(}}, "chunk_key_encoding": {"name": "default"}, "fill_value": )" +
         array.fill + R"(, "codecs": [)" + array.codecs + "]}";
}

}  // namespace zarrfs
