// What a fill value of Zarr v2 means to who writes it, in the store and in the mount: for each
// order of documents, each profile, at once, after a remount, and taken back.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/zarr/tree.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

struct Written {
  const char* directory;
  const char* name;
  std::string text;
};

const char* const kNamed = R"({"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K"})";
const char* const kUnnamed = R"({"units": "K"})";
const char* const kGroup = R"({"zarr_format": 2})";
const char* const kImage =
    R"({"multiscales": [{"version": "0.4", "axes": ["y", "x"], "datasets": [{"path": "a"}]}]})";

std::string zarray(const std::string& type, const std::string& fill, int rows = 4) {
  return R"({"zarr_format": 2, "shape": [)" + std::to_string(rows) +
         R"(, 4], "chunks": [2, 2], "dtype": ")" + type + R"(", "fill_value": )" + fill +
         R"(, "compressor": null, "filters": null, "order": "C"})";
}

ViewOptions writing(const std::string& profile, bool writes) {
  ViewOptions options;
  options.profile = profile;
  if (writes) options.writing = Writing{};
  return options;
}

/// A mount of `root`, used as programs use one.
class Program {
 public:
  explicit Program(const std::string& root, const std::string& profile = "generic",
                   bool writes = true)
      : shown_(root, writing(profile, writes)) {}

  void write(const std::string& directory, const std::string& name, const std::string& text) {
    SCOPED_TRACE(join_path(directory, name));
    const auto id = make(directory);
    const auto made = shown_.view().create(id, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE(made->file->write(
        0, ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())));
    const auto flushed = made->file->flush();
    EXPECT_TRUE(flushed) << flushed.error().message;
    made->file->closed();
  }

  [[nodiscard]] Json shown(const std::string& path) {
    const auto found = shown_.json(path);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : Json();
  }

  [[nodiscard]] std::string report() { return shown_.view().report(); }

 private:
  NodeId make(const std::string& directory) {
    if (directory.empty()) return kRootNode;
    const auto found = shown_.find(directory);
    EXPECT_TRUE(found) << found.error().message;
    if (*found) return (*found)->id;
    const auto parent = make(parent_path(directory));
    const auto made =
        shown_.view().make_directory(parent, directory.substr(directory.rfind('/') + 1), 0755);
    EXPECT_TRUE(made) << made.error().message;
    return made->id;
  }

  ShownStore shown_;
};

Json stored_document(const StoreMaker& maker, const std::string& path) {
  return *parse_json(file_text(maker.file(join_path(path, "zarr.json"))), path);
}

Json stored_mark(const StoreMaker& maker, const std::string& path) {
  return stored_document(maker, path)
      .value("attributes", Json::object())
      .value("_FillValue", Json());
}

Json shown_fill(Program& program, const std::string& path) {
  return program.shown(join_path(path, ".zarray"))["fill_value"];
}

/// All documents, in each order.
void in_each_order(std::vector<Written> documents,
                   const std::function<void(const std::vector<Written>&)>& check) {
  std::vector<std::size_t> order(documents.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::vector<Written> written;
    std::string told;
    for (const std::size_t i : order) {
      written.push_back(documents[i]);
      told += std::string(documents[i].directory) + "/" + documents[i].name + " ";
    }
    SCOPED_TRACE(told);
    check(written);
  } while (std::next_permutation(order.begin(), order.end()));
}

// --- What is marked -----------------------------------------------------------------------------

