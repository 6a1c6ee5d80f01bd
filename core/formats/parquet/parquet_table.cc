#include "core/formats/parquet/parquet_table.h"

#include <zlib.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/codecs/codec.h"
#include "core/formats/parquet/compact_struct.h"
#include "core/formats/parquet/run_lengths.h"

namespace zarrfs {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::string_view kEncryptedMagic = "PARE";
constexpr std::size_t kTail = sizeof(std::uint32_t) + kMagic.size();

// Numbers of parquet.thrift.
enum class Physical { kBoolean, kInt32, kInt64, kInt96, kFloat, kDouble, kBytes, kFixed };
enum class Encoding { kPlain = 0, kPlainDictionary = 2, kDictionary = 8 };
enum class Page { kData = 0, kIndex = 1, kDictionary = 2, kData2 = 3 };
enum class Compression { kNone = 0, kGzip = 2, kZstd = 6 };
constexpr int kOptional = 1;     // a column's repetition; 0 is required, 2 repeated
constexpr int kUnsigned32 = 13;  // a converted type

std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// "the encoding 5": a number of parquet.thrift that nothing is done for.
tl::unexpected<Error> not_read(const std::string& what, std::int64_t number) {
  return fail(Fault::kUnsupported, what + " " + std::to_string(number) +
                                       " of Parquet is not read; kerchunk writes no such files");
}

/// A number of a file that counts bytes or rows.
Result<std::size_t> count_in(const CompactStruct& told, int field, const char* what) {
  ZARRFS_TRY(const std::int64_t number, told.number(field));
  if (number >= 0) return static_cast<std::size_t>(number);
  return fail(Fault::kDamaged, std::string(what) + " is " + std::to_string(number));
}

struct ColumnPlace {
  std::string name;
  Physical type = Physical::kInt32;
  bool optional = false;
  bool is_unsigned = false;
};

struct Footer {
  std::vector<ColumnPlace> columns;
  std::size_t rows = 0;
  std::vector<CompactStruct> groups;  ///< Of rows.
};

Result<ColumnPlace> column_of(const CompactStruct& element) {
  ColumnPlace column;
  ZARRFS_TRY(const std::string_view name, element.text(4));
  column.name = name;
  ZARRFS_TRY(const auto children, element.number_if(5));
  ZARRFS_TRY(const auto repetition, element.number_if(3));
  if (children.value_or(0) != 0 || repetition.value_or(0) > kOptional) {
    return fail(Fault::kUnsupported,
                "column " + printable(name, 40) + " holds columns or lists, which are not read");
  }
  column.optional = repetition.value_or(0) == kOptional;
  ZARRFS_TRY(const std::int64_t type, element.number(1));
  if (type < 0 || type > static_cast<std::int64_t>(Physical::kFixed)) {
    return not_read("column " + printable(name, 40) + ": the type", type);
  }
  column.type = static_cast<Physical>(type);
  ZARRFS_TRY(const auto converted, element.number_if(6));
  column.is_unsigned = converted == kUnsigned32;
  return column;
}

Result<Footer> read_footer(ByteView file, std::size_t most_rows) {
  if (file.size() < kMagic.size() + kTail) {
    return fail(Fault::kDamaged, "has " + std::to_string(file.size()) + " bytes, too few");
  }
  const std::string_view magic = as_text(file.last(kMagic.size()));
  if (magic == kEncryptedMagic) return fail(Fault::kUnsupported, "is encrypted");
  if (magic != kMagic) return fail(Fault::kDamaged, "does not end with \"PAR1\"");
  const auto length = load_little<std::uint32_t>(file.last(kTail));
  if (length > file.size() - kTail) {
    return fail(Fault::kDamaged, "has a footer of " + std::to_string(length) +
                                     " bytes, which do not lie within its " +
                                     std::to_string(file.size()));
  }
  ZARRFS_TRY(const auto told,
             CompactStruct::read(file.subspan(file.size() - kTail - length, length)));
  Footer footer;
  ZARRFS_TRY(footer.rows, count_in(told, 3, "its number of rows"));
  if (footer.rows > most_rows) {
    return fail(Fault::kTooBig, "has " + std::to_string(footer.rows) + " rows; at most " +
                                    std::to_string(most_rows) + " are read");
  }
  ZARRFS_TRY(const auto schema, told.structures(2));
  for (std::size_t i = 1; i < schema.size(); ++i) {  // the first one is the table
    ZARRFS_TRY(ColumnPlace column, column_of(schema[i]));
    footer.columns.push_back(std::move(column));
  }
  ZARRFS_TRY(footer.groups, told.structures(4));
  return footer;
}

/// Whether each column is one of `names`, and there once.
Result<void> check_columns(const Footer& footer, std::span<const std::string_view> names) {
  std::set<std::string_view> seen;
  for (const ColumnPlace& column : footer.columns) {
    const std::string name = "column " + printable(column.name, 40);
    if (!seen.insert(column.name).second) return fail(Fault::kDamaged, name + " is there twice");
    if (std::find(names.begin(), names.end(), column.name) != names.end()) continue;
    std::string wanted;
    for (const std::string_view one : names)
      wanted += (wanted.empty() ? "" : ", ") + std::string(one);
    return fail(Fault::kUnsupported, name + " is none of " + wanted);
  }
  return {};
}

/// Reads the pages of one column, group of rows by group.
class ColumnReader {
 public:
  /// `most_rows`: of the whole table.
  ColumnReader(ColumnPlace place, std::size_t most_rows, std::size_t& bytes_left)
      : place_(std::move(place)),
        most_rows_(most_rows),
        column_(place_.type == Physical::kBytes ? ParquetColumn::Type::kBytes
                                                : ParquetColumn::Type::kInteger),
        bytes_left_(bytes_left) {}

