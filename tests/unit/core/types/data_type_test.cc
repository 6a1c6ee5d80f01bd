#include "core/types/data_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/types/small_float.h"

namespace zarrfs {
namespace {

DataType type_of(const std::string& spelled) {
  const auto json = parse_json(spelled, "type");
  const auto type = parse_data_type(*json);
  EXPECT_TRUE(type) << spelled << ": " << (type ? "" : type.error().message);
  return type.value_or(DataType{});
}

Fault fault_of_type(const std::string& spelled) {
  const auto type = parse_data_type(*parse_json(spelled, "type"));
  EXPECT_FALSE(type) << spelled;
  return type ? Fault::kIo : type.error().fault;
}

TEST(DataTypes, CoreTypesHaveTheirSizes) {
  EXPECT_EQ(type_of(R"("bool")").size, 1U);
  EXPECT_EQ(type_of(R"("int64")").size, 8U);
  EXPECT_EQ(type_of(R"("complex128")").size, 16U);
  EXPECT_EQ(type_of(R"("r24")").size, 3U);
  EXPECT_EQ(type_of(R"("bfloat16")").size, 2U);
  EXPECT_EQ(type_of(R"("complex_float8_e5m2")").size, 2U);
  EXPECT_TRUE(type_of(R"("string")").variable_length());
  EXPECT_EQ(
      type_of(R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}})").size,
      12U);
}

TEST(DataTypes, ObjectsWithoutConfigurationAreSpelledAsNames) {
  EXPECT_EQ(*type_of(R"({"name": "int32"})").spelled, "int32");
  EXPECT_EQ(*type_of(R"({"name": "int32", "configuration": {}})").spelled, "int32");
  const char* const time = R"({"name":"numpy.datetime64","configuration":{"unit":"ns"}})";
  EXPECT_EQ(dump_json(type_of(time).spelled), time);
}

TEST(DataTypes, AliasesBecomeCanonical) {
  EXPECT_EQ(type_of(R"("complex_float32")").name, "complex64");
  EXPECT_EQ(type_of(R"("bytes")").kind, TypeKind::kVariableBytes);
  EXPECT_EQ(type_of(R"({"name": "numpy.datetime64", "configuration": {"unit": "μs"}})").unit, "us");
}

TEST(DataTypes, StructsArePackedInBothSpellings) {
  const DataType modern = type_of(
      R"({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "uint8"},
          {"name": "b", "data_type": "float64"}]}})");
  EXPECT_EQ(modern.size, 9U);
  EXPECT_EQ(modern.swap_unit(), 8U);
  const DataType old = type_of(
      R"({"name": "structured", "configuration": {"fields": [["a", "uint8"], ["b", "int16"]]}})");
  EXPECT_EQ(old.size, 3U);
  EXPECT_TRUE(old.legacy_struct);
}

TEST(DataTypes, UnknownOnesAreUnsupportedAndMalformedOnesDamaged) {
  EXPECT_EQ(fault_of_type(R"("zarrs.optional")"), Fault::kUnsupported);
  EXPECT_EQ(fault_of_type(R"("r7")"), Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"("r0")"), Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"("r99999999999999999999")"), Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"("r80000000000000000")"), Fault::kUnsupported);
  EXPECT_EQ(fault_of_type("12"), Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"({"name": 3})"), Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"({"name": "raw_bytes"})"), Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"({"name": "raw_bytes", "configuration": {"length_bytes": -1}})"),
            Fault::kDamaged);
  EXPECT_EQ(
      fault_of_type(R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}})"),
      Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"({"name": "numpy.datetime64", "configuration": {"unit": "week"}})"),
            Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"({"name": "struct", "configuration": {"fields": []}})"),
            Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"({"name": "structured", "configuration": {"fields":
                              [["a", "int8"], ["a", "int8"]]}})"),
            Fault::kDamaged);
  EXPECT_EQ(fault_of_type(R"({"name": "structured", "configuration": {"fields":
                              [["a", "string"]]}})"),
            Fault::kUnsupported);
}

TEST(DataTypes, DeepStructsAreRefused) {
  Json type = "int8";
  for (int i = 0; i < 50; ++i) {
    type = Json{{"name", "structured"},
                {"configuration", {{"fields", Json::array({Json::array({"f", type})})}}}};
  }
  EXPECT_EQ(parse_data_type(type).error().fault, Fault::kUnsupported);
}

