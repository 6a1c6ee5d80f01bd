#include <gtest/gtest.h>

#include <string>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/types/data_type.h"

namespace zarrfs {
namespace {

DataType type_called(const std::string& spelled) {
  const auto type = parse_data_type(*parse_json(spelled, "type"));
  EXPECT_TRUE(type) << spelled;
  return type.value_or(DataType{});
}

/// Parses the fill value and expects that it is rendered as `rendered`, by default as it was.
Bytes round_trip(const std::string& type_text, const std::string& fill, std::string rendered = "") {
  const DataType type = type_called(type_text);
  const auto element = parse_fill_value(type, *parse_json(fill, "fill"), false);
  EXPECT_TRUE(element) << type_text << " " << fill << ": "
                       << (element ? "" : element.error().message);
  if (!element) return {};
  if (rendered.empty()) rendered = fill;
  EXPECT_EQ(dump_json(render_fill_value(type, *element, false)), rendered) << type_text;
  return *element;
}

bool refused(const std::string& type_text, const std::string& fill) {
  const auto element = parse_fill_value(type_called(type_text), *parse_json(fill, "fill"), false);
  return !element && element.error().fault == Fault::kDamaged;
}

TEST(FillValues, OfIntegersStayWithinTheirRange) {
  EXPECT_EQ(round_trip(R"("int16")", "-2"), (Bytes{0xFE, 0xFF}));
  EXPECT_EQ(round_trip(R"("uint64")", "18446744073709551615"), Bytes(8, 0xFF));
  EXPECT_EQ(round_trip(R"("int64")", "-9223372036854775808"), (Bytes{0, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(round_trip(R"("uint8")", "3.0", "3"), Bytes{3});
  EXPECT_EQ(round_trip(R"("int4")", "-8"), Bytes{0xF8});
  for (const char* bad : {"256", "-1", "1.5", "\"1\"", "null", "[1]", "18446744073709551616"}) {
    EXPECT_TRUE(refused(R"("uint8")", bad)) << bad;
  }
  EXPECT_TRUE(refused(R"("int64")", "9223372036854775808"));
  EXPECT_TRUE(refused(R"("int2")", "2"));
}

TEST(FillValues, OfBooleans) {
  EXPECT_EQ(round_trip(R"("bool")", "true"), Bytes{1});
  EXPECT_EQ(round_trip(R"("bool")", "0", "false"), Bytes{0});
  EXPECT_TRUE(refused(R"("bool")", "2"));
}

TEST(FillValues, OfFloatsKeepNamesAndPayloads) {
  EXPECT_EQ(round_trip(R"("float32")", "\"NaN\""), (Bytes{0, 0, 0xC0, 0x7F}));
  EXPECT_EQ(round_trip(R"("float32")", "\"0x7fc00001\""), (Bytes{1, 0, 0xC0, 0x7F}));
  EXPECT_EQ(round_trip(R"("float32")", "\"0x7fc00000\"", "\"NaN\""), (Bytes{0, 0, 0xC0, 0x7F}));
  EXPECT_EQ(round_trip(R"("float64")", "\"-Infinity\""), (Bytes{0, 0, 0, 0, 0, 0, 0xF0, 0xFF}));
  EXPECT_EQ(round_trip(R"("float64")", "-0.0"), (Bytes{0, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(round_trip(R"("float16")", "1", "1.0"), (Bytes{0x00, 0x3C}));
  EXPECT_EQ(round_trip(R"("bfloat16")", "NaN", "\"NaN\""), (Bytes{0xC0, 0x7F}));
  EXPECT_EQ(round_trip(R"("float8_e4m3fn")", "\"0xff\""), Bytes{0xFF});
  EXPECT_EQ(round_trip(R"("float32")", "0.10000000149011612"), (Bytes{0xCD, 0xCC, 0xCC, 0x3D}));
  for (const char* bad : {"\"nan\"", "\"0x7fc0\"", "\"0x7fc0000g\"", "1e39", "true", "null"}) {
    EXPECT_TRUE(refused(R"("float32")", bad)) << bad;
  }
  EXPECT_TRUE(refused(R"("float16")", "70000"));
  EXPECT_TRUE(refused(R"("float4_e2m1fn")", "\"NaN\""));
}

TEST(FillValues, OfComplexNumbersArePairs) {
  EXPECT_EQ(round_trip(R"("complex64")", "[1.5,\"NaN\"]"),
            (Bytes{0, 0, 0xC0, 0x3F, 0, 0, 0xC0, 0x7F}));
  EXPECT_EQ(round_trip(R"("complex_bfloat16")", "[1.0,-2.0]"), (Bytes{0x80, 0x3F, 0, 0xC0}));
  EXPECT_TRUE(refused(R"("complex64")", "[1]"));
  EXPECT_TRUE(refused(R"("complex64")", "1"));
}

TEST(FillValues, OfBytesAreReadInEveryForm) {
  const std::string raw = R"({"name": "raw_bytes", "configuration": {"length_bytes": 3}})";
  EXPECT_EQ(round_trip(R"("r24")", "[1,2,255]"), (Bytes{1, 2, 255}));
  EXPECT_EQ(round_trip(R"("r24")", "\"AQL/\"", "[1,2,255]"), (Bytes{1, 2, 255}));
  EXPECT_EQ(round_trip(raw, "\"0x0102ff\"", "\"AQL/\""), (Bytes{1, 2, 255}));
  EXPECT_TRUE(refused(raw, "\"AQI=\""));
  EXPECT_TRUE(refused(raw, "[1,2,256]"));
  EXPECT_TRUE(refused(raw, "\"A\""));
  const std::string text =
      R"({"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}})";
  EXPECT_EQ(round_trip(text, "\"AQL/\"", "\"AQL/AA==\""), (Bytes{1, 2, 255, 0}));
  EXPECT_EQ(round_trip(R"("variable_length_bytes")", "\"Zm9v\""), (Bytes{'f', 'o', 'o'}));
}

TEST(FillValues, OfText) {
  const std::string utf32 =
      R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}})";
  EXPECT_EQ(round_trip(utf32, "\"aé𝄞\""), (Bytes{0x61, 0, 0, 0, 0xE9, 0, 0, 0, 0x1E, 0xD1, 1, 0}));
  EXPECT_EQ(round_trip(utf32, "\"\""), Bytes(12, 0));
  EXPECT_TRUE(refused(utf32, "\"four\""));
  EXPECT_EQ(round_trip(R"("string")", "\"hé\""), (Bytes{'h', 0xC3, 0xA9}));
}

TEST(FillValues, OfTimes) {
  const std::string time = R"({"name": "numpy.datetime64", "configuration": {"unit": "s"}})";
  EXPECT_EQ(round_trip(time, "\"NaT\""), (Bytes{0, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(round_trip(time, "-9223372036854775808", "\"NaT\""),
            (Bytes{0, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(round_trip(time, "-1"), Bytes(8, 0xFF));
}

TEST(FillValues, OfStructsAreObjectsOrPackedBytes) {
  const std::string fields = R"({"fields": [{"name": "a", "data_type": "uint8"},
                                            {"name": "b", "data_type": "int16"}]}})";
  const std::string modern = R"({"name": "struct", "configuration": )" + fields;
  const std::string old = R"({"name": "structured", "configuration": )" + fields;
  EXPECT_EQ(round_trip(modern, R"({"a":1,"b":2})"), (Bytes{1, 2, 0}));
  EXPECT_EQ(round_trip(old, "\"AQIA\""), (Bytes{1, 2, 0}));
  EXPECT_TRUE(refused(modern, R"({"a":1})"));
  EXPECT_TRUE(refused(modern, R"({"a":1,"b":2,"c":3})"));
  const DataType type = type_called(old);
  const auto big = parse_fill_value(type, "AQAC", true);
  ASSERT_TRUE(big);
  EXPECT_EQ(*big, (Bytes{1, 2, 0}));
  EXPECT_EQ(render_fill_value(type, *big, true), "AQAC");
}

TEST(Base64, RoundTripsAndRefusesOtherText) {
  for (const Bytes& bytes :
       {Bytes{}, Bytes{0}, Bytes{1, 2}, Bytes{255, 254, 253}, Bytes{1, 2, 3, 4}}) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
  for (const char* bad : {"A", "AB", "ABC", "AB=C", "A===", "====", "AB C", "AAA\n"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace zarrfs
