#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/base/json.h"
#include "core/codecs/element_numbers.h"
#include "tools/picture/element_gauge.h"
#include "tools/picture/slice.h"
#include "tools/picture/terminal.h"

namespace zarrfs::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Shape = std::vector<std::uint64_t>;

DataType type_of(const char* json) { return *parse_data_type(Json::parse(json)); }

template <class T>
Bytes element(T value) {
  Bytes bytes(sizeof(T));
  store_element(bytes, 0, value);
  return bytes;
}

TEST(ParseSlice, ReadsWhatNumpyReads) {
  const Shape shape = {10, 20, 30};
  EXPECT_THAT(*parse_slice("", shape), ElementsAre(AxisSlice{0, 10, false}, AxisSlice{0, 20, false},
                                                   AxisSlice{0, 30, false}));
  EXPECT_THAT(
      *parse_slice("-1, 5:, :-2", shape),
      ElementsAre(AxisSlice{9, 10, true}, AxisSlice{5, 20, false}, AxisSlice{0, 28, false}));
  EXPECT_THAT(*parse_slice("..., 3", shape),
              ElementsAre(AxisSlice{0, 10, false}, AxisSlice{0, 20, false}, AxisSlice{3, 4, true}));
  EXPECT_THAT(*parse_slice("", Shape{}), ElementsAre());
}

TEST(ParseSlice, NamesTheAxisThatDoesNotFit) {
  const Shape shape = {10, 20};
  for (const char* text :
       {"10", "-11", "3:2", "0,21:", "a", "1:2:3", ",", "+1", "1e0", ":99", "--1"}) {
    EXPECT_FALSE(parse_slice(text, shape)) << text;
  }
  EXPECT_THAT(parse_slice("0,25", shape).error().message,
              HasSubstr("\"25\" does not fit axis 1, which has 20 elements"));
  EXPECT_THAT(parse_slice("0,0,0", shape).error().message, HasSubstr("has 2 axes"));
  EXPECT_FALSE(parse_slice("0", Shape{0}));
}

TEST(ChoosePlane, DrawsTheLastTwoAxesAndCutsTheOthersInTheMiddle) {
  const Plane plane = *choose_plane(*parse_slice("", Shape{9, 4, 6, 8}), {});
  EXPECT_EQ(plane.text(), "[4, 2, 0:6, 0:8]");
  EXPECT_EQ(choose_plane(*parse_slice("...,3", Shape{9, 4, 6}), {})->text(), "[0:9, 0:4, 3]");
  EXPECT_EQ(choose_plane(*parse_slice("", Shape{5}), {})->text(), "[0:5]");
  EXPECT_EQ(choose_plane(*parse_slice("", Shape{}), {})->text(), "[]");
}

TEST(ChoosePlane, TakesTheAxesThatAreNamed) {
  const auto slices = *parse_slice("", Shape{9, 4, 6});
  const Plane plane = *choose_plane(slices, {2, 0});
  EXPECT_EQ(plane.down.axis, 2U);
  EXPECT_EQ(plane.right.axis, 0U);
  EXPECT_FALSE(choose_plane(slices, {1, 1}));
  EXPECT_FALSE(choose_plane(slices, {1, 3}));
  EXPECT_FALSE(choose_plane(*parse_slice("1", Shape{9, 4, 6}), {0, 1}));
}

TEST(Fit, KeepsSquaresAndNeverHidesASide) {
  Plane plane = *choose_plane(*parse_slice("", Shape{100, 200}), {});
  fit(plane, 40, 80, 16);
  EXPECT_EQ(plane.down.pixels, 40U);
  EXPECT_EQ(plane.right.pixels, 80U);
  Plane thin = *choose_plane(*parse_slice("", Shape{1000000, 2}), {});
  fit(thin, 40, 80, 16);
  EXPECT_EQ(thin.down.pixels, 40U);
  EXPECT_EQ(thin.right.pixels, 2U);
  EXPECT_EQ(thin.down.element_of(0), 12500U);
  EXPECT_LT(thin.down.element_of(39), 1000000U);
}

TEST(Fit, ShowsEachElementOfWhatIsSmallOftenEnough) {
  Plane plane = *choose_plane(*parse_slice("", Shape{2, 3}), {});
  fit(plane, 400, 400, 4);
  EXPECT_EQ(plane.down.pixels, 8U);
  EXPECT_EQ(plane.right.pixels, 12U);
  EXPECT_EQ(plane.right.element_of(3), 0U);
  EXPECT_EQ(plane.right.element_of(4), 1U);
  EXPECT_EQ(plane.right.element_of(11), 2U);
}

