// Asks a server until it gives an answer that counts: what may be better another time is tried
// again, later and later, until a deadline; at once an error while the server is away. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/store/http/http.h"
#include "core/store/http/object_client.h"
#include "core/store/http/reachability.h"

namespace zarrfs {

/// Why there is no answer that counts.
struct RequestError : Error {
  bool may_pass = false;  ///< Not reached, or overloaded: says nothing about the object.
};
using RequestAnswer = tl::expected<ObjectAnswer, RequestError>;

class Requester {
 public:
  /// `http` outlives what was asked later. `tell`: see Reachability.
  Requester(HttpClient& http, std::unique_ptr<ObjectClient> client,
            std::chrono::milliseconds deadline, Reachability::Tell tell);

  /// What the server says, or an Error that names the URL: kDenied where the server refuses, kIo
  /// otherwise.
  RequestAnswer ask(const ObjectQuestion& question);
  /// Many at once. Each answer is handed to `take` as it comes, with the place of its question.
  using Take = std::function<void(std::size_t place, RequestAnswer answer)>;
  void ask_all(std::vector<ObjectQuestion> questions, const Take& take);
  /// Once, without waiting; `done` gets nothing where there is no answer that counts.
  void ask_later(const ObjectQuestion& question, std::function<void(RequestAnswer)> done);
  /// Before the client ends: probes no more.
  void stop() { reachability_.stop(); }

  [[nodiscard]] ObjectClient& client() const { return *client_; }
  [[nodiscard]] const HttpClient& http() const { return http_; }
  [[nodiscard]] std::uint64_t retries() const { return retries_; }
  Reachability& reachability() { return reachability_; }
  [[nodiscard]] const Reachability& reachability() const { return reachability_; }

 private:
  struct Batch;
  using Clock = Reachability::Clock;
  [[nodiscard]] RequestError away_error(const ObjectQuestion& question) const;
  [[nodiscard]] RequestError given_up(const ObjectQuestion& question) const;
  void probe(Reachability::Answered answered);
  void ask_once(Batch& batch, Clock::time_point again, Clock::time_point until);

  HttpClient& http_;
  const std::unique_ptr<ObjectClient> client_;
  const std::chrono::milliseconds deadline_;
  std::atomic<std::uint64_t> retries_{0};
  Reachability reachability_;
};

}  // namespace zarrfs
