#include "fs/serve/http_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/serve/access.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using Kind = RangeAsked::Kind;

TEST(Target, IsNamesAndAQuery) {
  const auto target = parse_target("/a%20b//c/?x=1&token=a%2Bb");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->names, ElementsAre("a b", "c"));
  EXPECT_TRUE(target->directory);
  EXPECT_EQ(target->member("token"), "a+b");
  EXPECT_EQ(target->member("y"), "");
  EXPECT_THAT(parse_target("http://host:80/a?b")->names, ElementsAre("a"));
  EXPECT_TRUE(parse_target("/")->names.empty());
}

TEST(Target, OfNoFileIsRefused) {
  for (const char* text : {"", "a", "/a/../b", "/%2e%2e", "/./a", "/a%2fb", "/%00", "/a%0", "/%zz",
                           "http://host", "*"}) {
    const auto target = parse_target(text);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error().fault, Fault::kInvalid);
  }
}

TEST(Range, IsAPartOfTheFile) {
  const auto part = [](std::string_view text, std::uint64_t size) {
    const RangeAsked asked = parse_range(text, size);
    EXPECT_EQ(asked.kind, Kind::kPart) << text;
    return std::pair(asked.part.offset, asked.part.length);
  };
  EXPECT_EQ(part("bytes=0-0", 10), std::pair(std::uint64_t{0}, std::uint64_t{1}));
  EXPECT_EQ(part("bytes=2-", 10), std::pair(std::uint64_t{2}, std::uint64_t{8}));
  EXPECT_EQ(part("Bytes = 2-99", 10), std::pair(std::uint64_t{2}, std::uint64_t{8}));
  EXPECT_EQ(part("bytes=-3", 10), std::pair(std::uint64_t{7}, std::uint64_t{3}));
  EXPECT_EQ(part("bytes=-99", 10), std::pair(std::uint64_t{0}, std::uint64_t{10}));
  EXPECT_EQ(part("bytes=1-99999999999999999999", 10),
            std::pair(std::uint64_t{1}, std::uint64_t{9}));
}

TEST(Range, OfNothingIsNotSatisfiable) {
  for (const char* text : {"bytes=10-", "bytes=99999999999999999999-", "bytes=-0"}) {
    EXPECT_EQ(parse_range(text, 10).kind, Kind::kUnsatisfiable) << text;
  }
  EXPECT_EQ(parse_range("bytes=0-", 0).kind, Kind::kUnsatisfiable);
  EXPECT_EQ(parse_range("bytes=-5", 0).kind, Kind::kUnsatisfiable);
}

TEST(Range, ThatIsNoneIsTheWhole) {
  for (const char* text : {"", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "items=0-1",
                           "bytes=0-1,3-4", "bytes=+1-2"}) {
    EXPECT_EQ(parse_range(text, 10).kind, Kind::kWhole) << text;
  }
}

TEST(Accepts, WhatIsNamedWithAWeight) {
  EXPECT_TRUE(accepts("br, GZIP ;q=0.1", "gzip"));
  EXPECT_FALSE(accepts("br, gzip;q=0.00", "gzip"));
  EXPECT_FALSE(accepts("*", "gzip"));
  EXPECT_FALSE(accepts("gzipped", "gzip"));
}

TEST(Tags, AreNamedInLists) {
  EXPECT_TRUE(names_tag("\"a\", \"b\"", "\"b\"", false));
  EXPECT_TRUE(names_tag(" * ", "\"b\"", false));
  EXPECT_TRUE(names_tag("W/\"b\"", "\"b\"", true));
  EXPECT_FALSE(names_tag("W/\"b\"", "\"b\"", false));
  EXPECT_FALSE(names_tag("\"ab\"", "\"b\"", true));
}

TEST(Html, IsEscaped) {
  EXPECT_EQ(html_escape("<a b='\"&\">"), "&lt;a b=&#39;&quot;&amp;&quot;&gt;");
}

struct Asking : ::testing::Test {
  std::optional<unsigned> status(const AccessRules& rules) const {
    const auto stopped = Access(rules).stop(request, *parse_target(request.target));
    return stopped ? std::optional(stopped->status) : std::nullopt;
  }
  Request request{.method = "GET", .target = "/a", .fields = {{"host", "localhost:1"}}, .body = ""};
};

TEST_F(Asking, FromAnUnknownPageIsRefused) {
  request.fields.emplace_back("origin", "https://evil.example");
  EXPECT_EQ(status({}), 403U);
  EXPECT_EQ(status({.origins = {"*"}, .hosts = {}, .token = ""}), std::nullopt);
}

TEST_F(Asking, ByAnotherNameIsRefused) {
  request.fields = {{"host", "evil.example"}};
  EXPECT_EQ(status({}), 421U);
  EXPECT_EQ(status({.origins = {}, .hosts = {"evil.example"}, .token = ""}), std::nullopt);
}

TEST_F(Asking, WithoutTheTokenIsRefused) {
  const AccessRules rules{.origins = {}, .hosts = {}, .token = "abc"};
  EXPECT_EQ(status(rules), 401U);
  request.target = "/a?token=abcabc";
  EXPECT_EQ(status(rules), 401U);
  request.target = "/a?token=abc";
  EXPECT_EQ(status(rules), std::nullopt);
}

}  // namespace
}  // namespace zarrfs
