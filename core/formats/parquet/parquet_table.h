// Files of Parquet as far as tables of a few flat columns need it: integers and bytes, which may be
// absent; pages of both versions, plain or by a dictionary; none, gzip or zstd. All in one is
// untrusted. Source: parquet-format ("File format", parquet.thrift, Encodings.md).
//
// Written here rather than taken from a library: Arrow's C++ libraries take 100 MB and Debian 12
// has none, DuckDB's reader is part of a database, nanoarrow reads no Parquet, and Rust's crate
// needs a second compiler in each build. References need four columns of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

/// One column of a table: for each row a value, or none. Immutable; thread-safe.
class ParquetColumn {
 public:
  enum class Type { kInteger, kBytes };

  explicit ParquetColumn(Type type) : type_(type) {}
  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] std::size_t rows() const { return there_.size(); }
  /// Whether no row has a value. Writers give such a column any type.
  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool has(std::size_t row) const { return there_[row]; }
  /// Of a row that has a value, in a column of that type.
  [[nodiscard]] std::int64_t integer(std::size_t row) const { return integers_[row]; }
  [[nodiscard]] ByteView bytes(std::size_t row) const { return bytes_[row]; }

  // While it is read:

  void add_absent();
  void add(std::int64_t integer);
  /// `bytes` lead into what was kept.
  void add(ByteView bytes);
  /// The bytes live as long as the column.
  ByteView keep(Bytes bytes);

 private:
  Type type_;
  std::vector<bool> there_;
  std::vector<std::int64_t> integers_;
  std::vector<ByteView> bytes_;
  std::vector<Bytes> kept_;
};

struct ParquetLimits {
  std::size_t rows = 0;
  std::size_t bytes = 0;  ///< Of all pages of a table together, decompressed.
};

/// The columns of `file` that are called `names`, in their order; nothing where it has none of that
/// name. All have the same number of rows. kDamaged where the file contradicts itself;
/// kUnsupported, naming it, for other columns (a name may be damaged, too), and for types,
/// encodings and compressions that are not read; kTooBig beyond `limits`.
Result<std::vector<std::optional<ParquetColumn>>> read_parquet(
    ByteView file, std::span<const std::string_view> names, ParquetLimits limits);

}  // namespace zarrfs
