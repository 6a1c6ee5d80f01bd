// What a program may make in a mount is shown so that chunks which it writes by its own document
// are read the same.
#include "core/nodes/array_document.h"

#include <gtest/gtest.h>

#include <random>

#include "core/base/json.h"
#include "core/codecs/codec.h"
#include "core/metadata/v2_metadata.h"
#include "tests/unit/core/present/present_support.h"

namespace zarrfs::present_test {
namespace {

/// Chunks of `chunk`, of an array that has some of them along each axis.
Json v2_document(const std::string& dtype, const std::vector<std::uint64_t>& chunk,
                 const std::string& order, const Json& filters) {
  Json document = json(R"({"zarr_format": 2, "fill_value": null, "compressor": null})");
  document["shape"] = Json::array();
  for (const std::uint64_t edge : chunk) document["shape"].push_back(3 * edge);
  document["chunks"] = chunk;
  document["dtype"] = dtype;
  document["order"] = order;
  document["filters"] = filters;
  return document;
}

struct Made {
  bool accepted = false;
  std::string shown;
  bool same = true;  ///< Random elements of whole chunks, written by the one and read by the other.
};

Bytes random_elements(const Elements& elements, std::mt19937& random) {
  Bytes bytes(elements.bytes());
  for (std::uint8_t& byte : bytes) {
    byte =
        static_cast<std::uint8_t>(elements.type.kind == TypeKind::kBool ? random() % 2 : random());
  }
  return bytes;
}

Made make(const Json& written, const std::string& profile_name, std::mt19937& random) {
  ViewOptions options = with_profile(profile_name);
  options.writing.emplace();
  const auto profile = choose_profile(options);
  auto plain = v3_document_of_v2(written, Json(), "a");
  if (!profile || !plain) return {};
  auto array = array_to_store(std::move(*plain), "a", options);
  if (!array || !check_shown_as_written(*array, "a", *profile, options, {})) return {};
  Made made;
  made.accepted = true;
  auto layout = Layout::make(array->stored);
  const std::vector<std::uint64_t> chunk = layout->chunk_shape();
  const Presentation shown =
      present_array("a", std::make_shared<const ArrayMetadata>(array->stored),
                    std::make_shared<const Layout>(std::move(*layout)), *profile, options, {});
  made.shown = dump_json(shown.document);
  const auto read = parse_array(*v3_document_of_v2(shown.document, Json(), "a"), "a");
  const auto writer = CodecChain::make(array->written.codecs, {array->written.type, chunk});
  const auto reader = CodecChain::make(read->codecs, {read->type, chunk});
  for (int i = 0; i < 8 && made.same; ++i) {
    const auto encoded = writer->encode(random_elements(writer->decoded(), random));
    if (!encoded) continue;  // no program writes it either
    const auto ours = writer->decode(*encoded);
    const auto theirs = reader->decode(*encoded);
    made.same = ours && theirs && *ours == *theirs;
  }
  return made;
}

TEST(ArrayDocument, WhatIsAcceptedIsReadAsItIsWritten) {
  std::mt19937 random(7);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  const Json shuffle = json(R"([{"id": "shuffle", "elementsize": 4}])");
  for (const char* profile : {"generic", "xarray", "gdal", "netcdf", "ome"}) {
    for (const char* dtype :
         {"|b1", "|i1", "<i2", ">i2",  "<i4", ">i4", "<u8", ">u8", "<f4",    ">f4",   "<f8",
          ">f8", "<c8", ">c8", ">c16", "|S3", "<U1", ">U1", ">U2", "<M8[s]", ">M8[s]"}) {
      for (const std::vector<std::uint64_t>& chunk : {std::vector<std::uint64_t>{1},
                                                      {2},
                                                      {3},
                                                      {4},
                                                      {7},
                                                      {1, 1},
                                                      {1, 5},
                                                      {5, 1},
                                                      {4, 4},
                                                      {2, 6},
                                                      {2, 2, 2},
                                                      {4, 4, 4}}) {
        for (const char* order : {"C", "F"}) {
          for (const Json& filters : {Json(), shuffle}) {
            const Json written = v2_document(dtype, chunk, order, filters);
            const Made made = make(written, profile, random);
            ++(made.accepted ? accepted : refused);
            EXPECT_TRUE(made.same) << profile << ": " << written << "\nis shown as " << made.shown;
          }
        }
      }
    }
  }
  EXPECT_GT(accepted, 1000U);
  EXPECT_GT(refused, 200U);
}

}  // namespace
}  // namespace zarrfs::present_test
