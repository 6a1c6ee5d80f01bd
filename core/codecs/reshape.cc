// The reshape codec: another shape for the same elements in C order.
// Source: zarr-extensions, codecs/reshape.
#include "core/base/json.h"
#include "core/codecs/codecs.h"
#include "core/codecs/configuration.h"

namespace zarrfs {
namespace {

class ReshapeCodec final : public Codec {
 public:
  explicit ReshapeCodec(std::vector<std::uint64_t> shape) : shape_(std::move(shape)) {}

  [[nodiscard]] CodecStage stage() const override { return CodecStage::kArrayToArray; }
  [[nodiscard]] Result<Elements> encoded(const Elements& decoded) const override {
    return Elements{decoded.type, shape_};
  }
  [[nodiscard]] Result<Bytes> decode(ByteView bytes, const Elements& /*decoded*/,
                                     std::uint64_t /*limit*/) const override {
    return Bytes(bytes.begin(), bytes.end());
  }
  [[nodiscard]] Result<Bytes> encode(ByteView bytes, const Elements& /*decoded*/) const override {
    return Bytes(bytes.begin(), bytes.end());
  }

 private:
  std::vector<std::uint64_t> shape_;
};

/// The product of the input dimensions that `dimensions` lists in increasing order, all after
/// `*last`; nothing where the list is malformed.
std::optional<std::uint64_t> product_of(const Json& dimensions,
                                        const std::vector<std::uint64_t>& shape,
                                        std::int64_t* last) {
  std::uint64_t product = 1;
  for (const Json& one : dimensions) {
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() >= shape.size()) return std::nullopt;
    const auto dimension = one.get<std::int64_t>();
    if (dimension <= *last) return std::nullopt;
    *last = dimension;
    const auto next = checked_multiply(product, shape[one.get<std::size_t>()]);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

}  // namespace

MadeCodec make_reshape(const CodecSpec& spec, const Elements& decoded) {
  const Configuration configuration(spec);
  const Json* spelled = configuration.find("shape");
  const auto malformed = [&] {
    return configuration.refuse(
        "shape", "does not hold the " + std::to_string(decoded.count()) + " elements of a chunk");
  };
  if (spelled == nullptr || !spelled->is_array()) return malformed();
  std::vector<std::uint64_t> shape;
  std::optional<std::size_t> open;  // the dimension that is spelled -1
  std::int64_t last = -1;
  for (const Json& one : *spelled) {
    const auto size = one.is_array()             ? product_of(one, decoded.shape, &last)
                      : one.is_number_unsigned() ? std::optional(one.get<std::uint64_t>())
                                                 : std::nullopt;
    if (!size && (one != -1 || open)) return malformed();
    if (!size) open = shape.size();
    shape.push_back(size.value_or(1));
  }
  const auto known = checked_product(shape);
  if (!known) return malformed();
  if (open && *known != 0) shape[*open] = decoded.count() / *known;
  if (checked_product(shape) != decoded.count()) return malformed();
  return std::make_unique<ReshapeCodec>(std::move(shape));
}

}  // namespace zarrfs