TEST(SwapElements, TurnsEachFieldRoundByItsOwnSize) {
  const DataType type = type_of(
      R"({"name": "structured", "configuration": {"fields": [["a", "uint8"], ["b", "int16"]]}})");
  Bytes bytes = {1, 2, 3, 4, 5, 6};
  swap_elements(type, bytes);
  EXPECT_EQ(bytes, (Bytes{1, 3, 2, 4, 6, 5}));
  Bytes complex = {1, 2, 3, 4, 5, 6, 7, 8};
  swap_elements(type_of(R"("complex64")"), complex);
  EXPECT_EQ(complex, (Bytes{4, 3, 2, 1, 8, 7, 6, 5}));
}

// ---- small types -----------------------------------------------------------------------------

/// Checksums of what ml_dtypes 0.5 (numpy for float16) makes of all codes and of many numbers.
struct KnownFormat {
  const char* name;
  std::uint32_t decoded;
  std::uint32_t encoded;
};

constexpr KnownFormat kKnownFormats[] = {
    {"float16", 0x04a132e4U, 0x973964feU},
    {"bfloat16", 0xa40a1e12U, 0x46d7909bU},
    {"float8_e3m4", 0x2e12f206U, 0x423e796dU},
    {"float8_e4m3", 0xc821160dU, 0xd96a2b92U},
    {"float8_e4m3b11fnuz", 0x9a284b9fU, 0x4096c282U},
    {"float8_e4m3fn", 0x5cf3155cU, 0x549d77caU},
    {"float8_e4m3fnuz", 0xd6d18dd0U, 0x7a272af8U},
    {"float8_e5m2", 0x9989bbf5U, 0x86aeac30U},
    {"float8_e5m2fnuz", 0x57e4a6bcU, 0x26bd46c6U},
    {"float8_e8m0fnu", 0xe25aa395U, 0x8f2cbd55U},
    {"float6_e2m3fn", 0x509bfcecU, 0xf46de760U},
    {"float6_e3m2fn", 0x8480bb6bU, 0x5dfc44beU},
    {"float4_e2m1fn", 0x089d4a58U, 0x3b1361c5U},
};

std::vector<float> sample_numbers() {
  std::vector<float> any;
  std::vector<float> near_one;
  for (std::uint64_t i = 1; i <= 20000; ++i) {
    const auto bits = static_cast<std::uint32_t>(i * 2654435761U);
    const auto value = std::bit_cast<float>(bits);
    if (std::isfinite(value)) any.push_back(value);
    near_one.push_back(std::ldexp(1.0F + static_cast<float>(bits & 0xFFU) / 256.0F,
                                  static_cast<int>((bits >> 8U) % 40U) - 24));
  }
  any.insert(any.end(), near_one.begin(), near_one.end());
  for (const float value : near_one) any.push_back(-value);
  any.push_back(0.0F);
  any.push_back(-0.0F);
  return any;
}

TEST(SmallFloats, DecodeEveryCodeAsMlDtypesDoes) {
  for (const KnownFormat& known : kKnownFormats) {
    const SmallFloat* format = find_small_float(known.name);
    ASSERT_NE(format, nullptr) << known.name;
    Bytes decoded;
    for (std::uint32_t code = 0; code < 1U << format->bits(); ++code) {
      const float value = decode_small_float(*format, code);
      append_little(decoded, std::isnan(value) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(value));
    }
    EXPECT_EQ(crc32c(decoded), known.decoded) << known.name;
  }
}

TEST(SmallFloats, RoundAsMlDtypesDoes) {
  const auto numbers = sample_numbers();
  for (const KnownFormat& known : kKnownFormats) {
    const SmallFloat* format = find_small_float(known.name);
    Bytes encoded;
    const bool e8m0 = format->special == SmallFloat::Special::kE8m0;
    for (const float number : numbers) {
      // ml_dtypes does not round the subnormal numbers below the smallest code to the nearest.
      if (e8m0 && number < std::numeric_limits<float>::min()) continue;
      const auto code = encode_small_float(*format, number);
      if (!code) continue;
      encoded.push_back(static_cast<std::uint8_t>(*code));
      if (format->size() == 2) encoded.push_back(static_cast<std::uint8_t>(*code >> 8U));
    }
    EXPECT_EQ(crc32c(encoded), known.encoded) << known.name;
  }
}

TEST(Widen, IsUndoneByNarrowForEveryCode) {
  for (const char* name : {"bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
                           "float4_e2m1fn", "complex_float16", "complex_bfloat16"}) {
    const DataType type = type_of("\"" + std::string(name) + "\"");
    const bool wide = name[0] == 'b' || name[0] == 'c';
    Bytes codes;
    for (std::uint32_t code = 0; code < (wide ? 65536U : name[5] == '4' ? 16U : 256U); ++code) {
      codes.push_back(static_cast<std::uint8_t>(code));
      if (wide) codes.push_back(static_cast<std::uint8_t>(code >> 8U));
    }
    const auto back = narrow(type, widen(type, codes));
    ASSERT_TRUE(back) << name;
    EXPECT_EQ(*back, codes) << name;
  }
}