TEST(MissingMarks, AFillValueOfNamedAxesIsAMarkInEachOrderOfDocuments) {
  for (const char* profile : {"generic", "xarray", "gdal", "netcdf", "ome", "auto"}) {
    SCOPED_TRACE(profile);
    in_each_order(
        {{"", ".zgroup", kGroup},
         {"a", ".zarray", zarray("<i2", "-999")},
         {"a", ".zattrs", kNamed},
         {"a", "0.0", std::string(8, 'x')}},
        [&](const std::vector<Written>& documents) {
          StoreMaker maker;
          {
            Program program(maker.root(), profile);
            for (const Written& one : documents) {
              program.write(one.directory, one.name, one.text);
            }
            EXPECT_EQ(stored_mark(maker, "a"), -999);
            EXPECT_EQ(stored_document(maker, "a")["fill_value"], -999);
            EXPECT_EQ(stored_document(maker, "a")["dimension_names"], Json::array({"y", "x"}));
            EXPECT_EQ(shown_fill(program, "a"), -999);
            EXPECT_NE(program.report().find("it is stored as _FillValue"), std::string::npos);
          }
          for (const char* later : {"generic", "xarray", "gdal", "netcdf"}) {
            Program next(maker.root(), later, false);
            EXPECT_EQ(shown_fill(next, "a"), -999) << later;
          }
        });
  }
}

TEST(MissingMarks, NoFillValueIsNoMark) {
  in_each_order(
      {{"", ".zgroup", kGroup}, {"a", ".zarray", zarray("<i2", "null")}, {"a", ".zattrs", kNamed}},
      [&](const std::vector<Written>& documents) {
        StoreMaker maker;
        Program program(maker.root());
        for (const Written& one : documents) {
          program.write(one.directory, one.name, one.text);
        }
        EXPECT_EQ(stored_mark(maker, "a"), Json());
        EXPECT_EQ(shown_fill(program, "a"), Json());
        for (const char* later : {"generic", "xarray", "gdal", "netcdf"}) {
          Program next(maker.root(), later, false);
          EXPECT_EQ(shown_fill(next, "a"), Json()) << later;  // 0 would be masked
        }
      });
}

TEST(MissingMarks, MarksAreSpelledAsXarraySpellsThemInV3) {
  struct Row {
    const char* dtype;
    const char* fill;
    Json mark;
  };
  for (const Row& row : {
           Row{"<i2", "-999", -999},
           Row{"|u1", "255", 255},
           Row{"<u8", "18446744073709551615", 18446744073709551615ULL},
           Row{"|b1", "true", true},
           Row{"<f8", "-999.0", "AAAAAAA4j8A="},
           Row{"<f4", "-999.0", "AAAAAAA4j8A="},
           Row{"<f4", "0.10000000149011612", "AAAAoJmZuT8="},  // that of the float32, as float64
           Row{"<f2", "0.0999755859375", "AAAAAACYuT8="},
           Row{"<f4", R"("NaN")", "AAAAAAAA+H8="},
           Row{">f4", R"("-Infinity")", "AAAAAAAA8P8="},
           Row{"<c8", R"([1.0, 2.0])", Json()},  // xarray reads no mark of these
           Row{"<M8[s]", "7", Json()},
           Row{"<U1", R"("a")", Json()},
       }) {
    SCOPED_TRACE(std::string(row.dtype) + " " + row.fill);
    StoreMaker maker;
    Program program(maker.root());
    program.write("a", ".zarray", zarray(row.dtype, row.fill));
    program.write("a", ".zattrs", kNamed);
    EXPECT_EQ(stored_mark(maker, "a"), row.mark);
    EXPECT_FALSE(program.shown("a/.zattrs").contains("_FillValue"));
    EXPECT_TRUE(same_json(shown_fill(program, "a"), Json::parse(row.fill)))
        << shown_fill(program, "a");
  }
}

TEST(MissingMarks, AWriterThatNamesNoAxesMarksNothing) {
  in_each_order(
      {{"", ".zgroup", kGroup}, {"a", ".zarray", zarray("<i2", "0")}, {"a", ".zattrs", kUnnamed}},
      [&](const std::vector<Written>& documents) {
        StoreMaker maker;
        Program program(maker.root(), "auto");
        for (const Written& one : documents) {
          program.write(one.directory, one.name, one.text);
        }
        EXPECT_EQ(stored_mark(maker, "a"), Json());
        EXPECT_EQ(shown_fill(program, "a"), 0);
      });
}

