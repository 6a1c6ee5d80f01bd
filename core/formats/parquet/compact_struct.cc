#include "core/formats/parquet/compact_struct.h"

#include <algorithm>
#include <string>

namespace zarrfs {
namespace {

// The protocol's numbers of types.
constexpr std::uint8_t kTrue = 1;
constexpr std::uint8_t kFalse = 2;
constexpr std::uint8_t kByte = 3;
constexpr std::uint8_t kInt16 = 4;
constexpr std::uint8_t kInt64 = 6;
constexpr std::uint8_t kDouble = 7;
constexpr std::uint8_t kBinary = 8;
constexpr std::uint8_t kList = 9;
constexpr std::uint8_t kSet = 10;
constexpr std::uint8_t kMap = 11;
constexpr std::uint8_t kStruct = 12;

constexpr int kMostDepth = 16;
constexpr std::size_t kMostFields = 100;  // no structure of Parquet has more than 20
constexpr std::size_t kMostStructures = 10'000;
constexpr std::uint8_t kLowBits = 0x0f;
constexpr unsigned kHighShift = 4;

bool is_integer(std::uint8_t type) { return type >= kInt16 && type <= kInt64; }

/// Reads from the front of bytes. All: kDamaged past the end.
class Cursor {
 public:
  explicit Cursor(ByteView bytes) : bytes_(bytes) {}
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] ByteView since(std::size_t begin) const {
    return bytes_.subspan(begin, at_ - begin);
  }

  Result<std::uint8_t> byte() {
    if (at_ == bytes_.size()) return ends_early();
    return bytes_[at_++];
  }
  Result<ByteView> take(std::uint64_t count) {
    if (count > bytes_.size() - at_) return ends_early();
    const ByteView taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }
  /// Seven bits a byte, the lowest first.
  Result<std::uint64_t> unsigned_number() {
    constexpr unsigned kMostBits = 64;
    constexpr unsigned kBits = 7;
    constexpr std::uint8_t kMore = 0x80;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < kMostBits; shift += kBits) {
      ZARRFS_TRY(const std::uint8_t next, byte());
      value |= static_cast<std::uint64_t>(next & ~kMore) << shift;
      if ((next & kMore) == 0) return value;
    }
    return fail(Fault::kDamaged, "a number at byte " + std::to_string(at_) + " does not end");
  }
  /// The sign in the lowest bit.
  Result<std::int64_t> number() {
    ZARRFS_TRY(const std::uint64_t zigzag, unsigned_number());
    return static_cast<std::int64_t>((zigzag >> 1U) ^ (~(zigzag & 1U) + 1));
  }

  struct ListHeader {
    std::uint8_t type = 0;
    std::uint64_t count = 0;
  };
  Result<ListHeader> list_header() {
    ZARRFS_TRY(const std::uint8_t header, byte());
    ListHeader list{static_cast<std::uint8_t>(header & kLowBits),
                    static_cast<std::uint64_t>(header >> kHighShift)};
    if (list.count == kLowBits) {
      ZARRFS_TRY(list.count, unsigned_number());
    }
    return list;
  }

  /// Passes over one value. `in_container`: truth values take a byte there.
  Result<void> skip(std::uint8_t type, int depth, bool in_container) {
    if (depth > kMostDepth) {
      return fail(Fault::kDamaged,
                  "is nested deeper than " + std::to_string(kMostDepth) + " structures");
    }
    if (type == kTrue || type == kFalse) return in_container ? skip_bytes(1) : Result<void>();
    if (type == kByte) return skip_bytes(1);
    if (is_integer(type)) return skip_number();
    switch (type) {
      case kDouble: return skip_bytes(sizeof(double));
      case kBinary: return skip_text();
      case kList:
      case kSet: return skip_list(depth);
      case kMap: return skip_map(depth);
      case kStruct: return skip_structure(depth);
      default:
        return fail(Fault::kDamaged, "the type " + std::to_string(type) + " at byte " +
                                         std::to_string(at_) + " is none of Thrift");
    }
  }

 private:
  [[nodiscard]] tl::unexpected<Error> ends_early() const {
    return fail(Fault::kDamaged,
                "ends at byte " + std::to_string(bytes_.size()) + ", within a structure");
  }
  Result<void> skip_bytes(std::uint64_t count) {
    const auto taken = take(count);
    return taken ? Result<void>() : fail(taken.error());
  }
  Result<void> skip_number() {
    const auto passed = unsigned_number();
    return passed ? Result<void>() : fail(passed.error());
  }
  Result<void> skip_text() {
    ZARRFS_TRY(const std::uint64_t length, unsigned_number());
    return skip_bytes(length);
  }
  Result<void> skip_list(int depth) {
    ZARRFS_TRY(const ListHeader list, list_header());
    // Each element takes a byte at least, so that the bytes bound this.
    for (std::uint64_t i = 0; i < list.count; ++i) ZARRFS_CHECK(skip(list.type, depth + 1, true));
    return {};
  }
  Result<void> skip_map(int depth) {
    ZARRFS_TRY(const std::uint64_t count, unsigned_number());
    if (count == 0) return {};
    ZARRFS_TRY(const std::uint8_t types, byte());
    for (std::uint64_t i = 0; i < count; ++i) {
      ZARRFS_CHECK(skip(types >> kHighShift, depth + 1, true));
      ZARRFS_CHECK(skip(types & kLowBits, depth + 1, true));
    }
    return {};
  }
  Result<void> skip_structure(int depth) {
    while (true) {
      ZARRFS_TRY(const std::uint8_t header, byte());
      if (header == 0) return {};
      if (header >> kHighShift == 0) ZARRFS_CHECK(skip_number());
      ZARRFS_CHECK(skip(header & kLowBits, depth + 1, false));
    }
  }