  /// The part of it in one group of `rows`.
  Result<void> read(ByteView file, const CompactStruct& chunk, std::size_t rows) {
    ZARRFS_TRY(const auto told, chunk.structure(3));
    ZARRFS_TRY(const std::int64_t codec, told.number(4));
    ZARRFS_CHECK(choose(codec));
    ZARRFS_TRY(ByteView pages, pages_of(file, told));
    dictionary_.reset();
    const std::size_t end = column_.rows() + rows;
    while (column_.rows() < end) {
      ZARRFS_CHECK(check_wanted());
      ZARRFS_TRY(const auto header, CompactStruct::read(pages));
      pages = pages.subspan(header.size());
      ZARRFS_TRY(const std::size_t stored, count_in(header, 3, "the size of a page"));
      if (stored > pages.size()) {
        return fail(Fault::kDamaged, "a page of " + std::to_string(stored) +
                                         " bytes does not lie within the column's");
      }
      const ByteView page = pages.first(stored);
      pages = pages.subspan(stored);
      ZARRFS_CHECK(check_sum(header, page));
      ZARRFS_CHECK(read_page(header, page, end - column_.rows()));
    }
    return {};
  }
  ParquetColumn take() { return std::move(column_); }

 private:
  Result<void> choose(std::int64_t codec) {
    switch (static_cast<Compression>(codec)) {
      case Compression::kNone: codec_ = nullptr; return {};
      case Compression::kGzip: return use("gzip");
      case Compression::kZstd: return use("zstd");
    }
    return not_read("the compression", codec);
  }
  Result<void> use(const char* name) {
    ZARRFS_TRY(codec_, make_codec({name}, {}));
    return {};
  }

  static Result<ByteView> pages_of(ByteView file, const CompactStruct& told) {
    ByteRange range;
    ZARRFS_TRY(range.offset, count_in(told, 9, "the place of its pages"));
    ZARRFS_TRY(range.length, count_in(told, 7, "the size of its pages"));
    ZARRFS_TRY(const auto dictionary, told.number_if(11));
    // Some writers say 0 where there is none.
    if (dictionary.value_or(0) > 0) {
      range.offset = std::min(range.offset, static_cast<std::uint64_t>(*dictionary));
    }
    if (lies_within(range, file.size())) {
      return file.subspan(static_cast<std::size_t>(range.offset),
                          static_cast<std::size_t>(range.length));
    }
    return fail(Fault::kDamaged, "its bytes " + spell_range(range) + " lie past the end, " +
                                     std::to_string(file.size()));
  }

