// Tables of flatbuffers in bytes that nobody has checked: every offset, size and count is checked
// when it is followed, so that nothing outside the bytes is ever read. A reader of a schema asks
// for its fields by their numbers and never follows a table that the bytes choose, so that a circle
// of tables leads nowhere. Source: flatbuffers, "Internals". Immutable; thread-safe.
//
// Written here rather than taken from libflatbuffers: few tables of one program are read, generated
// headers and a package more for each build would be more to carry, and its verifier's bounds (of
// tables, not of bytes) are too small for large repositories.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

class FlatTable;

/// A vector of elements of one size, all within the bytes.
class FlatVector {
 public:
  FlatVector() = default;
  [[nodiscard]] std::size_t size() const { return count_; }
  /// The bytes of element `i`, i < size().
  [[nodiscard]] ByteView element(std::size_t i) const {
    return bytes_.subspan(at_ + i * width_, width_);
  }
  template <class T>
  [[nodiscard]] T number(std::size_t i) const {
    return load_little<T>(element(i));
  }
  /// The bytes of all elements.
  [[nodiscard]] ByteView all() const { return bytes_.subspan(at_, count_ * width_); }
  /// The table that element `i` leads to. kDamaged where that lies outside of the bytes.
  [[nodiscard]] Result<FlatTable> table(std::size_t i) const;

 private:
  friend class FlatTable;
  FlatVector(ByteView bytes, std::size_t at, std::size_t count, std::size_t width)
      : bytes_(bytes), at_(at), count_(count), width_(width) {}
  ByteView bytes_;
  std::size_t at_ = 0;
  std::size_t count_ = 0;
  std::size_t width_ = 0;
};

/// Fields are numbered as the schema lists them; one that is absent is nothing, or its usual value.
/// All: kDamaged where a field does not lie within the table, or leads out of the bytes.
class FlatTable {
 public:
  FlatTable() = default;
  /// The table that the bytes begin with.
  static Result<FlatTable> root(ByteView bytes);

  template <class T>
  [[nodiscard]] Result<T> number(std::size_t field, T usual = 0) const {
    ZARRFS_TRY(const auto found, inline_bytes(field, sizeof(T)));
    return found ? load_little<T>(*found) : usual;
  }
  /// The `size` bytes of a structure within the table.
  [[nodiscard]] Result<std::optional<ByteView>> inline_bytes(std::size_t field,
                                                             std::size_t size) const;
  [[nodiscard]] Result<std::optional<FlatTable>> table(std::size_t field) const;
  [[nodiscard]] Result<std::optional<FlatVector>> vector(std::size_t field,
                                                         std::size_t width) const;
  [[nodiscard]] Result<std::optional<std::string_view>> text(std::size_t field) const;

 private:
  friend class FlatVector;
  static Result<FlatTable> at(ByteView bytes, std::uint64_t position);
  /// Where the offset at `from` leads to.
  static Result<std::uint64_t> follow(ByteView bytes, std::uint64_t from);

  ByteView bytes_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::size_t fields_at_ = 0;
  std::size_t fields_ = 0;
};

}  // namespace zarrfs
