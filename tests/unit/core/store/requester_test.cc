// What becomes of refusals that do not say why.
#include "core/store/http/requester.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "core/base/fd.h"

namespace zarrfs {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

/// Answers each connection's one request with a status and no body, and counts them.
class Server {
 public:
  Server() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 16), 0);
    EXPECT_EQ(::getsockname(socket_.get(), generic, &size), 0);
    url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    thread_ = std::thread([this] { serve(); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }

  std::string url;
  std::atomic<int> status{200};
  std::atomic<int> asked{0};

 private:
  void serve() {
    for (;;) {
      const Fd client(::accept(socket_.get(), nullptr, nullptr));
      if (!client.valid()) return;
      std::string request;
      char byte = 0;
      while (request.find("\r\n\r\n") == std::string::npos && ::read(client.get(), &byte, 1) == 1) {
        request.push_back(byte);
      }
      ++asked;
      const std::string answer = "HTTP/1.1 " + std::to_string(status) +
                                 " Told\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      EXPECT_EQ(::write(client.get(), answer.data(), answer.size()),
                static_cast<ssize_t>(answer.size()));
    }
  }

  Fd socket_;
  std::thread thread_;
};

/// A bucket; the test says what is doubted.
class Bucket final : public HttpObjectClient {
 public:
  Bucket(Server& server, Doubt& doubt, int& suspected, bool absent_403)
      : HttpObjectClient(absent_403), server_(server), doubt_(doubt), suspected_(suspected) {}
  Result<HttpRequest> write(const ObjectQuestion& asked, Clock::time_point /*until*/) override {
    HttpRequest request = begin_request(asked);
    request.url = url_of(asked.key);
    return request;
  }
  Doubt suspect(Clock::time_point /*written*/, Clock::time_point /*until*/) override {
    ++suspected_;
    if (doubt_ != Doubt::kRenewed) return doubt_;
    doubt_ = Doubt::kNone;
    server_.status = with_new_ones;
    return Doubt::kRenewed;
  }
  [[nodiscard]] std::string url_of(const std::string& key) const override {
    return server_.url + key;
  }

  int with_new_ones = 200;

 private:
  tl::expected<ObjectAnswer, NoAnswer> read_done(const ObjectQuestion& /*asked*/,
                                                 HttpResponse /*response*/) override {
    return ObjectAnswer{};
  }

  Server& server_;
  Doubt& doubt_;
  int& suspected_;
};

struct Refusals : ::testing::Test {
  using Kind = ObjectQuestion::Kind;
  RequestAnswer ask(Kind kind, bool absent_403 = false, int with_new_ones = 200) {
    auto bucket = std::make_unique<Bucket>(server, doubt, suspected, absent_403);
    bucket->with_new_ones = with_new_ones;
    Requester requester(*http, std::move(bucket), seconds(20), {});
    ObjectQuestion question;
    question.kind = kind;
    question.key = "key";
    auto answer = requester.ask(question);
    requester.stop();
    return answer;
  }

  Server server;
  Doubt doubt = Doubt::kNone;
  int suspected = 0;
  std::unique_ptr<HttpClient> http = std::move(*HttpClient::make({}));
};

struct UnexplainedRefusals : Refusals, ::testing::WithParamInterface<int> {};

TEST_P(UnexplainedRefusals, OfHeadAreAskedAgainWithNewCredentials) {
  server.status = GetParam();
  doubt = Doubt::kRenewed;
  const auto answer = ask(Kind::kHead);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->kind, ObjectAnswer::Kind::kPresent);
  EXPECT_EQ(server.asked, 2);
}

TEST_P(UnexplainedRefusals, WithNewCredentialsAreWhatTheySay) {
  server.status = GetParam();
  doubt = Doubt::kRenewed;
  const auto answer = ask(Kind::kHead, false, GetParam());
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr(std::to_string(GetParam())));
  EXPECT_EQ(server.asked, 2);
}

/// Absence that is none would be taken for fill values.
TEST_P(UnexplainedRefusals, InDoubtAreNoAbsence) {
  server.status = GetParam();
  doubt = Doubt::kRemains;
  const auto answer = ask(Kind::kHead, true);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("the credentials may have expired"));
  EXPECT_EQ(server.asked, 1);
}

TEST_P(UnexplainedRefusals, OfGetAreJudgedByTheirBody) {
  server.status = GetParam();
  ASSERT_FALSE(ask(Kind::kGet));
  EXPECT_EQ(suspected, 0);
}

INSTANTIATE_TEST_SUITE_P(Each, UnexplainedRefusals, ::testing::Values(400, 401, 403));

TEST_F(Refusals, WithoutDoubtAreAbsenceWhereThatIsSaid) {
  server.status = 403;
  const auto answer = ask(Kind::kHead, true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, ObjectAnswer::Kind::kAbsent);
}

}  // namespace
}  // namespace zarrfs
