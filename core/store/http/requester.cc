#include "core/store/http/requester.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "core/base/request.h"
#include "core/store/http/advice.h"

namespace zarrfs {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{15000};
constexpr int kLessons = 3;                      // Region, clock and keys may all be wrong.
constexpr const char* kProbedKey = "zarr.json";  // whether it is there does not matter

/// Between half of `pause` and all of it, so that many who failed together do not come together.
std::chrono::milliseconds jittered(std::chrono::milliseconds pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  return pause / 2 + std::chrono::milliseconds(random() % (pause.count() / 2 + 1));
}

bool may_be_better_later(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status == 500 ||
         status == 502 || status == 503 || status == 504;
}

bool counts(int status) {
  return status == 200 || status == 204 || status == 206 || status == 304 || status == 412 ||
         status == 416;
}

ServiceError error_in(const HttpResponse& response) { return parse_service_error(response.text()); }

}  // namespace

struct Requester::Verdict {
  enum class Kind { kAnswer, kLater, kAnew, kError };
  Kind kind = Kind::kError;
  std::optional<HttpResponse> answer;
  Error error;
};

std::string Requester::describe(const ObjectRequest& request) const {
  return endpoint_->url_of(request.key);
}

Requester::Verdict Requester::judge(const ObjectRequest& request, HttpAnswer answer,
                                    const Asked& asked) {
  if (!answer) {
    const HttpFailure& failure = answer.error();
    const std::string what = describe(request) + ": " + failure.message;
    switch (failure.kind) {
      case HttpFailure::Kind::kNetwork: return {Verdict::Kind::kLater, {}, {Fault::kIo, what}};
      case HttpFailure::Kind::kGivenUp: return {Verdict::Kind::kError, {}, {Fault::kBusy, what}};
      case HttpFailure::Kind::kTls:
        return {Verdict::Kind::kError,
                {},
                {Fault::kDenied, what + " (ca_file names other certificates to trust)"}};
      default: return {Verdict::Kind::kError, {}, {Fault::kIo, what}};
    }
  }
  const auto encoding = answer->headers.find("content-encoding");
  if (encoding && *encoding != "identity" && (answer->status == 200 || answer->status == 206)) {
    return {
        Verdict::Kind::kError,
        {},
        {Fault::kUnsupported, describe(request) + ": the server sends it compressed (" + *encoding +
                                  "), so that ranges of it are none of the object"}};
  }
  // Nothing is stored under the name of a directory.
  if (answer->directory) answer->status = 404;
  const bool conflict = answer->status == 409 && request.may_conflict;
  if (counts(answer->status) || conflict) return {Verdict::Kind::kAnswer, std::move(*answer), {}};
  return judge_refusal(request, std::move(*answer), asked);
}

Requester::Verdict Requester::judge_refusal(const ObjectRequest& request, HttpResponse response,
                                            const Asked& asked) {
  const ServiceError error = error_in(response);
  const bool no_bucket = error.code == "NoSuchBucket";
  const bool reads = request.method == "GET" || request.method == "HEAD";
  // A bucket's answer in XML says what is missing: a key, or else; or it was cut or damaged.
  const bool in_xml =
      response.text().find("<Error") != std::string_view::npos || response.text().starts_with('<');
  const bool untold = reads && endpoint_->lists() && in_xml && error.code != "NoSuchKey";
  const bool unexplained =
      request.method == "HEAD" && !request.bare && error.code.empty() &&
      (response.status == 400 || response.status == 401 || response.status == 403);
  const Doubt doubt = unexplained ? endpoint_->suspect(asked.written, asked.until) : Doubt::kNone;
  if (doubt == Doubt::kRenewed && asked.may_learn) return {Verdict::Kind::kAnew, {}, {}};
  // That a name which the server points to is absent says nothing of the one that was asked for.
  const bool absent =
      (response.status == 404 && !response.elsewhere && !untold) ||
      (response.status == 403 && absent_403_ && reads && doubt == Doubt::kNone &&
       error.code.size() < 100 && (error.code.empty() || error.code == "AccessDenied"));
  if (absent && !no_bucket) {
    response.status = 404;
    return {Verdict::Kind::kAnswer, std::move(response), {}};
  }
  if (asked.may_learn && endpoint_->learn(response, error, asked.written)) {
    return {Verdict::Kind::kAnew, {}, {}};
  }
  std::string what =
      describe(request) + ": the server answers with status " + std::to_string(response.status);
  if (!error.code.empty()) what += ", " + error.code + ": " + error.message;
  if (response.status == 404 && untold && error.code.empty()) {
    what += ", and does not say what is missing";
  }
  if (doubt != Doubt::kNone) what += ", and does not say why: the credentials may have expired";
  if (response.elsewhere) what += ", for another name, which it points to";
  if (response.status >= 300 && response.status < 400) {
    what += "; requests with credentials do not go where it points";
  }
  const bool slow_down = error.code == "SlowDown" || error.code == "RequestTimeout";
  if (may_be_better_later(response.status) || slow_down) {
    return {Verdict::Kind::kLater, {}, {Fault::kIo, what}};
  }
  const bool refused = response.status == 401 || response.status == 403 ||
                       error.code == "ExpiredToken" || error.code == "InvalidAccessKeyId";
  if (refused || no_bucket) {
    const bool absent_or_not = !absent_403_ && !request.of_bucket;
    what += "; " +
            advice_for({response.status, error.code, endpoint_->writes(), !reads, absent_or_not});
  }
  return {Verdict::Kind::kError, {}, {refused ? Fault::kDenied : request.refused, what}};
}