  static Result<void> check_sum(const CompactStruct& header, ByteView page) {
    ZARRFS_TRY(const auto told, header.number_if(4));
    if (!told) return {};
    const auto sum = static_cast<std::uint32_t>(crc32_z(0, page.data(), page.size()));
    if (sum == static_cast<std::uint32_t>(*told)) return {};
    return fail(Fault::kDamaged, "a page does not have the checksum that its header tells");
  }

  Result<void> read_page(const CompactStruct& header, ByteView stored, std::size_t rows_left) {
    ZARRFS_TRY(const std::int64_t type, header.number(1));
    ZARRFS_TRY(const std::size_t size, count_in(header, 2, "the size of a page"));
    switch (static_cast<Page>(type)) {
      case Page::kIndex: return {};
      case Page::kDictionary: {
        ZARRFS_TRY(const auto told, header.structure(7));
        ZARRFS_TRY(const ByteView page, decompressed(stored, size));
        return read_dictionary(told, page);
      }
      case Page::kData: {
        ZARRFS_TRY(const auto told, header.structure(5));
        ZARRFS_TRY(ByteView page, decompressed(stored, size));
        ZARRFS_TRY(const std::size_t rows, rows_of(told, rows_left));
        ZARRFS_TRY(const ByteView levels, levels_before(page));
        ZARRFS_TRY(const std::int64_t encoding, told.number(2));
        return read_values(levels, page, rows, encoding);
      }
      case Page::kData2: return read_second(header, stored, size, rows_left);
    }
    return not_read("the page", type);
  }

  /// A page of the second version: its levels are not compressed.
  Result<void> read_second(const CompactStruct& header, ByteView stored, std::size_t size,
                           std::size_t rows_left) {
    ZARRFS_TRY(const auto told, header.structure(8));
    ZARRFS_TRY(const std::size_t rows, rows_of(told, rows_left));
    ZARRFS_TRY(const std::size_t levels, count_in(told, 5, "the size of levels"));
    ZARRFS_TRY(const std::size_t repetitions, count_in(told, 6, "the size of levels"));
    ZARRFS_TRY(const std::int64_t encoding, told.number(4));
    ZARRFS_TRY(const bool compressed, told.truth(7, true));
    if (repetitions != 0 || levels > stored.size() || levels > size) {
      return fail(Fault::kDamaged, "the levels of a page do not lie within it");
    }
    const Codec* const codec = compressed ? codec_.get() : nullptr;
    ZARRFS_TRY(const ByteView page, decompressed_by(codec, stored.subspan(levels), size - levels));
    return read_values(stored.first(levels), page, rows, encoding);
  }

  static Result<std::size_t> rows_of(const CompactStruct& told, std::size_t rows_left) {
    ZARRFS_TRY(const std::size_t rows, count_in(told, 1, "the number of values of a page"));
    if (rows > 0 && rows <= rows_left) return rows;
    return fail(Fault::kDamaged, "a page has " + std::to_string(rows) + " values where " +
                                     std::to_string(rows_left) + " rows are left");
  }

  Result<ByteView> decompressed(ByteView stored, std::size_t size) {
    return decompressed_by(codec_.get(), stored, size);
  }
  Result<ByteView> decompressed_by(const Codec* codec, ByteView stored, std::size_t size) {
    if (size > bytes_left_) return fail(Fault::kTooBig, "its pages take too many bytes");
    bytes_left_ -= size;
    if (size == 0) return ByteView{};
    Bytes page(stored.begin(), stored.end());
    if (codec != nullptr) {
      ZARRFS_TRY(page, codec->decode(stored, {}, size));
    }
    if (page.size() != size) {
      return fail(Fault::kDamaged, "a page decompresses to " + std::to_string(page.size()) +
                                       " bytes, and its header tells of " + std::to_string(size));
    }
    return column_.keep(std::move(page));
  }

  /// Takes the levels that a page of the first version begins with.
  [[nodiscard]] Result<ByteView> levels_before(ByteView& page) const {
    if (!place_.optional) return ByteView{};
    constexpr std::size_t kLength = sizeof(std::uint32_t);
    const std::size_t length = page.size() < kLength ? 0 : load_little<std::uint32_t>(page);
    if (page.size() < kLength || length > page.size() - kLength) {
      return fail(Fault::kDamaged, "the levels of a page do not lie within it");
    }
    const ByteView levels = page.subspan(kLength, length);
    page = page.subspan(kLength + length);
    return levels;
  }

