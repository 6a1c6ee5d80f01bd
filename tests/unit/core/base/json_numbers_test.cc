#include "core/base/json_numbers.h"

#include <gtest/gtest.h>

namespace zarrfs {
namespace {

/// Place and spelling of what is found; empty where nothing is.
std::string found_in(std::string_view text, std::string_view member = "") {
  const auto checked = check_integers(text, member, "doc");
  if (checked) return "";
  EXPECT_EQ(checked.error().fault, Fault::kInvalid);
  const std::string& message = checked.error().message;
  return message.substr(5, message.find(" is an integer beyond 64 bits") - 5);
}

TEST(JsonNumbers, IntegersBeyond64BitsAreFoundWithTheirPlace) {
  EXPECT_EQ(found_in(R"({"a": 18446744073709551615, "b": -9223372036854775808})"), "");
  EXPECT_EQ(found_in(R"({"a": 18446744073709551616})"), "a: 18446744073709551616");
  EXPECT_EQ(found_in(R"({"a": [{}, [], {"b": [1, -9223372036854775809]}]})"),
            "a[2].b[1]: -9223372036854775809");
  EXPECT_EQ(found_in("99999999999999999999"), ": 99999999999999999999");
}

TEST(JsonNumbers, FloatsAndTextsAreNoLongIntegers) {
  EXPECT_EQ(found_in(R"([1e22, 99999999999999999999.0, "99999999999999999999", NaN, -0.0])"), "");
  EXPECT_EQ(found_in(R"({"a": 1} 99999999999999999999)"), "");
  EXPECT_EQ(found_in(R"({"a": )"), "");
}

TEST(JsonNumbers, OnlyTheMemberThatIsAskedForCounts) {
  const std::string_view text = R"({"fill_value": 99999999999999999999, "attributes": {"k": 1}})";
  EXPECT_EQ(found_in(text, "attributes"), "");
  EXPECT_EQ(found_in(text, "fill_value"), "fill_value: 99999999999999999999");
  EXPECT_EQ(found_in(R"({"x": {"attributes": 99999999999999999999}})", "attributes"), "");
}

}  // namespace
}  // namespace zarrfs