// A profile that the user gave says what programs make of fill values; one that was chosen for the
// store does not.
TEST(MissingMarks, AProfileThatMasksIsBelieved) {
  struct Row {
    const char* profile;
    Json mark;
  };
  for (const Row& row : {Row{"xarray", 7}, Row{"gdal", 7}, Row{"netcdf", 7}, Row{"generic", Json()},
                         Row{"ome", Json()}, Row{"auto", Json()}}) {
    SCOPED_TRACE(row.profile);
    StoreMaker maker;
    Program program(maker.root(), row.profile);
    program.write("a", ".zarray", zarray("<i2", "7"));
    EXPECT_EQ(stored_mark(maker, "a"), row.mark);
    EXPECT_EQ(shown_fill(program, "a"), 7);
  }
}

TEST(MissingMarks, PixelsHaveNoMarkInEachOrderOfDocuments) {
  for (const char* profile : {"generic", "xarray", "ome", "auto"}) {
    SCOPED_TRACE(profile);
    in_each_order({{"image", ".zgroup", kGroup},
                   {"image", ".zattrs", kImage},
                   {"image/a", ".zarray", zarray("|u1", "0")},
                   {"image/a", ".zattrs", kNamed}},
                  [&](const std::vector<Written>& documents) {
                    StoreMaker maker;
                    {
                      Program program(maker.root(), profile);
                      program.write("", ".zgroup", kGroup);
                      for (const Written& one : documents) {
                        program.write(one.directory, one.name, one.text);
                      }
                      EXPECT_EQ(stored_mark(maker, "image/a"), Json());
                      EXPECT_EQ(shown_fill(program, "image/a"), 0);
                      EXPECT_EQ(program.report().find("stored as _FillValue"), std::string::npos);
                    }
                    Program next(maker.root());
                    EXPECT_EQ(shown_fill(next, "image/a"), 0);
                  });
  }
}

TEST(MissingMarks, PixelsAreListedByAnyGroupAbove) {
  StoreMaker maker;
  Program program(maker.root());
  program.write("", ".zgroup", kGroup);
  program.write("g", ".zgroup", kGroup);
  program.write("g/a", ".zarray", zarray("|u1", "0"));
  program.write("g/a", ".zattrs", kNamed);
  EXPECT_EQ(stored_mark(maker, "g/a"), 0);
  program.write("", ".zattrs", R"({"multiscales": [{"datasets": [{"path": "g/a"}]}]})");
  EXPECT_EQ(stored_mark(maker, "g/a"), Json());
}

// --- What is not touched, and what is taken back ------------------------------------------------

TEST(MissingMarks, WhatIsWrittenBackAsItWasShownChangesNothing) {
  for (const char* profile : {"generic", "xarray", "gdal", "netcdf", "ome"}) {
    SCOPED_TRACE(profile);
    for (const char* document :
         {R"({"fill": -999, "attributes": {"_FillValue": -999}})",
          R"({"fill": 0, "attributes": {"_FillValue": -999}})", R"({"fill": 0, "attributes": {}})",
          R"({"fill": 7, "attributes": {"units": "K"}})"}) {
      SCOPED_TRACE(document);
      StoreMaker maker;
      ArrayPlan plan;
      plan.data_type = "int16";
      plan.fill_value = Json::parse(document)["fill"];
      plan.attributes = Json::parse(document)["attributes"];
      plan.dimension_names = Json::array({"y", "x"});
      maker.group("").array("a", plan).chunk("a", {0, 0}, counting_elements(1, 4));
      Program program(maker.root(), profile);
      Json longer = program.shown("a/.zarray");
      longer["shape"][0] = 8;
      program.write("a", ".zarray", dump_document(longer));
      Json attributes = program.shown("a/.zattrs");
      attributes["more"] = 1;
      program.write("a", ".zattrs", dump_document(attributes));
      attributes.erase("_FillValue");  // xarray leaves it out: .zarray has it
      program.write("a", ".zattrs", dump_document(attributes));
      plan.attributes["more"] = 1;
      EXPECT_TRUE(same_json(stored_document(maker, "a")["attributes"], plan.attributes))
          << stored_document(maker, "a")["attributes"];
      EXPECT_EQ(stored_document(maker, "a")["fill_value"], plan.fill_value);
      EXPECT_EQ(stored_document(maker, "a")["shape"][0], 8);
    }
  }
}

