#include "core/present/consolidated.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace zarrfs {
namespace {

TEST(Consolidated, TextHoldsEveryDocumentByItsKey) {
  ConsolidatedText text;
  text.add("", ".zgroup", "{\"zarr_format\": 2}\n");
  text.add("a/\"b\"", ".zattrs", R"({"x": [1, "NaN"]})");
  EXPECT_EQ(Json::parse(std::move(text).finish()),
            Json::parse(R"({"zarr_consolidated_format": 1, "metadata": {
                ".zgroup": {"zarr_format": 2}, "a/\"b\"/.zattrs": {"x": [1, "NaN"]}}})"));
  EXPECT_EQ(Json::parse(ConsolidatedText().finish())["metadata"], Json::object());
}

TEST(Consolidated, InlineFormNamesItsKind) {
  EXPECT_EQ(inline_consolidated({{"a", Json::parse("{}")}}),
            Json::parse(R"({"kind": "inline", "must_understand": false, "metadata": {"a": {}}})"));
}

}  // namespace
}  // namespace zarrfs
