// Files of Parquet: what libraries wrote, and what damaged and hostile ones may not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/formats/parquet/compact_struct.h"
#include "core/formats/parquet/parquet_table.h"
#include "core/formats/parquet/run_lengths.h"
#include "core/formats/references/reference_records.h"

namespace zarrfs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::array<std::string_view, 4> kNames = {"path", "offset", "size", "raw"};
constexpr ParquetLimits kLimits{.rows = 1000, .bytes = 1 << 20};

Bytes golden(const std::string& name) {
  std::ifstream file(fs::path(ZARRFS_SOURCE_DIR) / "tests/golden/references" / name,
                     std::ios::binary);
  EXPECT_TRUE(file) << name;
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::string text_of(const ParquetColumn& column, std::size_t row) {
  const ByteView bytes = column.bytes(row);
  return {bytes.begin(), bytes.end()};
}

std::string refusal_to_read(ByteView file, ParquetLimits limits = kLimits) {
  const auto columns = read_parquet(file, kNames, limits);
  return columns ? "was read" : columns.error().message;
}

std::string told_of(const ReferenceTable& table, const std::string& key) {
  const auto found = table.find(key);
  if (!found) return "nothing";
  if (found->kind == Reference::Kind::kInline) return std::string(found->text);
  return std::string(found->url) + " " + spell_range(found->range);
}

TEST(ParquetTable, WhatEachLibraryWrote) {
  for (const std::string engine : {"fastparquet", "pyarrow"}) {
    SCOPED_TRACE(engine);
    const auto columns = read_parquet(golden(engine + ".parq/sparse/refs.0.parq"), kNames, kLimits);
    ASSERT_TRUE(columns) << columns.error().message;
    ASSERT_TRUE((*columns)[0] && (*columns)[1] && (*columns)[3]);
    EXPECT_TRUE((*columns)[0]->is_empty());
    const ParquetColumn& raw = *(*columns)[3];
    EXPECT_EQ(raw.rows(), 6U);
    EXPECT_FALSE(raw.has(0));
    ASSERT_TRUE(raw.has(1));
    EXPECT_EQ(raw.bytes(1).size(), 100U);  // 5 x 5 of 4 bytes
    EXPECT_EQ((*columns)[2]->integer(1), 0);
  }
}

TEST(ParquetTable, EachWayOfWritingSaysTheSame) {
  const auto wanted = parse_record(golden("pyarrow.parq/packed/refs.0.parq"), {3, 4}, 0, 6);
  ASSERT_TRUE(wanted) << wanted.error().message;
  for (const char* name :
       {"fastparquet.parq/packed/refs.0.parq", "ways/plain.parquet", "ways/second.parquet"}) {
    const auto table = parse_record(golden(name), {3, 4}, 0, 6);
    ASSERT_TRUE(table) << name << ": " << table.error().message;
    for (const char* key : {"0.0", "0.1", "0.2", "0.3", "1.0", "1.1"}) {
      EXPECT_NE(told_of(**table, key), "nothing") << name << " " << key;
      EXPECT_EQ(told_of(**table, key), told_of(**wanted, key)) << name << " " << key;
    }
  }
}

TEST(ParquetTable, AChecksumIsCompared) {
  Bytes file = golden("ways/second.parquet");
  const std::string text(file.begin(), file.end());
  file[text.find("data.h5")] ^= 1U;
  EXPECT_THAT(refusal_to_read(file), HasSubstr("column path: a page does not have the checksum"));
}

TEST(ParquetTable, ColumnsThatAreNotThereAreNothing) {
  constexpr std::array<std::string_view, 5> kMore = {"size", "other", "path", "offset", "raw"};
  const auto columns = read_parquet(golden("pyarrow.parq/sparse/refs.0.parq"), kMore, kLimits);
  ASSERT_TRUE(columns);
  EXPECT_TRUE((*columns)[0]);
  EXPECT_FALSE((*columns)[1]);
}

TEST(ParquetTable, OtherColumnsAreRefusedByName) {
  constexpr std::array<std::string_view, 2> kFewer = {"path", "offset"};
  const auto columns = read_parquet(golden("pyarrow.parq/sparse/refs.0.parq"), kFewer, kLimits);
  ASSERT_FALSE(columns);
  EXPECT_EQ(columns.error().message, "column size is none of path, offset");
}

/// With each place where `from` stands in it turned into `to`.
Bytes with_text(Bytes file, std::string_view from, std::string_view to) {
  for (auto at = file.begin(); true; ++at) {
    at = std::search(at, file.end(), from.begin(), from.end());
    if (at == file.end()) return file;
    std::copy(to.begin(), to.end(), at);
  }
}

TEST(ParquetTable, EachEndOfAFileIsRefused) {
  const Bytes file = golden("pyarrow.parq/sparse/refs.0.parq");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(refusal_to_read(ByteView(file).first(size)), "was read") << size;
  }
}

