// Asks a server until it gives an answer that counts: what may be better another time is tried
// again, later and later, until a deadline; at once an error while the server is away. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/store/http/endpoint.h"
#include "core/store/http/http.h"
#include "core/store/http/reachability.h"

namespace zarrfs {

/// Why there is no answer that counts.
struct RequestError : Error {
  bool may_pass = false;  ///< Not reached, or overloaded: says nothing about the object.
};
using RequestAnswer = tl::expected<HttpResponse, RequestError>;

class Requester {
 public:
  /// `http` outlives what was asked later. `tell`: see Reachability.
  Requester(HttpClient& http, std::unique_ptr<Endpoint> endpoint,
            std::chrono::milliseconds deadline, bool absent_403, Reachability::Tell tell);

  /// An answer with one of the statuses 200, 204, 206, 304, 404 (there is no such object), 412 (it
  /// has another version) and 416 (it is shorter). Everything else is an Error that names the URL:
  /// kDenied where the server refuses, kIo otherwise.
  RequestAnswer ask(const ObjectRequest& request);
  /// Many at once.
  std::vector<RequestAnswer> ask_all(std::vector<ObjectRequest> requests);
  /// Once, without waiting; `done` gets nothing where there is no answer that counts.
  void ask_later(const ObjectRequest& request, std::function<void(RequestAnswer)> done);
  /// Before the client ends: probes no more.
  void stop() { reachability_.stop(); }

  [[nodiscard]] Endpoint& endpoint() const { return *endpoint_; }
  [[nodiscard]] const HttpClient& http() const { return http_; }
  [[nodiscard]] std::uint64_t retries() const { return retries_; }
  Reachability& reachability() { return reachability_; }
  [[nodiscard]] const Reachability& reachability() const { return reachability_; }

 private:
  struct Verdict;
  struct Batch;
  using Clock = Reachability::Clock;
  /// When a request was written, and what may come of a refusal.
  struct Asked {
    Clock::time_point written;
    Clock::time_point until;  ///< Other credentials are waited for.
    bool may_learn = false;
  };
  Verdict judge(const ObjectRequest& request, HttpAnswer answer, const Asked& asked);
  Verdict judge_refusal(const ObjectRequest& request, HttpResponse response, const Asked& asked);
  [[nodiscard]] std::string describe(const ObjectRequest& request) const;
  [[nodiscard]] RequestError away_error(const ObjectRequest& request) const;
  [[nodiscard]] RequestError given_up(const ObjectRequest& request) const;
  void probe(Reachability::Answered answered);
  void ask_once(Batch& batch, Clock::time_point again, Clock::time_point until);

  HttpClient& http_;
  const std::unique_ptr<Endpoint> endpoint_;
  const std::chrono::milliseconds deadline_;
  const bool absent_403_;
  std::atomic<std::uint64_t> retries_{0};
  Reachability reachability_;
};

}  // namespace zarrfs
