#include "core/formats/icechunk/flat_table.h"

#include <string>

namespace zarrfs {
namespace {

constexpr std::size_t kOffset = sizeof(std::uint32_t);
constexpr std::size_t kShort = sizeof(std::uint16_t);

tl::unexpected<Error> outside(const char* what, std::uint64_t at, std::size_t size) {
  return fail(Fault::kDamaged, std::string(what) + " at byte " + std::to_string(at) +
                                   " does not lie within its " + std::to_string(size) + " bytes");
}

}  // namespace

Result<FlatTable> FlatVector::table(std::size_t i) const {
  ZARRFS_TRY(const std::uint64_t place, FlatTable::follow(bytes_, at_ + i * width_));
  return FlatTable::at(bytes_, place);
}

Result<std::uint64_t> FlatTable::follow(ByteView bytes, std::uint64_t from) {
  if (!lies_within({from, kOffset}, bytes.size())) return outside("an offset", from, bytes.size());
  return from + load_little<std::uint32_t>(bytes.subspan(static_cast<std::size_t>(from)));
}

Result<FlatTable> FlatTable::root(ByteView bytes) {
  ZARRFS_TRY(const std::uint64_t place, follow(bytes, 0));
  return at(bytes, place);
}

Result<FlatTable> FlatTable::at(ByteView bytes, std::uint64_t position) {
  if (!lies_within({position, kOffset}, bytes.size())) {
    return outside("a table", position, bytes.size());
  }
  FlatTable table;
  table.bytes_ = bytes;
  table.at_ = static_cast<std::size_t>(position);
  const std::int64_t back = load_little<std::int32_t>(bytes.subspan(table.at_));
  const std::int64_t shape = static_cast<std::int64_t>(position) - back;
  if (shape < 0 || !lies_within({static_cast<std::uint64_t>(shape), 2 * kShort}, bytes.size())) {
    return outside("the list of the fields of the table", position, bytes.size());
  }
  const auto fields_at = static_cast<std::size_t>(shape);
  const std::size_t length = load_little<std::uint16_t>(bytes.subspan(fields_at));
  table.size_ = load_little<std::uint16_t>(bytes.subspan(fields_at + kShort));
  const bool whole = length >= 2 * kShort && lies_within({fields_at, length}, bytes.size());
  if (!whole || !lies_within({position, table.size_}, bytes.size())) {
    return outside("a table", position, bytes.size());
  }
  table.fields_at_ = fields_at + 2 * kShort;
  table.fields_ = length / kShort - 2;
  return table;
}

Result<std::optional<ByteView>> FlatTable::inline_bytes(std::size_t field, std::size_t size) const {
  if (field >= fields_) return std::nullopt;
  const std::size_t offset =
      load_little<std::uint16_t>(bytes_.subspan(fields_at_ + field * kShort));
  if (offset == 0) return std::nullopt;
  if (!lies_within({offset, size}, size_)) return outside("a field of the table", at_, size_);
  return bytes_.subspan(at_ + offset, size);
}

Result<std::optional<FlatTable>> FlatTable::table(std::size_t field) const {
  ZARRFS_TRY(const auto found, inline_bytes(field, kOffset));
  if (!found) return std::nullopt;
  ZARRFS_TRY(const std::uint64_t place,
             follow(bytes_, static_cast<std::uint64_t>(found->data() - bytes_.data())));
  ZARRFS_TRY(const FlatTable inner, at(bytes_, place));
  return inner;
}

Result<std::optional<FlatVector>> FlatTable::vector(std::size_t field, std::size_t width) const {
  ZARRFS_TRY(const auto found, inline_bytes(field, kOffset));
  if (!found) return std::nullopt;
  ZARRFS_TRY(const std::uint64_t place,
             follow(bytes_, static_cast<std::uint64_t>(found->data() - bytes_.data())));
  if (!lies_within({place, kOffset}, bytes_.size())) {
    return outside("a vector", place, bytes_.size());
  }
  const auto begin = static_cast<std::size_t>(place);
  const std::uint64_t count = load_little<std::uint32_t>(bytes_.subspan(begin));
  if (!lies_within({place + kOffset, count * width}, bytes_.size())) {
    return outside("a vector", place, bytes_.size());
  }
  return FlatVector(bytes_, begin + kOffset, static_cast<std::size_t>(count), width);
}

Result<std::optional<std::string_view>> FlatTable::text(std::size_t field) const {
  ZARRFS_TRY(const auto letters, vector(field, 1));
  if (!letters) return std::nullopt;
  const ByteView bytes = letters->all();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace zarrfs