TEST(ParquetTable, EachByteChangedIsReadWithinItOrRefused) {
  for (const char* name : {"pyarrow.parq/packed/refs.0.parq", "fastparquet.parq/packed/refs.0.parq",
                           "ways/plain.parquet", "ways/second.parquet"}) {
    Bytes file = golden(name);
    for (std::size_t at = 0; at < file.size(); ++at) {
      for (const unsigned flipped : {0x01U, 0x80U, 0xffU}) {
        file[at] ^= flipped;
        const auto columns = read_parquet(file, kNames, kLimits);
        if (columns && (*columns)[0]) {
          const ParquetColumn& path = *(*columns)[0];
          for (std::size_t row = 0; row < path.rows(); ++row) {
            if (path.type() == ParquetColumn::Type::kBytes && path.has(row)) text_of(path, row);
          }
        }
        file[at] ^= flipped;
      }
    }
    EXPECT_EQ(refusal_to_read(file), "was read");
  }
}

TEST(ParquetTable, LimitsAreKept) {
  const Bytes file = golden("pyarrow.parq/sparse/refs.0.parq");
  EXPECT_THAT(refusal_to_read(file, {.rows = 5, .bytes = 1 << 20}),
              HasSubstr("has 6 rows; at most 5"));
  EXPECT_THAT(refusal_to_read(file, {.rows = 6, .bytes = 10}),
              HasSubstr("column offset: its pages take"));
}

TEST(ParquetTable, WhatIsNoParquet) {
  EXPECT_THAT(refusal_to_read({}), HasSubstr("has 0 bytes"));
  const std::string text = "PAR1 hello PAR0";
  EXPECT_THAT(refusal_to_read(Bytes(text.begin(), text.end())), HasSubstr("does not end with"));
  const std::string locked = "PAR1 hello PARE";
  EXPECT_THAT(refusal_to_read(Bytes(locked.begin(), locked.end())), HasSubstr("is encrypted"));
  const std::string far(
      "PAR1\xff\xff\xff\xff"
      "PAR1");
  EXPECT_THAT(refusal_to_read(Bytes(far.begin(), far.end())),
              HasSubstr("a footer of 4294967295 bytes"));
}

TEST(CompactStruct, FieldsOfEachType) {
  // 1: i32 -3, 2: "ab", 4: true, 20: {1: i64 300}, 21: [{1: 1}, {}]
  const Bytes bytes = {0x15, 0x05, 0x18, 0x02, 'a',  'b',  0x21, 0x0c, 0x28, 0x16, 0xd8,
                       0x04, 0x00, 0x19, 0x2c, 0x15, 0x02, 0x00, 0x00, 0x00, 0x99};
  const auto read = CompactStruct::read(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->size(), bytes.size() - 1);
  EXPECT_EQ(*read->number(1), -3);
  EXPECT_EQ(*read->text(2), "ab");
  EXPECT_TRUE(*read->truth(4, false));
  EXPECT_TRUE(*read->truth(5, true));
  EXPECT_EQ(*read->structure(20)->number(1), 300);
  ASSERT_EQ(read->structures(21)->size(), 2U);
  EXPECT_EQ(*read->structures(21)->front().number(1), 1);
  EXPECT_EQ(*read->number_if(9), std::nullopt);
  EXPECT_EQ(read->number(9).error().message, "field 9 is missing");
  EXPECT_THAT(read->number(2).error().message, HasSubstr("field 2 has the type 8 of Thrift"));
}

