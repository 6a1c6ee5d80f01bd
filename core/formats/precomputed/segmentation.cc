#include "core/formats/precomputed/segmentation.h"

#include <algorithm>
#include <string>

namespace zarrfs {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint32_t);
constexpr unsigned kWordBits = 32;
constexpr unsigned kTableBits = 24;  // of a block's header; the rest is the number of bits
constexpr std::uint64_t kHeaderWords = 2;

/// Decodes one channel of a chunk.
class ChannelDecoder {
 public:
  ChannelDecoder(ByteView words, const SegmentationForm& form, MutableByteView labels)
      : words_(words), form_(form), labels_(labels) {}

  Result<void> run() {
    std::uint64_t number = 0;
    Position block{};
    for (block[2] = 0; block[2] < blocks(2); ++block[2]) {
      for (block[1] = 0; block[1] < blocks(1); ++block[1]) {
        for (block[0] = 0; block[0] < blocks(0); ++block[0]) {
          ZARRFS_CHECK(decode_block(block, number++));
        }
      }
    }
    return {};
  }

 private:
  using Position = std::array<std::uint64_t, 3>;

  [[nodiscard]] std::uint64_t blocks(std::size_t axis) const {
    return divide_up(form_.shape.at(axis), form_.block.at(axis));
  }
  [[nodiscard]] bool has(std::uint64_t word, std::uint64_t count) const {
    return lies_within({word, count}, words_.size() / kWord);
  }
  [[nodiscard]] std::uint32_t word(std::uint64_t at) const {
    return load_little<std::uint32_t>(words_.subspan(at * kWord));
  }
  [[nodiscard]] tl::unexpected<Error> damaged(std::uint64_t number, const std::string& what) const {
    return fail(Fault::kDamaged, "compressed_segmentation: block " + std::to_string(number) + ": " +
                                     what + ", and the channel has " +
                                     std::to_string(words_.size() / kWord) + " words");
  }

  Result<void> decode_block(const Position& block, std::uint64_t number) {
    const std::uint64_t header = number * kHeaderWords;
    if (!has(header, kHeaderWords)) return damaged(number, "its header is not there");
    const std::uint32_t first = word(header);
    const std::uint64_t table = first & ((1U << kTableBits) - 1);
    const unsigned bits = first >> kTableBits;
    const std::uint64_t values = word(header + 1);
    if (bits > kWordBits || (bits & (bits - 1)) != 0) {
      return damaged(number, std::to_string(bits) + " bits a voxel");
    }
    // A block of chunk_block voxels is whole, even where the chunk ends before it.
    const std::uint64_t voxels = form_.block[0] * form_.block[1] * form_.block[2];
    const std::uint64_t value_words = divide_up(voxels * bits, kWordBits);
    if (bits > 0 && !has(values, value_words)) {
      return damaged(number, "its values are " + std::to_string(value_words) + " words from " +
                                 std::to_string(values));
    }
    return fill(block, number, {table, values, bits});
  }

  struct Encoded {
    std::uint64_t table = 0;
    std::uint64_t values = 0;
    unsigned bits = 0;
  };

  Result<void> fill(const Position& block, std::uint64_t number, const Encoded& encoded) {
    Position begin{};
    Position size{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      begin.at(axis) = block.at(axis) * form_.block.at(axis);
      size.at(axis) = std::min(form_.block.at(axis), form_.shape.at(axis) - begin.at(axis));
    }
    for (std::uint64_t z = 0; z < size[2]; ++z) {
      for (std::uint64_t y = 0; y < size[1]; ++y) {
        const std::uint64_t row = form_.block[0] * (y + form_.block[1] * z);
        std::uint64_t to =
            begin[0] + form_.shape[0] * (begin[1] + y + form_.shape[1] * (begin[2] + z));
        for (std::uint64_t x = 0; x < size[0]; ++x, ++to) {
          ZARRFS_CHECK(copy_label(number, encoded, row + x, to));
        }
      }
    }
    return {};
  }

  Result<void> copy_label(std::uint64_t number, const Encoded& encoded, std::uint64_t voxel,
                          std::uint64_t to) {
    std::uint64_t value = 0;
    if (encoded.bits > 0) {
      const std::uint64_t bit = voxel * encoded.bits;
      value = std::uint64_t{word(encoded.values + bit / kWordBits)} >> (bit % kWordBits);
      value &= (std::uint64_t{1} << encoded.bits) - 1;
    }
    const std::uint64_t label_words = form_.label_bytes / kWord;
    const std::uint64_t at = encoded.table + value * label_words;
    if (!has(at, label_words)) {
      return damaged(number, "label " + std::to_string(value) + " of its table at word " +
                                 std::to_string(encoded.table) + " is not there");
    }
    std::copy_n(words_.data() + at * kWord, form_.label_bytes,
                labels_.data() + to * form_.label_bytes);
    return {};
  }

  ByteView words_;
  const SegmentationForm& form_;
  MutableByteView labels_;
};

}  // namespace

Result<Bytes> decode_segmentation(ByteView encoded, const SegmentationForm& form) {
  const std::uint64_t channel_bytes =
      form.shape[0] * form.shape[1] * form.shape[2] * form.label_bytes;
  if (encoded.size() % kWord != 0 || encoded.size() / kWord < form.channels) {
    return fail(Fault::kDamaged, "compressed_segmentation: " + std::to_string(encoded.size()) +
                                     " bytes cannot hold " + std::to_string(form.channels) +
                                     " channels");
  }
  Bytes labels(channel_bytes * form.channels);
  for (std::uint64_t channel = 0; channel < form.channels; ++channel) {
    const std::uint64_t start =
        std::uint64_t{load_little<std::uint32_t>(encoded.subspan(channel * kWord))} * kWord;
    if (start > encoded.size()) {
      return fail(Fault::kDamaged, "compressed_segmentation: channel " + std::to_string(channel) +
                                       " begins at byte " + std::to_string(start) + " of " +
                                       std::to_string(encoded.size()));
    }
    const MutableByteView out =
        MutableByteView(labels).subspan(channel * channel_bytes, channel_bytes);
    ZARRFS_CHECK(ChannelDecoder(encoded.subspan(start), form, out).run());
  }
  return labels;
}

}  // namespace zarrfs
