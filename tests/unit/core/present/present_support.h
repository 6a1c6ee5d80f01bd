// Arrays and their presentations for tests: a sharded array of one type and one inner chain.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/present/presentation.h"
#include "core/present/view_options.h"

namespace zarrfs::present_test {

inline Json json(const std::string& text) { return Json::parse(text); }

/// An array document of shape [4, 6] in shards of the same shape, whose inner chunks have the shape
/// [2, 3].
inline Json sharded(const Json& data_type, const Json& fill, const Json& inner_codecs) {
  Json document = json(R"({"zarr_format": 3, "node_type": "array", "shape": [4, 6],
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
    "chunk_key_encoding": {"name": "default"}, "attributes": {},
    "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3],
      "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
      "index_location": "end"}}]})");
  document["data_type"] = data_type;
  document["fill_value"] = fill;
  document["codecs"][0]["configuration"]["codecs"] = inner_codecs;
  return document;
}

/// The presentation of `document`, `for_all_readers` as in a default mount; the test fails, with
/// the message, where it is not an array.
inline Presentation present(const Json& document, const ViewOptions& options,
                            const ArrayCircumstances& circumstances = {},
                            bool for_all_readers = false) {
  auto array = parse_array(document, "a");
  EXPECT_TRUE(array) << array.error().message << "\n" << document.dump();
  if (!array) return {};
  auto layout = Layout::make(*array);
  EXPECT_TRUE(layout) << layout.error().message << "\n" << document.dump();
  if (!layout) return {};
  auto profile = choose_profile(options);
  EXPECT_TRUE(profile) << profile.error().message;
  if (!profile) return {};
  profile->as_noted = profile->as_noted || for_all_readers;
  return present_array("a", std::make_shared<const ArrayMetadata>(std::move(*array)),
                       std::make_shared<const Layout>(std::move(*layout)), *profile, options,
                       circumstances);
}

inline ViewOptions with_profile(const std::string& name) {
  ViewOptions options;
  options.profile = name;
  return options;
}

}  // namespace zarrfs::present_test
