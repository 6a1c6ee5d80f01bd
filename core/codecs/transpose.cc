// The transpose codec: encoded dimension i is decoded dimension order[i].
// Source: Zarr v3 core, codecs/transpose; the strings "C" and "F" are of its earlier drafts.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"
#include "core/codecs/vlen_items.h"

namespace zarrfs {
namespace {

using Order = std::vector<std::size_t>;
using Shape = std::vector<std::uint64_t>;

Shape permuted(const Shape& shape, const Order& order) {
  Shape result(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[i] = shape[order[i]];
  return result;
}

Order inverse(const Order& order) {
  Order result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = i;
  return result;
}

/// Calls copy_row(source, step, length) for each row of the result, in C order of the result, whose
/// shape is that of `shape` with dimension i being dimension order[i] of the source. All in items.
template <class CopyRow>
void for_each_row(const Shape& shape, const Order& order, const CopyRow& copy_row) {
  const std::size_t rank = shape.size();
  Shape strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  const Shape extent = permuted(shape, order);
  const Shape step = permuted(strides, order);
  if (rank == 0 || std::find(extent.begin(), extent.end(), 0) != extent.end()) {
    if (rank == 0) copy_row(0, 1, 1);
    return;
  }
  Shape at(rank, 0);
  std::uint64_t source = 0;
  while (true) {
    copy_row(source, step[rank - 1], extent[rank - 1]);
    std::size_t dimension = rank - 1;
    while (dimension-- > 0) {
      source += step[dimension];
      if (++at[dimension] < extent[dimension]) break;
      source -= step[dimension] * extent[dimension];
      at[dimension] = 0;
      if (dimension == 0) return;
    }
    if (rank == 1) return;
  }
}

template <std::size_t kSize>
void permute_fixed(const std::uint8_t* in, const Shape& shape, const Order& order,
                   std::uint8_t* out) {
  for_each_row(shape, order, [&](std::uint64_t source, std::uint64_t step, std::uint64_t length) {
    const std::uint8_t* from = in + source * kSize;
    for (std::uint64_t i = 0; i < length; ++i, from += step * kSize, out += kSize) {
      std::memcpy(out, from, kSize);
    }
  });
}

void permute_any(const std::uint8_t* in, const Shape& shape, const Order& order, std::uint8_t* out,
                 std::size_t size) {
  for_each_row(shape, order, [&](std::uint64_t source, std::uint64_t step, std::uint64_t length) {
    const std::uint8_t* from = in + source * size;
    for (std::uint64_t i = 0; i < length; ++i, from += step * size, out += size) {
      std::memcpy(out, from, size);
    }
  });
}

Bytes permute(ByteView in, const Shape& shape, const Order& order, std::size_t size) {
  Bytes out(in.size());
  switch (size) {
    case 1: permute_fixed<1>(in.data(), shape, order, out.data()); break;
    case 2: permute_fixed<2>(in.data(), shape, order, out.data()); break;
    case 4: permute_fixed<4>(in.data(), shape, order, out.data()); break;
    case 8: permute_fixed<8>(in.data(), shape, order, out.data()); break;
    case 16: permute_fixed<16>(in.data(), shape, order, out.data()); break;
    default: permute_any(in.data(), shape, order, out.data(), size);
  }
  return out;
}

Result<Bytes> permute_items(ByteView in, const Shape& shape, const Order& order,
                            std::uint64_t count) {
  ZARRFS_TRY(const std::vector<ByteView> items, split_items(in, count));
  std::vector<ByteView> moved;
  moved.reserve(items.size());
  for_each_row(shape, order, [&](std::uint64_t source, std::uint64_t step, std::uint64_t length) {
    for (std::uint64_t i = 0; i < length; ++i) moved.push_back(items[source + i * step]);
  });
  return join_items(moved);
}

class TransposeCodec final : public Codec {
 public:
  explicit TransposeCodec(Order order) : order_(std::move(order)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }

  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{decoded.type, permuted(decoded.shape, order_)};
  }

  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                     std::uint64_t /*limit*/) const override {
    return move(bytes, decoded, permuted(decoded.shape, order_), inverse(order_));
  }

  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& decoded) const override {
    return move(bytes, decoded, decoded.shape, order_);
  }

 private:
  static Result<Bytes> move(ByteView bytes, const Elements& decoded, const Shape& shape,
                            const Order& order) {
    if (decoded.type.variable_length()) {
      return permute_items(bytes, shape, order, decoded.count());
    }
    if (bytes.size() != decoded.bytes()) {
      return fail(Fault::kDamaged, "transpose: " + std::to_string(bytes.size()) +
                                       " bytes of elements, not " +
                                       std::to_string(decoded.bytes()));
    }
    return permute(bytes, shape, order, decoded.type.size);
  }

  Order order_;
};

Order identity(std::size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

Result<Order> parse_order(const Configuration& configuration, std::size_t rank) {
  const Json* spelled = configuration.find("order");
  if (spelled == nullptr) return configuration.refuse("order", "is missing");
  Order order = identity(rank);
  if (*spelled == "C") return order;
  if (*spelled == "F") return Order(order.rbegin(), order.rend());
  const auto malformed = [&] {
    return configuration.refuse("order",
                                "is not a permutation of " + std::to_string(rank) + " dimensions");
  };
  if (!spelled->is_array() || spelled->size() != rank) return malformed();
  std::vector<bool> seen(rank, false);
  for (std::size_t i = 0; i < rank; ++i) {
    const Json& one = (*spelled)[i];
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() >= rank) return malformed();
    order[i] = one.get<std::size_t>();
    if (seen[order[i]]) return malformed();
    seen[order[i]] = true;
  }
  return order;
}

}  // namespace

MadeCodec make_transpose(const CodecSpec& spec, const Elements& decoded) {
  ZARRFS_TRY(Order order, parse_order(Configuration(spec), decoded.shape.size()));
  return std::make_unique<TransposeCodec>(std::move(order));
}

}  // namespace zarrfs
