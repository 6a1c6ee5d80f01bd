// Structures of Thrift's compact protocol in bytes that nobody has checked, as Parquet's footer and
// page headers are: every length and count is checked when it is followed. A reader of a schema
// asks for its fields by their numbers; what it does not ask for is passed over.
// Source: Thrift, "Thrift compact protocol encoding". Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// The views of a structure lead into the bytes that it was read from. Fields are asked for by
/// their numbers; one that is absent is nothing, one that is of another type kDamaged.
class CompactStruct {
 public:
  /// The structure that `bytes` begin with; kDamaged where it does not lie within them.
  static Result<CompactStruct> read(ByteView bytes);
  /// Bytes that it takes.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// An integer of any width.
  [[nodiscard]] Result<std::optional<std::int64_t>> number_if(int field) const;
  /// kDamaged where it is absent.
  [[nodiscard]] Result<std::int64_t> number(int field) const;
  /// A truth value: `usual` where it is absent.
  [[nodiscard]] Result<bool> truth(int field, bool usual) const;
  [[nodiscard]] Result<std::string_view> text(int field) const;
  [[nodiscard]] Result<std::optional<CompactStruct>> structure_if(int field) const;
  /// kDamaged where it is absent.
  [[nodiscard]] Result<CompactStruct> structure(int field) const;
  [[nodiscard]] Result<std::vector<CompactStruct>> structures(int field) const;

 private:
  struct Field {
    int number = 0;
    std::uint8_t type = 0;
    std::int64_t value = 0;  ///< Of integers and truth values.
    ByteView bytes;          ///< Of texts what they hold, of others all that they take.
  };
  [[nodiscard]] Result<const Field*> find(int field, std::uint8_t type) const;

  std::vector<Field> fields_;
  std::size_t size_ = 0;
};

}  // namespace zarrfs