  /// Which rows have a value: 1 for each that has.
  [[nodiscard]] Result<std::vector<std::uint32_t>> rows_there(ByteView levels,
                                                              std::size_t rows) const {
    if (!place_.optional) return std::vector<std::uint32_t>(rows, 1);
    return read_run_lengths(levels, 1, rows);
  }

  Result<void> read_values(ByteView levels, ByteView page, std::size_t rows,
                           std::int64_t encoding) {
    ZARRFS_TRY(const auto there, rows_there(levels, rows));
    const auto count = static_cast<std::size_t>(std::count(there.begin(), there.end(), 1U));
    ZARRFS_TRY(const Values values, values_of(page, count, encoding));
    std::size_t next = 0;
    for (const std::uint32_t has : there) {
      if (has == 0) {
        column_.add_absent();
      } else if (place_.type == Physical::kBytes) {
        column_.add(values.bytes[next++]);
      } else {
        column_.add(values.integers[next++]);
      }
    }
    return {};
  }

  /// Of the column's type.
  struct Values {
    std::vector<std::int64_t> integers;
    std::vector<ByteView> bytes;
  };

  [[nodiscard]] Result<Values> values_of(ByteView page, std::size_t count,
                                         std::int64_t encoding) const {
    const bool plain = encoding == static_cast<std::int64_t>(Encoding::kPlain);
    if (count == 0 && (page.empty() || !plain)) return Values{};
    switch (static_cast<Encoding>(encoding)) {
      case Encoding::kPlain: return plain_values(page, count);
      case Encoding::kPlainDictionary:
      case Encoding::kDictionary: return values_by_dictionary(page, count);
    }
    return not_read("the encoding", encoding);
  }

  [[nodiscard]] Result<Values> plain_values(ByteView page, std::size_t count) const {
    switch (place_.type) {
      case Physical::kBytes: return plain_bytes(page, count);
      case Physical::kInt64: return plain_integers<std::int64_t>(page, count);
      case Physical::kInt32:
        return place_.is_unsigned ? plain_integers<std::uint32_t>(page, count)
                                  : plain_integers<std::int32_t>(page, count);
      default: return not_read("the type", static_cast<std::int64_t>(place_.type));
    }
  }
  template <class T>
  static Result<Values> plain_integers(ByteView page, std::size_t count) {
    if (page.size() < count * sizeof(T) || !is_end(page.subspan(count * sizeof(T)))) {
      return other_values(page, count);
    }
    Values values;
    for (std::size_t i = 0; i < count; ++i) {
      values.integers.push_back(load_little<T>(page.subspan(i * sizeof(T))));
    }
    return values;
  }
  static Result<Values> plain_bytes(ByteView page, std::size_t count) {
    constexpr std::size_t kLength = sizeof(std::uint32_t);
    Values values;
    ByteView rest = page;
    while (values.bytes.size() < count) {
      const std::size_t length = rest.size() < kLength ? 0 : load_little<std::uint32_t>(rest);
      if (rest.size() < kLength || length > rest.size() - kLength) {
        return other_values(page, count);
      }
      values.bytes.push_back(rest.subspan(kLength, length));
      rest = rest.subspan(kLength + length);
    }
    if (!is_end(rest)) return other_values(page, count);
    return values;
  }
  /// Whether nothing lies behind the values of a page; fastparquet writes eight zeros there.
  static bool is_end(ByteView rest) {
    constexpr std::size_t kZeros = 8;
    return rest.empty() || (rest.size() == kZeros && load_little<std::uint64_t>(rest) == 0);
  }
  static tl::unexpected<Error> other_values(ByteView page, std::size_t count) {
    return fail(Fault::kDamaged, "a page of " + std::to_string(page.size()) +
                                     " bytes does not hold just " + std::to_string(count) +
                                     " values");
  }

