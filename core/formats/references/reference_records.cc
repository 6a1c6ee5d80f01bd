#include "core/formats/references/reference_records.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/base/coordinates.h"
#include "core/base/json.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/codecs/decoding_room.h"
#include "core/formats/parquet/parquet_table.h"
#include "core/formats/references/reference_file.h"
#include "core/metadata/grid.h"
#include "core/metadata/metadata.h"

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 4> kColumns = {"path", "offset", "size", "raw"};
constexpr std::string_view kFileBegin = "refs.";
constexpr std::string_view kFileEnd = ".parq";
constexpr std::size_t kMostAxes = 64;
constexpr std::uint64_t kMostFilesListed = 10'000;
constexpr std::size_t kMostFilesVisited = 100;
/// So that files without a reference are not kept without a bound.
constexpr std::size_t kLeastMemory = 4096;

std::string file_name(const std::string& array, std::uint64_t number) {
  std::string name(kFileBegin);
  return join_path(array, name.append(std::to_string(number)).append(kFileEnd));
}

/// "0.12.3": the chunk that is `number` in the order of C. Of an array without axes "0".
std::string chunk_name(const std::vector<std::uint64_t>& counts, std::uint64_t number) {
  const ChunkKeyEncoding dotted{ChunkKeyEncoding::Kind::kV2, '.'};
  return dotted.key(coordinates_of(number, counts));
}

/// The number of the chunk with that name; nothing where there is none.
std::optional<std::uint64_t> chunk_number(const std::vector<std::uint64_t>& counts,
                                          std::string_view name) {
  if (counts.empty()) return name == "0" ? std::optional<std::uint64_t>(0) : std::nullopt;
  std::vector<std::uint64_t> coordinates;
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    const std::size_t dot = name.find('.');
    const bool last = axis + 1 == counts.size();
    if (last != (dot == std::string_view::npos)) return std::nullopt;
    const auto at = parse_coordinate(name.substr(0, dot), counts[axis]);
    if (!at) return std::nullopt;
    coordinates.push_back(*at);
    if (!last) name.remove_prefix(dot + 1);
  }
  return linear_of(coordinates, counts);
}

/// The columns of one file.
class Rows {
 public:
  static Result<Rows> read(ByteView file, ParquetLimits limits) {
    Rows rows;
    ZARRFS_TRY(rows.columns_, read_parquet(file, kColumns, limits));
    ZARRFS_CHECK(rows.check_columns());
    rows.inline_left_ = limits.bytes;
    using Type = ParquetColumn::Type;
    constexpr std::array kTypes = {Type::kBytes, Type::kInteger, Type::kInteger, Type::kBytes};
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
      std::optional<ParquetColumn>& column = rows.columns_[i];
      if (!column) continue;
      rows.count_ = column->rows();
      if (column->type() != kTypes[i] && !column->is_empty()) {
        return fail(Fault::kDamaged, "column " + std::string(kColumns[i]) + " holds no " +
                                         (kTypes[i] == Type::kBytes ? "bytes" : "integers"));
      }
    }
    return rows;
  }
  [[nodiscard]] std::size_t count() const { return count_; }

  Result<void> add(std::size_t row, const std::string& key, ReferenceTable& table) {
    if (has(kRaw, row)) return add_inline(row, key, table);
    if (!has(kPath, row)) return {};
    ByteRange range;
    ZARRFS_TRY(range.offset, number(kOffset, row, key));
    ZARRFS_TRY(range.length, number(kSize, row, key));
    if (range == ByteRange{}) return table.add(key, text(kPath, row), std::nullopt);
    const auto end = checked_add(range.offset, range.length);
    if (!end || *end > static_cast<std::uint64_t>(INT64_MAX)) {
      return fail(Fault::kDamaged, "chunk " + key + ": bytes " + spell_range(range) + " of " +
                                       printable(text(kPath, row)) + " are no part of any file");
    }
    return table.add(key, text(kPath, row), range);
  }

 private:
  enum Column : std::size_t { kPath, kOffset, kSize, kRaw };

  /// Writers leave out the columns of references that an array has none of: those of places, or of
  /// bytes.
  [[nodiscard]] Result<void> check_columns() const {
    const bool places = columns_[kPath] && columns_[kOffset] && columns_[kSize];
    const bool none = !columns_[kPath] && !columns_[kOffset] && !columns_[kSize];
    if (places || (none && columns_[kRaw])) return {};
    std::string missing;
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (!columns_[i]) missing += (missing.empty() ? "" : ", ") + std::string(kColumns[i]);
    }
    return fail(Fault::kDamaged, "has no column " + missing);
  }
  Result<void> add_inline(std::size_t row, const std::string& key, ReferenceTable& table) {
    const std::string_view bytes = text(kRaw, row);
    if (bytes.size() > inline_left_) return fail(Fault::kTooBig, "has too many inline bytes");
    inline_left_ -= bytes.size();
    return table.add_text(key, bytes);
  }
  [[nodiscard]] bool has(Column column, std::size_t row) const {
    return columns_[column] && columns_[column]->has(row);
  }
  [[nodiscard]] std::string_view text(Column column, std::size_t row) const {
    const ByteView bytes = columns_[column]->bytes(row);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] Result<std::uint64_t> number(Column column, std::size_t row,
                                             const std::string& key) const {
    const bool there = has(column, row);
    const std::int64_t value = there ? columns_[column]->integer(row) : -1;
    if (value >= 0) return static_cast<std::uint64_t>(value);
    return fail(Fault::kDamaged, "chunk " + key + " in " + printable(text(kPath, row)) + ": its " +
                                     std::string(kColumns[column]) + " is " +
                                     (there ? std::to_string(value) : std::string("missing")));
  }

  std::vector<std::optional<ParquetColumn>> columns_;
  std::size_t count_ = 0;
  std::size_t inline_left_ = 0;
};

