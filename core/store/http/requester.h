// Asks a server until it gives an answer that counts: what may be better another time is tried
// again, later and later, until a deadline. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/store/http/endpoint.h"
#include "core/store/http/http.h"

namespace zarrfs {

class Requester {
 public:
  /// `http` outlives what was asked later.
  Requester(HttpClient& http, std::unique_ptr<Endpoint> endpoint,
            std::chrono::milliseconds deadline, bool absent_403)
      : http_(http), endpoint_(std::move(endpoint)), deadline_(deadline), absent_403_(absent_403) {}

  /// An answer with one of the statuses 200, 204, 206, 304, 404 (there is no such object), 412 (it
  /// has another version) and 416 (it is shorter). Everything else is an Error that names the URL:
  /// kDenied where the server refuses, kIo otherwise.
  Result<HttpResponse> ask(const ObjectRequest& request);
  /// Many at once.
  std::vector<Result<HttpResponse>> ask_all(std::vector<ObjectRequest> requests);
  /// Once, without waiting; `done` gets nothing where there is no answer that counts.
  void ask_later(const ObjectRequest& request, std::function<void(Result<HttpResponse>)> done);

  [[nodiscard]] Endpoint& endpoint() const { return *endpoint_; }
  [[nodiscard]] const HttpClient& http() const { return http_; }
  [[nodiscard]] std::uint64_t retries() const { return retries_; }

 private:
  struct Verdict;
  struct Round;
  Verdict judge(const ObjectRequest& request, HttpAnswer answer, bool may_learn);
  Verdict judge_refusal(const ObjectRequest& request, HttpResponse response, bool may_learn);
  [[nodiscard]] std::string describe(const ObjectRequest& request) const;

  HttpClient& http_;
  const std::unique_ptr<Endpoint> endpoint_;
  const std::chrono::milliseconds deadline_;
  const bool absent_403_;
  std::atomic<std::uint64_t> retries_{0};
};

}  // namespace zarrfs