  ByteView bytes_;
  std::size_t at_ = 0;
};

}  // namespace

Result<CompactStruct> CompactStruct::read(ByteView bytes) {
  CompactStruct read;
  Cursor cursor(bytes);
  std::int64_t number = 0;
  while (true) {
    ZARRFS_TRY(const std::uint8_t header, cursor.byte());
    if (header == 0) break;
    if (read.fields_.size() == kMostFields) {
      return fail(Fault::kDamaged,
                  "a structure has more than " + std::to_string(kMostFields) + " fields");
    }
    const std::uint8_t step = header >> kHighShift;
    number += step;
    if (step == 0) {
      ZARRFS_TRY(number, cursor.number());
    }
    if (number < INT16_MIN || number > INT16_MAX) {
      return fail(Fault::kDamaged, "a field has the number " + std::to_string(number));
    }
    Field field;
    field.number = static_cast<int>(number);
    field.type = header & kLowBits;
    const std::size_t begin = cursor.at();
    if (field.type == kTrue || field.type == kFalse) {
      field.value = field.type == kTrue ? 1 : 0;
      field.type = kTrue;
    } else if (is_integer(field.type)) {
      ZARRFS_TRY(field.value, cursor.number());
      field.type = kInt64;
    } else if (field.type == kBinary) {
      ZARRFS_TRY(const std::uint64_t length, cursor.unsigned_number());
      ZARRFS_TRY(field.bytes, cursor.take(length));
    } else {
      ZARRFS_CHECK(cursor.skip(field.type, 1, false));
      field.bytes = cursor.since(begin);
    }
    read.fields_.push_back(field);
  }
  read.size_ = cursor.at();
  return read;
}

/// Null where it is absent.
Result<const CompactStruct::Field*> CompactStruct::find(int field, std::uint8_t type) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& one) { return one.number == field; });
  if (found == fields_.end()) return nullptr;
  if (found->type == type) return &*found;
  return fail(Fault::kDamaged, "field " + std::to_string(field) + " has the type " +
                                   std::to_string(found->type) + " of Thrift, not " +
                                   std::to_string(type));
}

namespace {

tl::unexpected<Error> absent(int field) {
  return fail(Fault::kDamaged, "field " + std::to_string(field) + " is missing");
}

}  // namespace

Result<std::optional<std::int64_t>> CompactStruct::number_if(int field) const {
  ZARRFS_TRY(const Field* const found, find(field, kInt64));
  return found != nullptr ? std::optional(found->value) : std::nullopt;
}

Result<std::int64_t> CompactStruct::number(int field) const {
  ZARRFS_TRY(const auto found, number_if(field));
  if (!found) return absent(field);
  return *found;
}

Result<bool> CompactStruct::truth(int field, bool usual) const {
  ZARRFS_TRY(const Field* const found, find(field, kTrue));
  return found != nullptr ? found->value != 0 : usual;
}

Result<std::string_view> CompactStruct::text(int field) const {
  ZARRFS_TRY(const Field* const found, find(field, kBinary));
  if (found == nullptr) return absent(field);
  return std::string_view(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size());
}

Result<std::optional<CompactStruct>> CompactStruct::structure_if(int field) const {
  ZARRFS_TRY(const Field* const found, find(field, kStruct));
  if (found == nullptr) return std::nullopt;
  ZARRFS_TRY(CompactStruct inner, read(found->bytes));
  return inner;
}

Result<CompactStruct> CompactStruct::structure(int field) const {
  ZARRFS_TRY(auto found, structure_if(field));
  if (!found) return absent(field);
  return std::move(*found);
}

Result<std::vector<CompactStruct>> CompactStruct::structures(int field) const {
  ZARRFS_TRY(const Field* const found, find(field, kList));
  if (found == nullptr) return absent(field);
  Cursor cursor(found->bytes);
  ZARRFS_TRY(const Cursor::ListHeader list, cursor.list_header());
  if (list.type != kStruct && list.count > 0) {
    return fail(Fault::kDamaged, "field " + std::to_string(field) + " lists no structures");
  }
  if (list.count > kMostStructures) {
    return fail(Fault::kTooBig, "field " + std::to_string(field) + " lists " +
                                    std::to_string(list.count) + " structures; at most " +
                                    std::to_string(kMostStructures) + " are read");
  }
  std::vector<CompactStruct> inner;
  ByteView rest = found->bytes.subspan(cursor.at());
  for (std::uint64_t i = 0; i < list.count; ++i) {
    ZARRFS_TRY(CompactStruct one, read(rest));
    rest = rest.subspan(one.size());
    inner.push_back(std::move(one));
  }
  return inner;
}

}  // namespace zarrfs