TEST(MissingMarks, AMarkOfTheWritersOwnStaysBesideAnotherFillValue) {
  StoreMaker maker;
  Program program(maker.root());
  program.write("a", ".zarray", zarray("<f4", "0.0"));
  program.write("a", ".zattrs", R"({"_ARRAY_DIMENSIONS": ["y", "x"], "_FillValue": 1.5})");
  EXPECT_EQ(stored_mark(maker, "a"), "AAAAAAAA+D8=");  // xarray fails on a number there
  EXPECT_EQ(stored_document(maker, "a")["fill_value"], 0.0);
  program.write("a", ".zattrs", kNamed);
  program.write("b", ".zarray", zarray("<f4", "0.0"));
  program.write("b", ".zattrs", R"({"_FillValue": 1.5})");
  EXPECT_EQ(stored_mark(maker, "b"), 1.5);  // no axes: it is an attribute as any other
  EXPECT_EQ(program.shown("b/.zattrs")["_FillValue"], 1.5);
}

TEST(MissingMarks, NullTakesAMarkThatRepeatsTheFillValue) {
  for (const bool remounted : {false, true}) {
    for (const bool chunks : {false, true}) {
      StoreMaker maker;
      {
        Program program(maker.root());
        program.write("a", ".zarray", zarray("<i2", "-999"));
        program.write("a", ".zattrs", kNamed);
        if (chunks) program.write("a", "0.0", std::string(8, 'x'));
        if (!remounted) program.write("a", ".zarray", zarray("<i2", "null"));
      }
      Program program(maker.root());
      if (remounted) program.write("a", ".zarray", zarray("<i2", "null"));
      EXPECT_EQ(stored_mark(maker, "a"), Json());
      EXPECT_EQ(stored_document(maker, "a")["fill_value"],
                -999);  // missing chunks hold what they held
      EXPECT_EQ(shown_fill(program, "a"), Json());
    }
  }
}

TEST(MissingMarks, NullTakesNoMarkOfAnotherProgram) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.data_type = "int16";
  plan.attributes = {{"_FillValue", -999}};
  plan.dimension_names = Json::array({"y", "x"});
  maker.group("").array("a", plan);
  Program program(maker.root());
  program.write("a", ".zarray", zarray("<i2", "null"));
  EXPECT_EQ(stored_mark(maker, "a"), -999);
  EXPECT_EQ(stored_document(maker, "a")["fill_value"], 0);
}

TEST(MissingMarks, AttributesWithoutNamesTakeAMarkOfThisMountAndNamesBringItBack) {
  StoreMaker maker;
  {
    Program program(maker.root());
    program.write("a", ".zarray", zarray("<i2", "-999"));
    program.write("a", ".zattrs", kNamed);
    program.write("a", ".zattrs", kUnnamed);
    EXPECT_EQ(stored_mark(maker, "a"), Json());
    program.write("a", ".zattrs", kNamed);
    EXPECT_EQ(stored_mark(maker, "a"), -999);
  }
  Program next(maker.root());  // the names stay in the store, and so does what they tell
  next.write("a", ".zattrs", kUnnamed);
  EXPECT_EQ(stored_mark(maker, "a"), -999);
}

// zarr-python 3 writes the attributes again when it appends: while the arrays of a group grow, one
// after the other, their dimensions have several lengths.
TEST(MissingMarks, AttributesThatComeBackWhileDimensionsDifferKeepNamesAndMarks) {
  StoreMaker maker;
  Program program(maker.root());
  for (const char* name : {"a", "b"}) {
    program.write(name, ".zarray", zarray("<i2", "-999"));
    program.write(name, ".zattrs", kNamed);
  }
  program.write("b", ".zarray", zarray("<i2", "-999", 6));
  const Json shown = program.shown("a/.zattrs");
  EXPECT_EQ(shown["_ARRAY_DIMENSIONS"], Json::array({"y", "x"}));
  program.write("a", ".zattrs", dump_document(shown));
  EXPECT_EQ(stored_mark(maker, "a"), -999);
  EXPECT_EQ(shown_fill(program, "a"), -999);
}

