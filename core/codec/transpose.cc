// transpose: permutes the axes. Source: Zarr v3 core, codecs/transpose; "C" and "F" of earlier
// drafts.
#include <algorithm>
#include <numeric>

#include "core/codec/factories.h"

namespace zarrfs {
namespace {

using Shape = std::vector<std::uint64_t>;

/// Copies elements of `in` (C order of `shape`) so that axis k of the result is axis order[k].
Bytes permute(ByteView in, const Shape& shape, const Shape& order, std::size_t size) {
  const std::size_t rank = shape.size();
  Shape stride(rank, size);
  for (std::size_t axis = rank; axis > 1; --axis)
    stride[axis - 2] = stride[axis - 1] * shape[axis - 1];
  Bytes out(in.size());
  Shape position(rank, 0);
  std::uint64_t from = 0;
  for (std::size_t to = 0; to + size <= out.size(); to += size) {
    std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(from), size,
                out.begin() + static_cast<std::ptrdiff_t>(to));
    for (std::size_t k = rank; k > 0; --k) {
      const std::uint64_t axis = order[k - 1];
      from += stride[axis];
      if (++position[k - 1] < shape[axis]) break;
      from -= stride[axis] * shape[axis];
      position[k - 1] = 0;
    }
  }
  return out;
}

class Transpose final : public Codec {
 public:
  explicit Transpose(Shape order) : order_(std::move(order)), inverse_(order_.size()) {
    for (std::size_t k = 0; k < order_.size(); ++k) inverse_[order_[k]] = k;
  }
  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    Elements out{decoded.type, Shape(decoded.shape.size())};
    for (std::size_t k = 0; k < order_.size(); ++k) out.shape[k] = decoded.shape[order_[k]];
    return out;
  }
  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    if (decoded.type.variable_length())
      return fail(Fault::kUnsupported, "codec transpose: elements of variable length");
    if (bytes.size() != decoded.bytes())
      return fail(Fault::kDamaged, "codec transpose: " + std::to_string(bytes.size()) + " bytes");
    ZARRFS_TRY(const Elements stored, encoded(decoded));
    return permute(bytes, stored.shape, inverse_, decoded.type.size);
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    if (decoded.type.variable_length())
      return fail(Fault::kUnsupported, "codec transpose: elements of variable length");
    return permute(bytes, decoded.shape, order_, decoded.type.size);
  }

 private:
  Shape order_;
  Shape inverse_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_transpose(const Json& configuration, const Elements& decoded) {
  const std::size_t rank = decoded.shape.size();
  const Json spelled = configuration.value("order", Json());
  Shape order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (spelled == "F") std::reverse(order.begin(), order.end());
  if (spelled == "F" || spelled == "C") return std::make_unique<Transpose>(std::move(order));
  std::vector<bool> seen(rank, false);
  bool valid = spelled.is_array() && spelled.size() == rank;
  for (std::size_t k = 0; valid && k < rank; ++k) {
    valid = spelled[k].is_number_unsigned() && spelled[k].get<std::uint64_t>() < rank &&
            !seen[spelled[k].get<std::uint64_t>()];
    if (!valid) break;
    order[k] = spelled[k].get<std::uint64_t>();
    seen[order[k]] = true;
  }
  if (!valid) {
    return fail(Fault::kDamaged, "codec transpose: order " + printable(dump_json(spelled)) +
                                     " is no permutation of " + std::to_string(rank) + " axes");
  }
  return std::make_unique<Transpose>(std::move(order));
}

}  // namespace zarrfs
