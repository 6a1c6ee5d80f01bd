// What becomes of requests when their client is closed.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <mutex>
#include <string>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/store/http/http.h"

namespace zarrfs::test {
namespace {

/// Takes connections, and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_.get(), 128), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port)) + "/";
  }
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  Fd socket_;
  std::string url_;
};

// Those that wait, those for whose bodies there is no room, and those under way. Who is told may
// take locks of its own.
TEST(HttpClient, EachRequestIsToldOnceThatTheStoreIsClosed) {
  constexpr int kRounds = 20;
  constexpr int kRequests = 60;
  const SilentServer server;
  for (int round = 0; round < kRounds; ++round) {
    HttpSettings settings;
    settings.connections = 4;
    auto client = HttpClient::make(settings);
    ASSERT_TRUE(client) << client.error().message;
    TableMutex mutex;
    int told = 0;
    for (int i = 0; i < kRequests; ++i) {
      HttpRequest request;
      request.url = server.url();
      request.part_limit = std::size_t{1} << 30U;
      (*client)->submit(std::move(request), [&](const HttpAnswer& answer) {
        const std::lock_guard lock(mutex);
        EXPECT_FALSE(answer);
        ++told;
      });
    }
    (*client)->close();
    EXPECT_EQ(told, kRequests);
  }
}

}  // namespace
}  // namespace zarrfs::test
