// The table of schemes, as messages and rules read it.
#include "core/store/http/schemes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace zarrfs {
namespace {

TEST(Schemes, AreFoundInSources) {
  EXPECT_EQ(scheme_name("s3://bucket/a"), "s3");
  EXPECT_EQ(scheme_name("file:/a"), "file");
  for (const char* path : {"/a", "a", "a:b", "a:/b", ":", "://a", "a b://c"}) {
    EXPECT_EQ(scheme_name(path), "") << path;
  }
  EXPECT_EQ(scheme_named("ftp"), nullptr);
}

TEST(Schemes, ThatAreWrittenAreBucketsOfAServer) {
  for (const Scheme& scheme : schemes()) {
    EXPECT_EQ(scheme_named(scheme.name), &scheme);
    EXPECT_TRUE(!scheme.written || (scheme.bucket && scheme.client != nullptr)) << scheme.name;
    const bool told = source_kinds().find(scheme.name) != std::string::npos;
    EXPECT_TRUE(told) << scheme.name;
    const bool is_of_server = server_schemes().find(scheme.name) != std::string::npos;
    EXPECT_EQ(is_of_server, scheme.client != nullptr) << scheme.name;
    const bool is_written =
        written_schemes().find(std::string(scheme.name) + "://") == 0 ||
        written_schemes().find(" " + std::string(scheme.name) + "://") != std::string::npos;
    EXPECT_EQ(is_written, scheme.written) << scheme.name;
  }
}

}  // namespace
}  // namespace zarrfs