TEST(Widen, SmallIntegersIgnoreTheUpperBits) {
  EXPECT_EQ(widen(type_of(R"("int4")"), Bytes{0x07, 0xF8, 0x0F}), (Bytes{0x07, 0xF8, 0xFF}));
  EXPECT_EQ(widen(type_of(R"("uint4")"), Bytes{0xF7, 0x0F}), (Bytes{0x07, 0x0F}));
  EXPECT_EQ(widen(type_of(R"("int2")"), Bytes{0x01, 0x02, 0xFF}), (Bytes{0x01, 0xFE, 0xFF}));
  EXPECT_EQ(widened(type_of(R"("int2")")).name, "int8");
}

TEST(Narrow, RefusesWhatDoesNotFit) {
  EXPECT_EQ(narrow(type_of(R"("int4")"), Bytes{8}).error().fault, Fault::kInvalid);
  EXPECT_EQ(narrow(type_of(R"("uint2")"), Bytes{4}).error().message, "4 does not fit uint2");
  Bytes nan;
  append_little(nan, std::nanf(""));
  EXPECT_EQ(narrow(type_of(R"("float4_e2m1fn")"), nan).error().fault, Fault::kInvalid);
}

TEST(Widen, StructsWidenFieldByField) {
  const DataType type = type_of(
      R"({"name": "structured", "configuration": {"fields": [["a", "int4"], ["b", "bfloat16"]]}})");
  const DataType wide = widened(type);
  EXPECT_EQ(wide.size, 5U);
  EXPECT_EQ(dump_json(wide.spelled["configuration"]),
            R"({"fields":[["a","int8"],["b","float32"]]})");
  const Bytes packed = {0x0F, 0x80, 0x3F};
  EXPECT_EQ(widen(type, packed), (Bytes{0xFF, 0, 0, 0x80, 0x3F}));
  EXPECT_EQ(*narrow(type, widen(type, packed)), (Bytes{0xFF, 0x80, 0x3F}));
}

// ---- numpy -----------------------------------------------------------------------------------

TEST(NumpyTypes, AreSpelledAsNumpyDoes) {
  EXPECT_EQ(numpy_typestr(type_of(R"("bool")"), true), "|b1");
  EXPECT_EQ(numpy_typestr(type_of(R"("uint8")"), true), "|u1");
  EXPECT_EQ(numpy_typestr(type_of(R"("int32")"), false), "<i4");
  EXPECT_EQ(numpy_typestr(type_of(R"("complex64")"), true), ">c8");
  EXPECT_EQ(numpy_typestr(type_of(R"("r56")"), true), "|V7");
  EXPECT_EQ(numpy_typestr(type_of(R"("string")"), false), "|O");
  EXPECT_EQ(numpy_typestr(
                type_of(R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}})"),
                true),
            ">U3");
  EXPECT_EQ(numpy_typestr(type_of(R"({"name": "numpy.datetime64", "configuration":
                                      {"unit": "us", "scale_factor": 10}})"),
                          false),
            "<M8[10us]");
}

TEST(NumpyTypes, AreReadInEverySpelling) {
  for (const char* text : {"|b1", "<i4", ">i4", "|u1", "<f2", ">c16", "|S5", "<U3", "|V7",
                           "<M8[10us]", ">m8[ns]", "<M8"}) {
    const auto numpy = parse_numpy_type(text);
    ASSERT_TRUE(numpy) << text;
    EXPECT_EQ(numpy_typestr(numpy->type, numpy->big_endian), text);
  }
  EXPECT_EQ(parse_numpy_type("int32")->type.name, "int32");
  EXPECT_EQ(parse_numpy_type("datetime64[ns]")->type.unit, "ns");
  EXPECT_FALSE(parse_numpy_type(">u1")->big_endian);
  EXPECT_EQ(parse_numpy_type("f4")->type.name, "float32");
}

TEST(NumpyTypes, OthersAreUnsupported) {
  for (const char* text : {"", "<", "<i3", "<i16", "<f16", "|O", "<M8[", "<M8[x]", "<M8[0s]", "<U",
                           "<U99999999999", "|V0", "int32 "}) {
    const auto numpy = parse_numpy_type(text);
    ASSERT_FALSE(numpy) << text;
    EXPECT_EQ(numpy.error().fault, Fault::kUnsupported) << text;
  }
}

}  // namespace
}  // namespace zarrfs