// A program that clears attributes one by one, and reads them again each time, comes to an end.
TEST(MissingMarks, NamesOfAResizedArrayGoTheSecondTime) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.data_type = "int16";
  plan.dimension_names = {"y", "x"};
  maker.group("").array("a", plan);
  Program program(maker.root());
  Json longer = program.shown("a/.zarray");
  longer["shape"][0] = 8;
  for (int resized = 0; resized < 2; ++resized) {
    program.write("a", ".zarray", dump_document(longer));
    program.write("a", ".zattrs", kUnnamed);
    EXPECT_TRUE(program.shown("a/.zattrs").contains("_ARRAY_DIMENSIONS")) << resized;
  }
  program.write("a", ".zattrs", kUnnamed);
  EXPECT_FALSE(program.shown("a/.zattrs").contains("_ARRAY_DIMENSIONS"));
}

TEST(MissingMarks, AnotherFillValueIsAnotherMark) {
  StoreMaker maker;
  Program program(maker.root());
  program.write("a", ".zarray", zarray("<i2", "-999"));
  program.write("a", ".zattrs", kNamed);
  program.write("a", ".zarray", zarray("<i2", "-1"));
  EXPECT_EQ(stored_mark(maker, "a"), -1);
  EXPECT_EQ(stored_document(maker, "a")["fill_value"], -1);
}

// What profile=xarray shows of floats without a mark, NaN, is no fill value that anybody wrote.
TEST(MissingMarks, WhatAProfileMadeUpIsNoMark) {
  for (const char* profile : {"xarray", "generic", "gdal", "netcdf"}) {
    SCOPED_TRACE(profile);
    StoreMaker maker;
    ArrayPlan plan;
    plan.data_type = "float32";
    plan.chunk_shape = {};
    maker.group("").array("a", plan);
    for (const bool resized : {false, true}) {
      Program program(maker.root(), profile);
      if (resized) {
        Json longer = program.shown("a/.zarray");
        longer["shape"][0] = 8;
        program.write("a", ".zarray", dump_document(longer));
      }
      program.write("a", ".zattrs", kNamed);
      EXPECT_EQ(stored_mark(maker, "a"), Json()) << resized;
    }
  }
}

TEST(MissingMarks, NamesGivenLaterMakeAMarkOfWhatWasShown) {
  StoreMaker maker;
  ArrayPlan plan;
  plan.data_type = "int16";
  plan.fill_value = -999;
  maker.group("").array("a", plan);
  plan.fill_value = 0;  // which may stand for none
  maker.array("b", plan);
  Program program(maker.root());
  program.write("a", ".zattrs", kNamed);
  program.write("b", ".zattrs", kNamed);
  EXPECT_EQ(stored_mark(maker, "a"), -999);
  EXPECT_EQ(stored_mark(maker, "b"), Json());
}

TEST(MissingMarks, NetcdfsOwnDocumentsShowTheMarkThatTheyList) {
  StoreMaker maker;
  Program program(maker.root());
  program.write("a", ".zarray", zarray("<i2", "-999"));
  program.write("a", ".zattrs",
                R"({"_ARRAY_DIMENSIONS": ["y", "x"], "_FillValue": -999,
                    "_NCZARR_ATTR": {"types": {"_FillValue": "<i2"}}})");
  EXPECT_EQ(program.shown("a/.zattrs")["_FillValue"], -999);
  Program next(maker.root(), "generic", false);
  EXPECT_EQ(next.shown("a/.zattrs")["_FillValue"], -999);
  EXPECT_EQ(shown_fill(next, "a"), -999);
}

}  // namespace
}  // namespace zarrfs::test
