// What clients write for a question, and what they take for its answer.
#include "core/store/http/object_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/store/http/schemes.h"

namespace zarrfs {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using Answer = ObjectAnswer::Kind;
using Asked = ObjectQuestion::Kind;

class ObjectClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<ObjectClient> client(const std::string& url) {
    RemoteOptions options;
    options.anonymous = true;
    options.endpoint = "http://127.0.0.1:1";
    const Url parsed = *parse_url(url);
    const auto nothing = [](const std::string&) { return std::nullopt; };
    auto made = scheme_named(parsed.scheme)->client(parsed, options, *http, nothing);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  static HttpResponse response(int status, const std::string& body = "",
                               const std::vector<std::string>& headers = {}) {
    HttpResponse made;
    made.status = status;
    made.body.assign(body.begin(), body.end());
    for (const std::string& line : headers) made.headers.add_line(line);
    return made;
  }
  static Result<HttpRequest> written(ObjectClient& client, const ObjectQuestion& question) {
    return client.write(question, ObjectClient::Clock::now());
  }
  static Answer kind_of(ObjectClient& client, const ObjectQuestion& question,
                        HttpResponse response) {
    const auto read = client.read(question, std::move(response), {});
    EXPECT_TRUE(read) << read.error().error.message;
    return read ? read->kind : Answer::kUnchanged;
  }
  static NoAnswer refusal(ObjectClient& client, const ObjectQuestion& question,
                          HttpResponse response) {
    const auto read = client.read(question, std::move(response), {});
    EXPECT_FALSE(read);
    return read ? NoAnswer{} : read.error();
  }

  std::unique_ptr<HttpClient> http = std::move(*HttpClient::make({}));
};

ObjectQuestion of_range(std::uint64_t offset, std::uint64_t length) {
  ObjectQuestion question;
  question.key = "a b";
  question.part = {AskedPart::Kind::kRange, {offset, length}};
  return question;
}

ObjectInfo version_like(const std::string& tag, const std::string& generation) {
  ObjectInfo info;
  info.version.tag = tag;
  info.generation = generation;
  return info;
}

ObjectQuestion put(const ObjectCondition& condition) {
  ObjectQuestion question;
  question.kind = Asked::kPut;
  question.key = "k";
  question.body = RequestBody::of_text("text");
  question.note = "n1";
  question.condition = condition;
  return question;
}

const char kNoSuchKey[] = "<Error><Code>NoSuchKey</Code><Message>none</Message></Error>";

TEST_F(ObjectClientTest, ABucketIsAskedForRangesOnConditions) {
  const auto s3 = client("s3://bucket/top");
  ObjectQuestion question = of_range(4, 8);
  question.condition = {ObjectCondition::Kind::kIs, version_like("\"tag\"", "")};
  const auto request = written(*s3, question);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->url, "http://127.0.0.1:1/bucket/top/a%20b");
  EXPECT_EQ(request->part_limit, 8U);
  EXPECT_THAT(request->headers, Contains(Pair("Range", "bytes=4-11")));
  EXPECT_THAT(request->headers, Contains(Pair("If-Match", "\"tag\"")));
  question.condition.kind = ObjectCondition::Kind::kIsNot;
  EXPECT_THAT(written(*s3, question)->headers, Contains(Pair("If-None-Match", "\"tag\"")));
}

TEST_F(ObjectClientTest, AnswersAreTyped) {
  const auto s3 = client("s3://bucket/top");
  const ObjectQuestion question = of_range(0, 2);
  const std::vector<std::string> part = {"content-range: bytes 0-1/9", "etag: \"t\""};
  EXPECT_EQ(kind_of(*s3, question, response(206, "ab", part)), Answer::kPresent);
  EXPECT_EQ(kind_of(*s3, question, response(304)), Answer::kUnchanged);
  EXPECT_EQ(kind_of(*s3, question, response(412)), Answer::kOtherVersion);
  EXPECT_EQ(kind_of(*s3, question, response(416)), Answer::kNoSuchRange);
  EXPECT_EQ(kind_of(*s3, question, response(404, kNoSuchKey)), Answer::kAbsent);
  EXPECT_EQ(refusal(*s3, question, response(403)).error.fault, Fault::kDenied);
  EXPECT_EQ(refusal(*s3, question, response(503)).kind, NoAnswer::Kind::kLater);
  EXPECT_EQ(refusal(*s3, question, response(206, "a", part)).error.fault, Fault::kIo)
      << "fewer bytes than it says";
}