  Result<void> read_dictionary(const CompactStruct& told, ByteView page) {
    ZARRFS_TRY(const std::size_t count, count_in(told, 1, "the number of values of a dictionary"));
    if (count > most_rows_) {
      return fail(Fault::kDamaged, "a dictionary has " + std::to_string(count) + " values for " +
                                       std::to_string(most_rows_) + " rows");
    }
    ZARRFS_TRY(dictionary_, plain_values(page, count));
    return {};
  }
  [[nodiscard]] Result<Values> values_by_dictionary(ByteView page, std::size_t count) const {
    if (!dictionary_) return fail(Fault::kDamaged, "a page needs a dictionary, and there is none");
    if (page.empty()) return other_values(page, count);
    ZARRFS_TRY(const auto numbers, read_run_lengths(page.subspan(1), page.front(), count));
    const std::size_t known = std::max(dictionary_->integers.size(), dictionary_->bytes.size());
    Values values;
    for (const std::uint32_t number : numbers) {
      if (number >= known) {
        return fail(Fault::kDamaged, "a page asks for value " + std::to_string(number) +
                                         " of a dictionary of " + std::to_string(known));
      }
      if (place_.type == Physical::kBytes) {
        values.bytes.push_back(dictionary_->bytes[number]);
      } else {
        values.integers.push_back(dictionary_->integers[number]);
      }
    }
    return values;
  }

  ColumnPlace place_;
  std::size_t most_rows_;
  ParquetColumn column_;
  std::size_t& bytes_left_;
  std::unique_ptr<Codec> codec_;  ///< Null: pages are not compressed.
  std::optional<Values> dictionary_;
};

/// Reads one column of all groups of rows; `number`: which one it is of a group's.
Result<ParquetColumn> read_column(ByteView file, const Footer& footer, std::size_t number,
                                  std::size_t& bytes_left) {
  ColumnReader reader(footer.columns[number], footer.rows, bytes_left);
  std::size_t rows_left = footer.rows;
  for (const CompactStruct& group : footer.groups) {
    ZARRFS_TRY(const std::size_t rows, count_in(group, 3, "the number of rows of a group"));
    ZARRFS_TRY(const auto chunks, group.structures(1));
    if (number >= chunks.size() || rows > rows_left) {
      return fail(Fault::kDamaged, "a group has " + std::to_string(chunks.size()) +
                                       " columns and " + std::to_string(rows) + " rows");
    }
    ZARRFS_CHECK(reader.read(file, chunks[number], rows));
    rows_left -= rows;
  }
  if (rows_left == 0) return reader.take();
  return fail(Fault::kDamaged, "its groups have " + std::to_string(footer.rows - rows_left) +
                                   " rows, and the table " + std::to_string(footer.rows));
}

}  // namespace

bool ParquetColumn::is_empty() const {
  return std::none_of(there_.begin(), there_.end(), [](bool there) { return there; });
}

void ParquetColumn::add_absent() {
  there_.push_back(false);
  if (type_ == Type::kInteger) integers_.push_back(0);
  if (type_ == Type::kBytes) bytes_.emplace_back();
}

void ParquetColumn::add(std::int64_t integer) {
  there_.push_back(true);
  integers_.push_back(integer);
}

void ParquetColumn::add(ByteView bytes) {
  there_.push_back(true);
  bytes_.push_back(bytes);
}

ByteView ParquetColumn::keep(Bytes bytes) { return kept_.emplace_back(std::move(bytes)); }

Result<std::vector<std::optional<ParquetColumn>>> read_parquet(
    ByteView file, std::span<const std::string_view> names, ParquetLimits limits) {
  ZARRFS_TRY(const Footer footer, read_footer(file, limits.rows));
  ZARRFS_CHECK(check_columns(footer, names));
  std::vector<std::optional<ParquetColumn>> columns;
  for (const std::string_view name : names) {
    const auto found = std::find_if(footer.columns.begin(), footer.columns.end(),
                                    [&](const ColumnPlace& one) { return one.name == name; });
    columns.emplace_back();
    if (found == footer.columns.end()) continue;
    const auto number = static_cast<std::size_t>(found - footer.columns.begin());
    auto column = read_column(file, footer, number, limits.bytes);
    if (!column) {
      return fail(column.error().fault,
                  "column " + std::string(name) + ": " + column.error().message);
    }
    columns.back() = std::move(*column);
  }
  return columns;
}

}  // namespace zarrfs
