// The parts of remote stores that need no server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <thread>

#include "core/base/json.h"
#include "core/store/cache/disk_cache.h"
#include "core/store/cache/segment_cache.h"
#include "core/store/http/credentials.h"
#include "core/store/http/headers.h"
#include "core/store/http/listing.h"
#include "core/store/http/object_answer.h"
#include "core/store/http/options.h"
#include "core/store/http/signer.h"
#include "core/store/http/url.h"
#include "core/zarr/named_store.h"
#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Amazon's test suite for Signature Version 4 ("aws-sig-v4-test-suite").
TEST(Signer, SignsAmazonsTestSuite) {
  const AccessKey key{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  const std::string date = "20150830T123600Z";
  const auto sign = [&](const std::string& query, HeaderList headers) {
    headers.insert(headers.begin(), {"Host", "example.amazonaws.com"});
    headers.emplace_back("X-Amz-Date", date);
    const Signable request{"GET", "/", query, std::move(headers), kEmptyHash};
    const std::string text = authorization(request, key, {"us-east-1", "service"}, date);
    return text.substr(text.find("Signature=") + 10);
  };
  EXPECT_EQ(sign("", {}), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(sign("Param2=value2&Param1=value1", {}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(sign("", {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

// "Signature Calculations for the Authorization Header", S3 API reference.
TEST(Signer, SignsTheExamplesOfS3) {
  const AccessKey key{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
  const std::string date = amazon_date(1369353600);
  EXPECT_EQ(date, "20130524T000000Z");
  const auto sign = [&](const std::string& path, const std::string& query, HeaderList headers) {
    headers.emplace_back("Host", "examplebucket.s3.amazonaws.com");
    headers.emplace_back("x-amz-content-sha256", kEmptyHash);
    headers.emplace_back("x-amz-date", date);
    const Signable request{"GET", path, query, std::move(headers), kEmptyHash};
    const std::string text = authorization(request, key, {"us-east-1", "s3"}, date);
    return text.substr(text.find("Signature=") + 10);
  };
  EXPECT_EQ(sign("/test.txt", "", {{"Range", "bytes=0-9"}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(sign("/", "lifecycle", {}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(sign("/", "prefix=J&max-keys=2", {}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Url, IsTakenApart) {
  const auto url = parse_url("HTTPS://host:8443/a/b.zarr/?sig=x");
  EXPECT_EQ(url->text(), "https://host:8443/a/b.zarr");
  EXPECT_EQ(url->host(), "host");
  EXPECT_EQ(url->query, "sig=x");
  for (const char* bad : {"https://", "a/b", "http://h/#a", "http://h/a\nb"}) {
    EXPECT_EQ(parse_url(bad).error().fault, Fault::kInvalid) << bad;
  }
  const auto secret = parse_url("https://me:hunter2@host/a");
  EXPECT_THAT(secret.error().message, ::testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(percent_encode("a b/c+d=\xc3\xa4", true), "a%20b/c%2Bd%3D%C3%A4");
  EXPECT_EQ(percent_decode("a%20b%2F"), "a b/");
  EXPECT_EQ(percent_decode("a%2"), std::nullopt);
}

TEST(Headers, AreReadWithoutCase) {
  Headers headers;
  headers.add_line("HTTP/1.1 206 Partial Content\r\n");
  headers.add_line("eTaG:  \"a\" \r\n");
  headers.add_line("no header\r\n");
  headers.add_line("ETag: \"b\"\r\n");
  EXPECT_EQ(headers.find("etag"), "\"a\"");
  EXPECT_FALSE(version_of(headers).weak);
  headers.add_line("HTTP/1.1 200 OK\r\n");
  EXPECT_EQ(headers.find("etag"), std::nullopt);
}

TEST(Headers, ContentRangesAreStrict) {
  const auto good = parse_content_range("bytes 2-5/10");
  ASSERT_TRUE(good && good->range);
  EXPECT_EQ(*good->range, (ByteRange{2, 4}));
  EXPECT_EQ(good->size, 10U);
  EXPECT_EQ(parse_content_range("bytes */7")->size, 7U);
  for (const char* bad :
       {"", "bytes", "bytes 5-2/10", "bytes 0-10/10", "bytes -1-2/10", "bytes 0-1/x", "items 0-1/2",
        "bytes 0-18446744073709551615/18446744073709551615", "bytes 0-1/99999999999999999999"}) {
    EXPECT_FALSE(parse_content_range(bad)) << bad;
  }
}

HttpResponse answer(int status, const std::string& range, std::size_t bytes) {
  HttpResponse response;
  response.status = status;
  response.headers.add_line("ETag: \"v\"");
  if (!range.empty()) response.headers.add_line("Content-Range: " + range);
  response.body.resize(bytes);
  return response;
}

TEST(ObjectAnswer, BringsWhatWasAskedForOrAnError) {
  const AskedPart range{AskedPart::Kind::kRange, {4, 4}};
  const AskedPart end{AskedPart::Kind::kSuffix, {0, 4}};
  EXPECT_EQ(read_part(answer(206, "bytes 4-7/20", 4), range, "x")->info.size, 20U);
  EXPECT_EQ(read_part(answer(206, "bytes 4-5/6", 2), range, "x")->bytes.size(), 2U);
  EXPECT_EQ(read_part(answer(206, "bytes 16-19/20", 4), end, "x")->offset, 16U);
  EXPECT_EQ(read_part(answer(206, "bytes 0-1/2", 2), end, "x")->offset, 0U);
  EXPECT_EQ(read_part(answer(200, "", 9), range, "x")->info.size, 9U);
  for (const auto& [told, bytes] :
       std::vector<std::pair<std::string, std::size_t>>{{"bytes 4-7/20", 3},
                                                        {"bytes 5-8/20", 4},
                                                        {"bytes 4-6/20", 3},
                                                        {"bytes 4-7/*", 4},
                                                        {"bytes */20", 4},
                                                        {"", 4}}) {
    EXPECT_EQ(read_part(answer(206, told, bytes), range, "x").error().fault, Fault::kIo) << told;
  }
  EXPECT_FALSE(read_part(answer(206, "bytes 15-18/20", 4), end, "x"));
}

TEST(Listing, OfMoreNamesThanAPageHasIsRefused) {
  std::string names;
  for (int i = 0; i < 10'001; ++i) names += "<Contents><Key>k</Key><Size>0</Size></Contents>";
  const auto page = parse_listing("<ListBucketResult>" + names + "</ListBucketResult>");
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("more than 10000 names"));
  // What is wrong first ends the reading: what follows is not kept.
  const auto without_key = parse_listing("<ListBucketResult><Contents/>" + names);
  ASSERT_FALSE(without_key);
  EXPECT_THAT(without_key.error().message, HasSubstr("has no key"));
}

TEST(Listing, IsReadAndChecked) {
  const auto page = parse_listing(
      "<?xml version='1.0'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      "<EncodingType>url</EncodingType><Contents><Key>a%2Fb+c</Key><Size>12</Size>"
      "<ETag>&quot;e&quot;</ETag></Contents><CommonPrefixes><Prefix>a/d/</Prefix></CommonPrefixes>"
      "</ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->objects.at(0).key, "a/b c");
  EXPECT_EQ(page->objects.at(0).size, 12U);
  EXPECT_EQ(page->objects.at(0).tag, "\"e\"");
  EXPECT_THAT(page->prefixes, ElementsAre("a/d/"));
  EXPECT_EQ(page->continuation, "t");
  for (const char* bad :
       {"", "<html/>", "<ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>tru</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><CommonPrefixes><Prefit>a/</Prefit></CommonPrefixes></ListBucketResult>",
        "<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult/>"}) {
    EXPECT_FALSE(parse_listing(bad)) << bad;
  }
  const auto untold = parse_listing(
      "<ListBucketResult><NextContinuationToken>t</NextContinuationToken></ListBucketResult>");
  EXPECT_TRUE(untold && untold->truncated) << "it says where it goes on";
  EXPECT_EQ(parse_service_error("<Error><Code>SlowDown</Code></Error>").code, "SlowDown");
  EXPECT_EQ(parse_service_error("{}").code, "");
}

TEST(Credentials, ProfilesAreSections) {
  const auto sections = parse_sections(
      "# a comment\n[default]\nAWS_Access_Key_Id = id \nregion=eu-1\n\n[profile x]\n"
      "s3 =\n  endpoint_url = http://nested\nnone\n[broken\nlost = 1\n");
  EXPECT_EQ(sections.at("default").at("aws_access_key_id"), "id");
  EXPECT_EQ(sections.at("default").at("region"), "eu-1");
  EXPECT_FALSE(sections.at("profile x").contains("endpoint_url"));
  EXPECT_EQ(sections.size(), 2U);
  const auto found = parse_credentials(
      R"({"AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "2026-11-22T12:20:00Z"})", "x");
  EXPECT_EQ(found->expires, 1795350000);
  EXPECT_FALSE(parse_credentials(R"({"AccessKeyId": "a"})", "x"));
}

class CredentialChain : public ::testing::Test {
 protected:
  Result<AccessKey> get(const std::string& profile = "") {
    variables_["HOME"] = directory_.path();
    variables_["AWS_EC2_METADATA_DISABLED"] = "true";
    http_ = std::move(*HttpClient::make({}));
    const auto environment = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
    ZARRFS_TRY(const Credentials found, CredentialSource(*http_, environment, profile).find());
    return found.key;
  }
  void write_profiles(const std::string& text) {
    variables_["AWS_SHARED_CREDENTIALS_FILE"] = directory_.path() + "/keys";
    std::ofstream(directory_.path() + "/keys") << text;
  }
  TempDir directory_;
  std::map<std::string, std::string> variables_;
  std::unique_ptr<HttpClient> http_;
};

TEST_F(CredentialChain, LooksInTheOrderOfAmazonsTools) {
  EXPECT_EQ(get().error().fault, Fault::kDenied);
  write_profiles(
      "[default]\naws_access_key_id=d\naws_secret_access_key=s\n"
      "[made]\ncredential_process = printf '{\"AccessKeyId\":\"p\",\"SecretAccessKey\":\"q\"}'\n"
      "[fails]\ncredential_process = false\n[sso]\nsso_session = x\n");
  EXPECT_EQ(get()->id, "d");
  EXPECT_EQ(get("made")->id, "p");
  EXPECT_EQ(get("fails").error().fault, Fault::kDenied);
  EXPECT_EQ(get("sso").error().fault, Fault::kDenied);
  EXPECT_THAT(get("nobody").error().message, HasSubstr("nobody"));
  variables_["AWS_ACCESS_KEY_ID"] = "e";
  variables_["AWS_SECRET_ACCESS_KEY"] = "f";
  EXPECT_EQ(get()->id, "e");
  EXPECT_EQ(get("made")->id, "p");  // named: before the environment
}

Bytes numbers(std::uint64_t offset, std::uint64_t length) {
  Bytes bytes;
  for (std::uint64_t i = 0; i < length; ++i) bytes.push_back(static_cast<std::uint8_t>(offset + i));
  return bytes;
}

TEST(SegmentCache, AsksForNothingTwice) {
  SegmentCache cache(1000);
  EXPECT_THAT(cache.begin("a", {10, 20}, 100), ElementsAre(ByteRange{10, 20}));
  EXPECT_THAT(cache.begin("a", {0, 40}, 100), ElementsAre(ByteRange{0, 10}, ByteRange{30, 10}));
  std::thread other([&] {
    cache.put("a", 10, numbers(10, 20));
    cache.put("a", 0, numbers(0, 10));
    cache.give_up("a", {30, 10});
  });
  Bytes bytes(30);
  EXPECT_TRUE(cache.read("a", 0, bytes));
  EXPECT_EQ(bytes, numbers(0, 30));
  other.join();
  Bytes more(40);
  EXPECT_FALSE(cache.read("a", 0, more));
  EXPECT_FALSE(cache.read("b", 0, more));
}

TEST(SegmentCache, PartsOfALargeRangeAreKeptAsTheyCome) {
  SegmentCache cache(10'000);
  EXPECT_THAT(cache.begin("a", {0, 25}, 10),
              ElementsAre(ByteRange{0, 10}, ByteRange{10, 10}, ByteRange{20, 5}));
  cache.put("a", 10, numbers(10, 10));
  cache.put("a", 0, numbers(0, 10));
  cache.put("a", 20, numbers(20, 5));
  Bytes bytes(25);
  EXPECT_TRUE(cache.read("a", 0, bytes));
  EXPECT_EQ(bytes, numbers(0, 25));
}

TEST(SegmentCache, WhatIsLentIsNoRoomOfIts) {
  SegmentCache cache(10'000);
  cache.put("a", 0, numbers(0, 100));
  cache.put("b", 0, numbers(0, 100));
  const std::uint64_t both = cache.bytes();
  EXPECT_GT(both, 200U) << "its tables take something, too";
  cache.lend(10'000 - both + 1);
  EXPECT_EQ(cache.bytes(), both / 2);
  cache.lend(20'000);
  EXPECT_EQ(cache.bytes(), 0U);
  cache.lend(0);
  cache.put("a", 0, numbers(0, 100));
  Bytes bytes(100);
  EXPECT_TRUE(cache.read("a", 0, bytes));
}

TEST(SegmentCache, AWholeObjectFillsTheGapsAndIsBounded) {
  SegmentCache cache(600);
  cache.begin("a", {40, 10}, 100);
  cache.put("a", 0, numbers(0, 90));
  Bytes bytes(90);
  EXPECT_TRUE(cache.read("a", 0, bytes));
  EXPECT_EQ(bytes, numbers(0, 90));
  cache.put("b", 0, numbers(0, 90));
  EXPECT_LE(cache.bytes(), 600U);
  EXPECT_FALSE(cache.read("a", 0, bytes));
  EXPECT_TRUE(cache.read("b", 0, bytes));
}

TEST(DiskCache, KeepsBytesForTheNextRunAndNeverWrongOnes) {
  const TempDir directory;
  const auto open = [&](std::uint64_t bytes) {
    return std::move(*DiskCache::open(directory.path(), bytes));
  };
  ObjectInfo info{90, {"\"t\"", false}, 5, {}};
  {
    const auto cache = open(1U << 20U);
    cache->keep("a", 10, numbers(10, 20));
    cache->keep("a", 30, numbers(30, 20));
    cache->keep_info("http://x/a", info);
  }
  EXPECT_EQ(open(1U << 20U)->find("a", {15, 30}), numbers(15, 30));
  EXPECT_EQ(open(1U << 20U)->find_info("http://x/a"), info);
  EXPECT_EQ(open(1U << 20U)->find("a", {5, 10}), std::nullopt);
  std::mt19937 random(7);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (!entry.is_regular_file()) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(entry.path());
    for (int i = 0; i < 4; ++i) {
      file.seekp(static_cast<std::streamoff>(random() % size));
      file.put(static_cast<char>(random()));
    }
  }
  const auto found = open(1U << 20U)->find("a", {15, 30});
  EXPECT_TRUE(!found || *found == numbers(15, 30));
}

TEST(DiskCache, BelievesOnlyWhatIsThisUsersAlone) {
  const TempDir directory;
  const std::string own = directory.path() + "/zarrfs-1";
  const ObjectInfo info{9, {"\"t\"", false}, 5, {}};
  {
    const auto cache = std::move(*DiskCache::open(directory.path(), 1U << 20U));
    cache->keep("a", 0, numbers(0, 9));
    cache->keep_info("http://x/a", info);
  }
  // A pipe, a link and a second name in place of its files are not waited for, and not read.
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(own)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  ASSERT_EQ(files.size(), 3U);
  for (const auto& file : files) {
    std::filesystem::create_hard_link(file, directory.path() + "/other");
    const auto cache = std::move(*DiskCache::open(directory.path(), 1U << 20U));
    EXPECT_FALSE(cache->find("a", {0, 9}) && cache->find_info("http://x/a")) << file;
    std::filesystem::remove(directory.path() + "/other");
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_FALSE(cache->find("a", {0, 9}) && cache->find_info("http://x/a")) << file;
    std::filesystem::remove(file);
    std::filesystem::create_symlink("/dev/zero", file);
    EXPECT_FALSE(cache->find("a", {0, 9}) && cache->find_info("http://x/a")) << file;
  }
  std::filesystem::permissions(own, std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  const auto open_to_others = DiskCache::open(directory.path(), 1U << 20U);
  ASSERT_FALSE(open_to_others);
  EXPECT_THAT(open_to_others.error().message, HasSubstr("chmod 700 " + own));
  std::filesystem::remove_all(own);
  std::filesystem::create_directory_symlink("/tmp", own);
  EXPECT_EQ(DiskCache::open(directory.path(), 1U << 20U).error().fault, Fault::kDenied);
}

TEST(DiskCache, StaysWithinItsSize) {
  const TempDir directory;
  const auto cache = std::move(*DiskCache::open(directory.path(), 256 << 10U));
  for (int i = 0; i < 40; ++i) cache->keep(std::to_string(i), 0, Bytes(32 << 10U, 1));
  cache->make_room();
  std::uint64_t total = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.is_regular_file()) total += std::filesystem::file_size(entry.path());
  }
  EXPECT_LE(total, 256U << 10U);
  EXPECT_GT(total, 0U);
}

TEST(RemoteOptions, NameOptionAndValue) {
  RemoteOptions options;
  ASSERT_TRUE(
      apply_remote_options(options, "endpoint=http://h:9000,anonymous,cache_size=2M,absent=403"));
  EXPECT_EQ(options.endpoint, "http://h:9000");
  EXPECT_TRUE(options.anonymous && options.absent_403);
  EXPECT_EQ(options.cache_size, std::uint64_t{2} << 20U);
  for (const char* bad : {"endpoint=ftp://h", "connections=0", "cache_size=x", "deadline=-1",
                          "nothing", "anonymous=1", "cache", "addressing=up", "revalidate=nan"}) {
    const auto set = apply_remote_options(options, bad);
    ASSERT_FALSE(set) << bad;
    const std::string text = bad;
    const std::string name = text.substr(0, text.find('='));
    EXPECT_THAT(set.error().message, HasSubstr(name)) << bad;
  }
}

TEST(NamedStore, DocumentsNameNodes) {
  const auto named = [](const char* text) { return nodes_named_in(*parse_json(text, "x")); };
  EXPECT_THAT(
      *named(R"({"consolidated_metadata": {"metadata": {"a/b": {}, "../c": {}, "/d": {}}}})"),
      ElementsAre("a/b"));
  EXPECT_THAT(
      *named(R"({"zarr_consolidated_format": 1, "metadata": {"a/.zarray": {}, ".zattrs": {}}})"),
      ElementsAre("a"));
  EXPECT_THAT(
      *named(
          R"({"attributes": {"ome": {"multiscales": [{"datasets": [{"path": "0"}, {"path": 1}]}]}}})"),
      ElementsAre("0"));
  EXPECT_THAT(*named(R"({"plate": {"wells": [{"path": "A/1"}]}})"), ElementsAre("A/1"));
  EXPECT_THAT(*named(R"({"attributes": {"ome": {"labels": ["x"]}}})"), ElementsAre("x"));
  EXPECT_EQ(named(R"({"attributes": {"a": 1}})"), std::nullopt);
  EXPECT_EQ(named(R"([])"), std::nullopt);
}

}  // namespace
}  // namespace zarrfs