/// What reading a file may take, of the memory for decoding: while it is read, a byte takes up to
/// four, and a row up to 256.
ParquetLimits limits_of(std::size_t record_size) {
  constexpr std::uint64_t kPerRow = 256;
  constexpr std::uint64_t kPerByte = 4;
  const std::uint64_t memory = decoding_memory();
  return {.rows = std::min<std::uint64_t>(record_size, memory / kPerRow),
          .bytes = std::min<std::uint64_t>(kMostReferenceFile, memory / kPerByte)};
}

std::uint64_t product_of(const std::vector<std::uint64_t>& counts) {
  return checked_product(counts).value_or(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

Result<std::shared_ptr<const ReferenceTable>> parse_record(ByteView file,
                                                           const std::vector<std::uint64_t>& counts,
                                                           std::uint64_t first,
                                                           std::size_t record_size) {
  ZARRFS_TRY(Rows rows, Rows::read(file, limits_of(record_size)));
  // Behind the array's last chunk, writers fill a file up.
  const std::uint64_t wanted = std::min<std::uint64_t>(record_size, product_of(counts) - first);
  if (rows.count() < wanted) {
    return fail(Fault::kDamaged, "has " + std::to_string(rows.count()) + " rows for " +
                                     std::to_string(wanted) + " chunks");
  }
  auto table = std::make_shared<ReferenceTable>();
  for (std::size_t row = 0; row < wanted; ++row) {
    ZARRFS_CHECK(check_wanted());
    ZARRFS_CHECK(rows.add(row, chunk_name(counts, first + row), *table));
  }
  ZARRFS_CHECK(table->finish([](const std::string& url) { return url; }));
  return table;
}

std::size_t ReferenceRecords::Record::memory() const {
  return std::max(kLeastMemory, table->memory());
}

ReferenceRecords::ReferenceRecords(std::shared_ptr<Store> place, std::size_t record_size,
                                   std::size_t most_kept)
    : place_(std::move(place)),
      record_size_(record_size),
      records_(most_kept, [this](const std::string& file) { return read(file); }) {}

Result<ReferenceRecords::Array> ReferenceRecords::array_of(const Json& zarray,
                                                           const std::string& path) {
  Array array;
  const std::string document = join_path(path, ".zarray");
  const auto numbers = [&](const char* member) -> Result<std::vector<std::uint64_t>> {
    std::vector<std::uint64_t> found;
    const Json told = zarray.is_object() ? zarray.value(member, Json()) : Json();
    bool good = told.is_array() && told.size() <= kMostAxes;
    for (const Json& one : good ? told : Json::array()) {
      good = good && one.is_number_unsigned();
      if (good) found.push_back(one.get<std::uint64_t>());
    }
    if (good) return found;
    return fail(Fault::kDamaged,
                document + ": " + member + " is " + printable(dump_json(told), 40));
  };
  ZARRFS_TRY(const auto shape, numbers("shape"));
  ZARRFS_TRY(const auto chunks, numbers("chunks"));
  bool matches = shape.size() == chunks.size();
  for (std::size_t axis = 0; matches && axis < shape.size(); ++axis) {
    matches = chunks[axis] != 0 || shape[axis] == 0;
  }
  if (!matches) {
    return fail(Fault::kDamaged,
                document + ": chunks " + printable(dump_json(zarray["chunks"]), 80) +
                    " do not match shape " + printable(dump_json(zarray["shape"]), 80));
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    array.counts.push_back(shape[axis] == 0 ? 0 : divide_up(shape[axis], chunks[axis]));
  }
  const auto count = checked_product(array.counts);
  if (!count) return fail(Fault::kTooBig, document + ": tells of more than 2^64 chunks");
  array.chunks = *count;
  const Json separator = zarray.value("dimension_separator", Json("."));
  if (separator == Json(".") || shape.size() < 2) return array;
  return fail(Fault::kUnsupported, document + ": dimension_separator is " +
                                       printable(dump_json(separator), 40) +
                                       "; references in Parquet keep chunks by \".\" only");
}

void ReferenceRecords::add_array(const std::string& path, const Json& zarray) {
  auto array = array_of(zarray, path);
  if (!array) return add_refused(path, array.error());
  arrays_.insert_or_assign(path, std::move(*array));
}

void ReferenceRecords::add_refused(const std::string& path, Error error) {
  arrays_.insert_or_assign(path, Array{{}, 0, std::move(error)});
}

void ReferenceRecords::made_by(std::string document, FileIdentity identity) {
  document_ = std::move(document);
  identity_ = identity;
}

/// Whether references that are not there are not: in the place of their directory may be a file.
Result<void> ReferenceRecords::check_absent(const std::string& array) const {
  if (!place_->traits().directories) return {};
  ZARRFS_TRY(const auto status, place_->status(array));
  if (!status || S_ISDIR(status->st_mode)) return {};
  return fail(Fault::kDamaged, array + ": is no directory");
}

Result<void> ReferenceRecords::check_same() const {
  ZARRFS_TRY(const auto now, place_->status(document_));
  if (now && identity_of(*now) == identity_) return {};
  return fail(Fault::kIo, document_ +
                              ": was written anew since it was read, so the references that "
                              "it tells of may be others: mount it again");
}

Result<void> ReferenceRecords::check_array(const std::string& path) const {
  const auto found = arrays_.find(path);
  if (found == arrays_.end() || !found->second.error) return {};
  return fail(*found->second.error);
}

std::uint64_t ReferenceRecords::files_of(const Array& array) const {
  return divide_up(array.chunks, record_size_);
}

/// What a file has; of one that is not there nothing, as fsspec takes it.
Result<std::shared_ptr<const ReferenceRecords::Record>> ReferenceRecords::read(
    const std::string& file) const {
  const auto found = place_->open_for(file, {OpenHint::Part::kWhole, 0});
  if (!found && found.error().fault == Fault::kInvalid) {
    return fail(Fault::kDamaged, file + ": is a directory");
  }
  if (!found) return fail(found.error());
  const std::shared_ptr<File>& opened = *found;
  auto record = std::make_shared<Record>();
  if (opened == nullptr) {
    ZARRFS_CHECK(check_absent(parent_path(file)));
    ZARRFS_CHECK(check_same());
    record->table = std::make_shared<ReferenceTable>();
    return record;
  }
  if (opened->size() > kMostReferenceFile) {
    return fail(Fault::kTooBig, file + ": has " + std::to_string(opened->size()) +
                                    " bytes; at most " + std::to_string(kMostReferenceFile) +
                                    " are read");
  }
  ZARRFS_TRY(const Bytes bytes, opened->read_range({0, opened->size()}));
  ZARRFS_CHECK(check_same());
  const Array& array = arrays_.find(parent_path(file))->second;
  const std::string name = last_name(file);
  std::string_view number = name;
  number.remove_prefix(kFileBegin.size());
  number.remove_suffix(kFileEnd.size());
  const std::uint64_t first = *parse_coordinate(number, files_of(array)) * record_size_;
  auto table = parse_record(bytes, array.counts, first, record_size_);
  if (!table) return fail(table.error().fault, file + ": " + table.error().message);
  record->table = std::move(*table);
  return record;
}

Result<std::optional<HeldReference>> ReferenceRecords::find(const std::string& key) {
  const std::string path = parent_path(key);
  const auto array = arrays_.find(path);
  if (array == arrays_.end()) return std::nullopt;
  const std::string name = last_name(key);
  if (array->second.error && looks_like_chunk(name)) return fail(*array->second.error);
  const auto number = chunk_number(array->second.counts, name);
  if (!number) return std::nullopt;
  ZARRFS_TRY(const auto record, records_.get(file_name(path, *number / record_size_)));
  const auto told = record->table->find(name);
  if (!told) return std::nullopt;
  return HeldReference{*told, record->table};
}

/// Before file number `file` of an array is read, one of `files`: asks for it and the next ones at
/// once, where that is worth it.
void ReferenceRecords::ask_ahead(const std::string& path, std::uint64_t file, std::uint64_t files) {
  constexpr std::uint64_t kAtOnce = 16;
  if (file % kAtOnce != 0 || place_->traits().near) return;
  std::vector<std::string> names;
  for (std::uint64_t next = file; next < std::min(files, file + kAtOnce); ++next) {
    std::string name = file_name(path, next);
    if (records_.find(name) == nullptr) names.push_back(std::move(name));
  }
  place_->expect(names, {OpenHint::Part::kWhole, 0});
}

Result<std::vector<std::string>> ReferenceRecords::names_below(const std::string& path) {
  std::vector<std::string> names;
  const auto array = arrays_.find(path);
  if (array == arrays_.end()) return names;
  ZARRFS_CHECK(check_array(path));
  const std::uint64_t files = files_of(array->second);
  if (files > kMostFilesListed) {
    return fail(Fault::kTooBig, path + ": has " + std::to_string(files) +
                                    " files of references; at most " +
                                    std::to_string(kMostFilesListed) + " are listed");
  }
  for (std::uint64_t file = 0; file < files; ++file) {
    ZARRFS_CHECK(check_wanted());
    ask_ahead(path, file, files);
    ZARRFS_TRY(const auto record, records_.get(file_name(path, file)));
    for (ReferenceTable::Child& child : record->table->children("")) {
      names.push_back(std::move(child.name));
    }
    if (names.size() > ReferenceTable::kMost) {
      return fail(Fault::kTooBig, path + ": has more than " +
                                      std::to_string(ReferenceTable::kMost) + " references");
    }
  }
  return names;
}

Result<std::string> ReferenceRecords::visit_urls(const Visit& visit) {
  std::size_t visited = 0;
  for (const auto& [path, array] : arrays_) {
    const std::uint64_t files = array.error ? 0 : files_of(array);
    for (std::uint64_t file = 0; file < files; ++file) {
      ZARRFS_CHECK(check_wanted());
      if (visited++ == kMostFilesVisited) {
        return "only " + std::to_string(kMostFilesVisited) +
               " of the files of references were looked at";
      }
      ask_ahead(path, file, files);
      ZARRFS_TRY(const auto record, records_.get(file_name(path, file)));
      for (const auto& [url, chunks] : record->table->urls()) visit(url, chunks);
    }
  }
  return std::string();
}

}  // namespace zarrfs