TEST(ElementGauge, KeepsRangesExact) {
  auto gauge = *ElementGauge::make(type_of(R"("uint64")"), "");
  EXPECT_EQ(gauge.take(element(std::uint64_t{7})), 7.0);
  EXPECT_TRUE(gauge.take(element(std::numeric_limits<std::uint64_t>::max())));
  gauge.finish();
  EXPECT_EQ(gauge.low_text(), "7");
  EXPECT_EQ(gauge.high_text(), "18446744073709551615");
}

TEST(ElementGauge, LeavesOutWhatIsNoNumber) {
  auto gauge = *ElementGauge::make(type_of(R"("float32")"), "");
  EXPECT_FALSE(gauge.take(element(std::nanf(""))));
  EXPECT_FALSE(gauge.take(element(std::numeric_limits<float>::infinity())));
  EXPECT_EQ(gauge.low_text(), "");
  EXPECT_EQ(gauge.take(element(-1.5F)), -1.5);
  EXPECT_EQ(gauge.low_text(), "-1.5");
}

TEST(ElementGauge, ReadsTimesComplexNumbersAndFields) {
  auto days = *ElementGauge::make(
      type_of(R"({"name": "numpy.datetime64", "configuration": {"unit": "D", "scale_factor": 1}})"),
      "");
  EXPECT_TRUE(days.take(element(std::int64_t{365})));
  EXPECT_FALSE(days.take(element(std::numeric_limits<std::int64_t>::min())));
  EXPECT_EQ(days.low_text(), "1971-01-01T00:00:00");

  auto complex = *ElementGauge::make(type_of(R"("complex64")"), "");
  EXPECT_EQ(complex.take(element(std::array<float, 2>{3, 4})), 5.0);
  EXPECT_EQ(complex.what(), "magnitude");

  const DataType pair = type_of(R"({"name": "struct", "configuration": {"fields": [
      {"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "uint8"}]}})");
  auto field = *ElementGauge::make(pair, "b");
  EXPECT_EQ(field.take(Bytes{1, 0, 9}), 9.0);
  EXPECT_EQ(field.what(), "field b");
  EXPECT_EQ(ElementGauge::make(pair, "")->take(Bytes{1, 1, 9}), 257.0);
  EXPECT_THAT(ElementGauge::make(pair, "c").error().message, HasSubstr("fields are a, b"));
  EXPECT_FALSE(ElementGauge::make(type_of(R"("int8")"), "a"));
}

TEST(ElementGauge, OrdersText) {
  auto gauge = *ElementGauge::make(type_of(R"("string")"), "");
  const double pear = *gauge.take(Bytes{'p'});
  const double apple = *gauge.take(Bytes{'a', '\n'});
  EXPECT_EQ(gauge.take(Bytes{'p'}), pear);
  gauge.finish();
  EXPECT_LT(gauge.place_of(apple), gauge.place_of(pear));
  EXPECT_EQ(gauge.high(), 1.0);
  EXPECT_EQ(gauge.low_text(), "\"a\\x0a\"");
  EXPECT_EQ(gauge.high_text(), "\"p\"");
}

TEST(ElementGauge, ReadsTypesThatNumpyLacksAsTheyAreWidened) {
  const DataType type = type_of(R"("bfloat16")");
  auto gauge = *ElementGauge::make(type, "");
  EXPECT_EQ(gauge.take(widen(type, Bytes{0x40, 0x40})), 3.0);
}

TEST(TerminalPicture, HasColoursOrCharacters) {
  const std::vector<Colour> cells = {scale_colour(0), scale_colour(1), kMissingColour,
                                     kDamageColour,   scale_colour(0), scale_colour(1),
                                     kMissingColour,  scale_colour(0)};
  EXPECT_EQ(terminal_picture(cells, 2, 4, ColourDepth::kNone), ".@ X\n");
  EXPECT_THAT(terminal_picture(cells, 2, 4, ColourDepth::k24Bit),
              HasSubstr("\033[38;2;253;231;37m\033[48;2;253;231;37m\u2580"));
  const std::vector<Colour> red = {Colour{255, 0, 0}, Colour{128, 128, 128}};
  EXPECT_EQ(terminal_picture(red, 2, 1, ColourDepth::k256),
            "\033[38;5;196m\033[48;5;244m\u2580\033[0m\n");
}

}  // namespace
}  // namespace zarrfs::tools