// Google sends all of such an object, unpacked, whatever range is asked for; its listings tell the
// size of what is stored.
TEST_F(ObjectClientTest, WhatIsStoredCompressedIsRefusedByName) {
  for (const char* header : {"content-encoding: gzip", "x-goog-stored-content-encoding: gzip"}) {
    for (const char* url : {"s3://bucket", "gs://bucket", "https://host/top"}) {
      const auto server = client(url);
      for (const Asked kind : {Asked::kGet, Asked::kHead}) {
        ObjectQuestion question = of_range(0, 2);
        question.kind = kind;
        const Error error =
            refusal(*server, question, response(200, "ab", {"content-length: 2", header})).error;
        EXPECT_EQ(error.fault, Fault::kUnsupported);
        EXPECT_THAT(error.message, HasSubstr("compressed (gzip)"));
        EXPECT_EQ(kind_of(*server, question,
                          response(200, "ab",
                                   {"content-length: 2", "content-encoding: identity",
                                    "x-goog-stored-content-encoding: identity"})),
                  Answer::kPresent);
      }
    }
  }
}

TEST_F(ObjectClientTest, OnlyAMissingKeyIsAbsence) {
  const auto s3 = client("s3://bucket");
  for (const char* body : {"<Error><Code>NoSuchBucket</Code></Error>", "<Error><Code>NoSuch"}) {
    EXPECT_EQ(refusal(*s3, of_range(0, 1), response(404, body)).error.fault, Fault::kIo) << body;
  }
  const auto web = client("http://host/top");
  EXPECT_EQ(kind_of(*web, of_range(0, 1), response(404, "<html>")), Answer::kAbsent);
  HttpResponse elsewhere = response(404);
  elsewhere.elsewhere = true;
  EXPECT_THAT(refusal(*web, of_range(0, 1), elsewhere).error.message, HasSubstr("another name"));
}

TEST_F(ObjectClientTest, WritesAreOnConditions) {
  const auto s3 = client("s3://bucket");
  const auto google = client("gs://bucket");
  const ObjectCondition none{ObjectCondition::Kind::kAbsent};
  EXPECT_THAT(written(*s3, put(none))->headers, Contains(Pair("If-None-Match", "*")));
  EXPECT_THAT(written(*s3, put(none))->headers, Contains(Pair("x-amz-meta-zarrfs-writes", "n1")));
  EXPECT_THAT(written(*google, put(none))->headers,
              Contains(Pair("x-goog-if-generation-match", "0")));
  ObjectCondition is{ObjectCondition::Kind::kIs, version_like("\"t\"", "7")};
  EXPECT_THAT(written(*s3, put(is))->headers, Contains(Pair("If-Match", "\"t\"")));
  EXPECT_THAT(written(*google, put(is))->headers,
              Contains(Pair("x-goog-if-generation-match", "7")));
  is.version.version.weak = true;
  const auto untold = written(*s3, put(is));
  ASSERT_FALSE(untold);
  EXPECT_EQ(untold.error().fault, Fault::kUnsupported);
  EXPECT_FALSE(written(*client("http://host"), put(none))) << "files of the web are only read";
}

TEST_F(ObjectClientTest, AListingTellsKeysBelowTheRoot) {
  const auto s3 = client("s3://bucket/top");
  ObjectQuestion question;
  question.kind = Asked::kList;
  question.key = "a";
  question.most = 5;
  EXPECT_THAT(written(*s3, question)->url,
              EndsWith("/bucket?delimiter=%2F&encoding-type=url&list-type=2&max-keys=5&"
                       "prefix=top%2Fa%2F"));
  const auto read = s3->read(
      question,
      response(200,
               "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>top/a/x</Key>"
               "<Size>1</Size></Contents><Contents><Key>other/x</Key><Size>1</Size></Contents>"
               "<CommonPrefixes><Prefix>top/a/b/</Prefix></CommonPrefixes></ListBucketResult>"),
      {});
  ASSERT_TRUE(read) << read.error().error.message;
  ASSERT_EQ(read->page.objects.size(), 1U);
  EXPECT_EQ(read->page.objects[0].key, "a/x");
  EXPECT_THAT(read->page.prefixes, ::testing::ElementsAre("a/b/"));
}

TEST_F(ObjectClientTest, AnUploadInPartsIsBelievedOnlyWhenItSaysSo) {
  const auto s3 = client("s3://bucket");
  ObjectQuestion question;
  question.kind = Asked::kCompleteParts;
  question.key = "k";
  question.upload = "id";
  question.tags = {"\"1\""};
  EXPECT_THAT(written(*s3, question)->url, EndsWith("/bucket/k?uploadId=id"));
  EXPECT_EQ(kind_of(*s3, question, response(409)), Answer::kOtherVersion);
  EXPECT_EQ(kind_of(*s3, question, response(412)), Answer::kOtherVersion);
  for (const char* body : {"", "<Error><Code>InternalError</Code></Error>"}) {
    EXPECT_EQ(refusal(*s3, question, response(200, body)).error.fault, Fault::kIo) << body;
  }
}

TEST_F(ObjectClientTest, KnowsHowMuchOneRequestPuts) {
  EXPECT_EQ(client("az://account/container/store")->largest_put(), std::uint64_t{5000} << 20U);
  EXPECT_EQ(client("s3://bucket/store")->largest_put(), std::uint64_t{5} << 30U);
  EXPECT_EQ(client("gs://bucket/store")->largest_put(), std::uint64_t{5} << 30U);
}

}  // namespace
}  // namespace zarrfs
