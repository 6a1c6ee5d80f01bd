// An HTTP client with many requests in flight: one thread, connections that are kept, HTTP/1.1.
// TLS is always verified. Source: libcurl's multi interface. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/http/body_room.h"
#include "core/store/http/headers.h"
#include "core/store/http/request_body.h"
#include "core/store/http/signer.h"

namespace zarrfs {

struct HttpSettings {
  std::size_t connections = 48;
  std::string ca_file;  ///< The only certificates; empty: system_certificates().
  std::uint64_t connect_seconds = 10;
  std::uint64_t quiet_seconds = 20;  ///< Without a byte: the request has failed.
  std::uint64_t seconds = 60;        ///< Of one request.
  std::shared_ptr<BodyRoom> bodies;  ///< Null: one of its own.
};

struct HttpRequest {
  std::string method = "GET";  ///< Or "HEAD", "PUT", "POST", "DELETE".
  std::string url;
  HeaderList headers;
  std::shared_ptr<const RequestBody> body;  ///< Null: none is sent.
  /// A longer body is refused: of an answer to a range (206), and of any other.
  std::size_t part_limit = 0;
  std::size_t whole_limit = 0;
  /// Whether other places that a server names are asked; never from https to http. Only for
  /// requests without secrets in `headers`.
  bool follow = false;
  /// Passwords for the host from ~/.netrc.
  bool netrc = false;
  /// By a connection of its own, which is waited for 3 seconds only.
  bool fresh = false;
};

struct HttpResponse {
  int status = 0;
  /// The server pointed from the name that was asked for to the same with a slash behind it.
  bool directory = false;
  /// The server pointed to another name, and the answer is that one's.
  bool elsewhere = false;
  Headers headers;
  Bytes body;
  BodyRoom::Held room;  ///< What the body takes, as long as this is there; null: little.
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
  }
};

/// Why there is no answer.
struct HttpFailure {
  enum class Kind {
    kNetwork,  ///< Not reached, cut off, silent: may be better another time.
    kTooLong,  ///< More bytes than were asked for.
    kGivenUp,  ///< Nobody waits for the answer any more.
    kTls,      ///< The server's certificate is not trusted, or no encryption was agreed on.
    kOther
  };
  Kind kind = Kind::kOther;
  std::string message;
};

using HttpAnswer = tl::expected<HttpResponse, HttpFailure>;

/// What was sent and received; only grows.
struct HttpCounters {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> bytes{0};       ///< Of bodies received.
  std::atomic<std::uint64_t> bytes_sent{0};  ///< Of bodies.
  std::atomic<std::uint64_t> failures{0};
};

class HttpClient {
 public:
  static Result<std::unique_ptr<HttpClient>> make(const HttpSettings& settings);
  /// Closes it.
  ~HttpClient();
  /// Gives up what is on its way, and from now on each request at once.
  void close();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  using Done = std::function<void(HttpAnswer)>;
  /// `done` is called once, by the client's thread, and must not wait.
  void submit(HttpRequest request, Done done);
  /// Waits for the answers and hands each to `take`, with the place of its request, as it comes:
  /// bodies that are held wait for nothing. What is missing when nobody waits for the work any more
  /// (core/base/request.h) is a failure.
  using Take = std::function<void(std::size_t place, HttpAnswer answer)>;
  void perform_each(std::vector<HttpRequest> requests, const Take& take);
  /// The same, in the order of `requests`; of small answers.
  std::vector<HttpAnswer> perform(std::vector<HttpRequest> requests);
  [[nodiscard]] const HttpCounters& counters() const;

 private:
  struct State;
  explicit HttpClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace zarrfs