TEST(CompactStruct, DeepOnesAreRefused) {
  const Bytes deep(10'000, 0x1c);  // a structure in a structure ...
  EXPECT_THAT(CompactStruct::read(deep).error().message, HasSubstr("nested deeper than 16"));
  const Bytes lists(10'000, 0x19);
  EXPECT_FALSE(CompactStruct::read(lists));
  const Bytes many = {0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
  EXPECT_FALSE(CompactStruct::read(many));
}

TEST(RunLengths, RunsAndPackedNumbers) {
  // 5 times 2; then 8 numbers of 3 bits: 0 to 7 (the example of Encodings.md).
  const Bytes bytes = {0x0a, 0x02, 0x03, 0x88, 0xc6, 0xfa};
  EXPECT_THAT(*read_run_lengths(bytes, 3, 13), ElementsAre(2, 2, 2, 2, 2, 0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(*read_run_lengths(bytes, 3, 7), ElementsAre(2, 2, 2, 2, 2, 0, 1));
  EXPECT_THAT(read_run_lengths(bytes, 3, 14).error().message, HasSubstr("holds 13 numbers of 14"));
  EXPECT_THAT(*read_run_lengths({}, 0, 3), ElementsAre(0, 0, 0));
  EXPECT_FALSE(read_run_lengths(bytes, 33, 1));
  EXPECT_FALSE(read_run_lengths(Bytes{0x00, 0x00}, 8, 1));  // a run of none
}

TEST(RunLengths, EachWidth) {
  for (unsigned width = 1; width <= 32; ++width) {
    Bytes bytes = {0x03};
    std::vector<std::uint32_t> wanted;
    bytes.resize(1 + width);
    for (unsigned i = 0; i < 8; ++i) {
      const std::uint64_t number = (0x9e3779b97f4a7c15ULL * (i + 1)) >> (64 - width);
      wanted.push_back(static_cast<std::uint32_t>(number));
      for (unsigned bit = 0; bit < width; ++bit) {
        const unsigned at = i * width + bit;
        if (((number >> bit) & 1U) != 0) bytes[1 + at / 8] |= 1U << (at % 8);
      }
    }
    EXPECT_EQ(*read_run_lengths(bytes, width, 8), wanted) << width;
  }
}

TEST(ReferenceRecord, KeysAreTheNamesOfChunksInTheOrderOfC) {
  // sparse: 4 x 4 chunks, of which 0.1 was written; 6 to a file.
  const Bytes file = golden("fastparquet.parq/sparse/refs.0.parq");
  const auto table = parse_record(file, {4, 4}, 0, 6);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ((*table)->size(), 1U);
  EXPECT_THAT(told_of(**table, "0.1"), StartsWith(std::string("\3\0\0\0", 4)));
  EXPECT_THAT(told_of(**parse_record(file, {4, 4}, 6, 6), "1.3"),
              StartsWith(std::string("\3\0\0\0", 4)));
  EXPECT_THAT(told_of(**parse_record(file, {2, 2, 4}, 6, 6), "0.1.3"),
              StartsWith(std::string("\3\0\0\0", 4)));
}

TEST(ReferenceRecord, AColumnWhoseNameIsDamagedIsNoColumnThatIsLeftOut) {
  for (const char* engine : {"fastparquet", "pyarrow"}) {
    const Bytes file = golden(std::string(engine) + ".parq/packed/refs.0.parq");
    for (const std::string name : {"path", "offset", "size", "raw"}) {
      const std::string other = "x" + name.substr(1);
      const auto table = parse_record(with_text(file, name, other), {3, 4}, 0, 6);
      ASSERT_FALSE(table) << engine << " " << name;
      EXPECT_THAT(table.error().message, HasSubstr("column " + other + " is none of path"));
    }
  }
}

// A row is there or not by one bit: what it would have is left over in a page of plain values.
TEST(ReferenceRecord, ARowThatLosesItsBitIsDamage) {
  const Bytes file = golden("ways/plain.parquet");
  const auto whole = parse_record(file, {3, 4}, 0, 6);
  ASSERT_TRUE(whole);
  std::size_t silent = 0;
  for (std::size_t at = 4; at < file.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes changed = file;
      changed[at] ^= 1U << bit;
      const auto table = parse_record(changed, {3, 4}, 0, 6);
      silent += table && (*table)->size() < (*whole)->size() ? 1 : 0;
    }
  }
  EXPECT_EQ(silent, 0U);
}

TEST(ReferenceRecord, RowsBehindTheLastChunkAreNothing) {
  const Bytes file = golden("fastparquet.parq/sparse/refs.0.parq");
  EXPECT_EQ((*parse_record(file, {1}, 0, 6))->size(), 0U);
  EXPECT_EQ((*parse_record(file, {2}, 0, 6))->size(), 1U);
  EXPECT_EQ((*parse_record(file, {}, 0, 6))->size(), 0U);  // a scalar has one
}

TEST(ReferenceRecord, TooFewOrTooManyRowsAreRefused) {
  const Bytes file = golden("fastparquet.parq/sparse/refs.0.parq");
  EXPECT_THAT(parse_record(file, {100}, 0, 7).error().message,
              HasSubstr("has 6 rows for 7 chunks"));
  EXPECT_THAT(parse_record(file, {100}, 0, 5).error().message, HasSubstr("at most 5"));
}

}  // namespace
}  // namespace zarrfs
