// The bytes side of a presentation: what is shown for stored bytes, and stored for written ones.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/json.h"
#include "core/present/presentation.h"
#include "core/present/presentation_fill.h"

namespace zarrfs {
namespace {

using Shape = std::vector<std::uint64_t>;

std::string number(std::uint64_t value) { return std::to_string(value); }

/// Goes through the coordinates of `shape` but for the last axis, in C order.
bool next_row(Shape& row, const Shape& shape) {
  for (std::size_t axis = row.size(); axis-- > 0;) {
    if (++row[axis] < shape[axis]) return true;
    row[axis] = 0;
  }
  return false;
}

std::uint64_t first_of_row(const Shape& row, const Shape& shape) {
  std::uint64_t element = 0;
  for (std::size_t axis = 0; axis < row.size(); ++axis)
    element = (element + row[axis]) * shape[axis + 1];
  return element;
}

/// Copies the corner `corner` of an array of `from_shape` into that of one of `to_shape`. Both hold
/// it.
void copy_corner(ByteView from, const Shape& from_shape, MutableByteView to, const Shape& to_shape,
                 const Shape& corner, std::uint32_t element_bytes) {
  Shape row(corner.size() - 1, 0);
  const std::uint64_t length = corner.back() * element_bytes;
  do {
    std::memcpy(to.data() + first_of_row(row, to_shape) * element_bytes,
                from.data() + first_of_row(row, from_shape) * element_bytes, length);
  } while (next_row(row, corner));
}

/// The elements of the part of a stored chunk that is shown.
Bytes crop(const Presentation& p, Bytes elements) {
  const Shape& stored = p.layout->chunk_shape();
  if (stored == p.chunk_shape) return elements;
  const std::uint32_t size = p.array->type.size;
  Bytes shown(checked_product(p.chunk_shape).value_or(0) * size);
  copy_corner(elements, stored, shown, p.chunk_shape, p.chunk_shape, size);
  return shown;
}

/// The elements of a stored chunk for those shown: what is outside the array holds the fill value.
Result<Bytes> uncrop(const Presentation& p, Bytes elements) {
  const Shape& stored = p.layout->chunk_shape();
  if (stored == p.chunk_shape) return elements;
  ZARRFS_TRY(Bytes whole, fill_elements(p.array->type, p.array->fill, stored));
  copy_corner(elements, p.chunk_shape, whole, stored, p.chunk_shape, p.array->type.size);
  return whole;
}

Result<ByteView> without_checksums(const Presentation& p, ByteView stored) {
  const std::uint64_t trimmed = std::uint64_t{p.trim_front} + p.trim_back;
  if (stored.size() < trimmed) {
    return fail(Fault::kDamaged, "chunk of " + number(stored.size()) +
                                     " bytes is shorter than its checksums, " + number(trimmed));
  }
  return stored.subspan(p.trim_front, stored.size() - trimmed);
}

Result<Bytes> present_decoded(const Presentation& p, ByteView stored) {
  const CodecChain& chain = p.layout->chunk_chain();
  ZARRFS_TRY(Bytes elements, chain.decode(stored));
  if (elements.size() != chain.decoded().bytes()) {
    return fail(Fault::kDamaged, "chunk decodes to " + number(elements.size()) + " bytes, not " +
                                     number(chain.decoded().bytes()));
  }
  return p.present_elements(crop(p, std::move(elements)));
}

/// Encodes with the chain's steps from `first` on, all of them bytes to bytes.
Result<Bytes> encode_from(const Presentation& p, std::size_t first, Bytes bytes) {
  const auto& steps = p.layout->chunk_chain().steps();
  for (std::size_t i = first; i < steps.size(); ++i) {
    ZARRFS_TRY(bytes, steps[i].codec->encode(bytes, steps[i].decoded));
  }
  return bytes;
}

Result<Bytes> decode_blosc(const Presentation& p, ByteView shown) {
  CodecSpec spec;
  spec.name = "blosc";
  spec.configuration = Json{{"cname", "zstd"},
                            {"clevel", 5},
                            {"shuffle", "noshuffle"},
                            {"typesize", 1},
                            {"blocksize", 0}};
  const Elements& elements = p.layout->chunk_chain().steps()[p.kept_steps - 1].decoded;
  ZARRFS_TRY(const auto blosc, make_codec(spec, elements));
  ZARRFS_TRY(Bytes raw, blosc->decode(shown, elements, p.container_bytes));
  if (raw.size() != p.container_bytes) {
    return fail(Fault::kInvalid, "blosc buffer holds " + number(raw.size()) + " bytes, not " +
                                     number(p.container_bytes));
  }
  return raw;
}

Result<Bytes> restore_blosc_wrapped(const Presentation& p, ByteView shown) {
  if (auto payload = blosc_unwrap(shown, p.container, p.container_bytes)) {
    return encode_from(p, p.kept_steps, std::move(*payload));
  }
  ZARRFS_TRY(Bytes raw, decode_blosc(p, shown));
  return encode_from(p, p.kept_steps - 1, std::move(raw));
}

Result<Bytes> restore_decoded(const Presentation& p, ByteView shown) {
  if (shown.size() != p.fixed_size) {
    return fail(Fault::kInvalid, "chunk of " + number(shown.size()) +
                                     " bytes was written, not of " + number(p.fixed_size));
  }
  Bytes elements(shown.begin(), shown.end());
  if (p.widened_from) {
    ZARRFS_TRY(elements, narrow(*p.widened_from, elements));
  }
  ZARRFS_TRY(elements, uncrop(p, std::move(elements)));
  return p.layout->chunk_chain().encode(elements);
}

}  // namespace

Result<std::uint64_t> Presentation::shown_size(std::uint64_t stored) const {
  if (rule == ByteRule::kDecode || rule == ByteRule::kRechunk) return fixed_size;
  const std::uint64_t less =
      std::uint64_t{trim_front} + trim_back +
      (container == Container::kLz4 ? sizeof(std::uint32_t) : 0);  // the prefix that blosc drops
  if (stored < less) {
    return fail(Fault::kDamaged, "chunk of " + number(stored) + " bytes is shorter than the " +
                                     number(less) + " bytes its codecs add to any");
  }
  const std::uint64_t kept = stored - trim_front - trim_back;
  return kept + static_cast<std::uint64_t>(std::int64_t{size_change});
}

Result<Bytes> Presentation::present(ByteView stored) const {
  switch (rule) {
    case ByteRule::kDecode: return present_decoded(*this, stored);
    case ByteRule::kRechunk:
      return fail(Fault::kUnsupported, "a chunk of another grid is not made of one stored chunk");
    case ByteRule::kVerbatim:
    case ByteRule::kTrim:
    case ByteRule::kBloscWrap: break;
  }
  ZARRFS_TRY(const ByteView kept, without_checksums(*this, stored));
  if (rule != ByteRule::kBloscWrap) return Bytes(kept.begin(), kept.end());
  return blosc_wrap(kept, container, container_bytes, array->type.size,
                    layout->chunk_chain().steps()[kept_steps - 1]);
}

Result<Bytes> Presentation::present_elements(ByteView elements) const {
  Bytes shown =
      widened_from ? widen(*widened_from, elements) : Bytes(elements.begin(), elements.end());
  if (shown.size() != fixed_size) {
    return fail(Fault::kInvalid,
                "elements fill " + number(shown.size()) + " bytes, not " + number(fixed_size));
  }
  return shown;
}

Result<Bytes> Presentation::restore(ByteView shown) const {
  if (!read_only_reason.empty()) return fail(Fault::kReadOnly, read_only_reason);
  switch (rule) {
    case ByteRule::kVerbatim: return Bytes(shown.begin(), shown.end());
    case ByteRule::kTrim: return encode_from(*this, kept_steps, Bytes(shown.begin(), shown.end()));
    case ByteRule::kBloscWrap: return restore_blosc_wrapped(*this, shown);
    case ByteRule::kDecode: return restore_decoded(*this, shown);
    case ByteRule::kRechunk: break;
  }
  return fail(Fault::kReadOnly, "re-chunked arrays cannot be written");
}

}  // namespace zarrfs