Requester::Requester(HttpClient& http, std::unique_ptr<Endpoint> endpoint,
                     std::chrono::milliseconds deadline, bool absent_403, Reachability::Tell tell)
    : http_(http),
      endpoint_(std::move(endpoint)),
      deadline_(deadline),
      absent_403_(absent_403),
      reachability_([this](Reachability::Answered answered) { probe(std::move(answered)); },
                    std::move(tell)) {}

RequestError Requester::away_error(const ObjectRequest& request) const {
  const auto since = reachability_.away_for().value_or(Clock::duration{});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  return {{Fault::kIo, describe(request) + ": the server has not answered for " +
                           std::to_string(seconds) + " s: " + reachability_.why()},
          true};
}

RequestError Requester::given_up(const ObjectRequest& request) const {
  return {{Fault::kBusy, describe(request) + ": nobody waits for it"}, false};
}

/// Any answer but that it may be better later will do.
void Requester::probe(Reachability::Answered answered) {
  ObjectRequest request;
  request.method = "HEAD";
  request.key = kProbedKey;
  const auto now = Clock::now();
  auto written = endpoint_->write(request, now);
  if (!written) {
    request.bare = true;  // a refusal is an answer, too
    written = endpoint_->write(request, now);
  }
  if (!written) return answered(true);  // what is wrong is not the server
  written->fresh = true;
  http_.submit(std::move(*written),
               [this, request, now, answered = std::move(answered)](HttpAnswer answer) {
                 const Verdict verdict = judge(request, std::move(answer), {now, now, true});
                 answered(verdict.kind != Verdict::Kind::kLater);
               });
}

/// Requests that are asked together, and what has become of them so far.
struct Requester::Batch {
  std::vector<ObjectRequest> requests;
  std::vector<RequestAnswer> answers;
  std::vector<int> lessons;
  std::vector<std::size_t> open;     // those without an answer
  std::optional<std::string> ended;  // why one got none until the deadline
  bool waits = false;                // one may be better later
};

/// Asks for all that is open. What may be asked again by `again` stays open.
void Requester::ask_once(Batch& batch, Clock::time_point again, Clock::time_point until) {
  std::vector<std::size_t> wanted;
  std::vector<HttpRequest> written;
  std::vector<Clock::time_point> times;
  for (const std::size_t i : batch.open) {
    auto request = endpoint_->write(batch.requests[i], until);
    if (!request) {
      batch.answers[i] = tl::unexpected(RequestError{std::move(request.error()), false});
      continue;
    }
    wanted.push_back(i);
    written.push_back(std::move(*request));
    times.push_back(Clock::now());
  }
  batch.open.clear();
  batch.waits = false;
  auto answers = http_.perform(std::move(written));
  for (std::size_t k = 0; k < answers.size(); ++k) {
    const std::size_t i = wanted[k];
    const bool may_learn = batch.lessons[i] < kLessons;
    Verdict verdict = judge(batch.requests[i], std::move(answers[k]), {times[k], until, may_learn});
    if (verdict.kind == Verdict::Kind::kAnswer) {
      batch.answers[i] = std::move(*verdict.answer);
      continue;
    }
    const bool later = verdict.kind == Verdict::Kind::kLater;
    batch.answers[i] = tl::unexpected(RequestError{std::move(verdict.error), later});
    if (verdict.kind == Verdict::Kind::kAnew) ++batch.lessons[i];
    if (verdict.kind == Verdict::Kind::kAnew || (later && Clock::now() < again)) {
      batch.waits = batch.waits || later;
      batch.open.push_back(i);
      ++retries_;
    } else if (later) {
      batch.ended = batch.answers[i].error().message;
    }
  }
}

std::vector<RequestAnswer> Requester::ask_all(std::vector<ObjectRequest> requests) {
  Batch batch;
  batch.answers.resize(requests.size());
  batch.lessons.resize(requests.size(), 0);
  batch.requests = std::move(requests);
  const bool away = !batch.requests.empty() && reachability_.away();
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    if (away) {
      batch.answers[i] = tl::unexpected(away_error(batch.requests[i]));
    } else {
      batch.open.push_back(i);
    }
  }
  const auto until = Clock::now() + deadline_;
  for (auto pause = kFirstPause; !batch.open.empty(); pause = std::min(pause * 2, kLongestPause)) {
    ask_once(batch, until - pause, until);
    if (batch.ended) reachability_.suspect(*std::exchange(batch.ended, std::nullopt));
    const bool away_now = batch.waits && !reachability_.pause(jittered(pause));
    if (!away_now && !request_ended()) continue;
    for (const std::size_t i : batch.open) {
      const ObjectRequest& request = batch.requests[i];
      batch.answers[i] = tl::unexpected(away_now ? away_error(request) : given_up(request));
    }
    break;
  }
  return std::move(batch.answers);
}

RequestAnswer Requester::ask(const ObjectRequest& request) {
  return std::move(ask_all({request}).front());
}

void Requester::ask_later(const ObjectRequest& request, std::function<void(RequestAnswer)> done) {
  if (reachability_.away_for()) return done(tl::unexpected(away_error(request)));
  const auto now = Clock::now();
  auto written = endpoint_->write(request, now);
  if (!written) return done(tl::unexpected(RequestError{std::move(written.error()), false}));
  http_.submit(std::move(*written),
               [this, request, now, done = std::move(done)](HttpAnswer answer) {
                 Verdict verdict = judge(request, std::move(answer), {now, now, false});
                 if (verdict.kind == Verdict::Kind::kAnswer)
                   return done(std::move(*verdict.answer));
                 const bool later = verdict.kind == Verdict::Kind::kLater;
                 done(tl::unexpected(RequestError{std::move(verdict.error), later}));
               });
}

}  // namespace zarrfs
