#include "core/store/http/requester.h"

#include <algorithm>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "core/base/request.h"

namespace zarrfs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{15000};
constexpr int kLessons = 3;  // Region, clock and keys may all be wrong.

/// Between half of `pause` and all of it, so that many who failed together do not come together.
std::chrono::milliseconds jittered(std::chrono::milliseconds pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  return pause / 2 + std::chrono::milliseconds(random() % (pause.count() / 2 + 1));
}

/// Until `pause` is over, or nobody waits for the work.
void rest(std::chrono::milliseconds pause) {
  for (const auto end = Clock::now() + pause; Clock::now() < end && !request_ended();) {
    std::this_thread::sleep_for(std::min(pause, kFirstPause));
  }
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
                                    bool may_learn) {
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
  return judge_refusal(request, std::move(*answer), may_learn);
}

Requester::Verdict Requester::judge_refusal(const ObjectRequest& request, HttpResponse response,
                                            bool may_learn) {
  const ServiceError error = error_in(response);
  const bool no_bucket = error.code == "NoSuchBucket";
  const bool reads = request.method == "GET" || request.method == "HEAD";
  // A bucket's answer in XML says what is missing: a key, or else; or it was cut or damaged.
  const bool in_xml =
      response.text().find("<Error") != std::string_view::npos || response.text().starts_with('<');
  const bool untold = reads && endpoint_->lists() && in_xml && error.code != "NoSuchKey";
  // That a name which the server points to is absent says nothing of the one that was asked for.
  const bool absent = (response.status == 404 && !response.elsewhere && !untold) ||
                      (response.status == 403 && absent_403_ && reads && error.code.size() < 100 &&
                       (error.code.empty() || error.code == "AccessDenied"));
  if (absent && !no_bucket) {
    response.status = 404;
    return {Verdict::Kind::kAnswer, std::move(response), {}};
  }
  if (may_learn && endpoint_->learn(response, error)) return {Verdict::Kind::kAnew, {}, {}};
  std::string what =
      describe(request) + ": the server answers with status " + std::to_string(response.status);
  if (!error.code.empty()) what += ", " + error.code + ": " + error.message;
  if (response.status == 404 && untold && error.code.empty()) {
    what += ", and does not say what is missing";
  }
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
  return {Verdict::Kind::kError, {}, {refused ? Fault::kDenied : request.refused, what}};
}

struct Requester::Round {
  std::vector<std::size_t> wanted;  // which of the requests
  std::vector<HttpRequest> written;
};

std::vector<Result<HttpResponse>> Requester::ask_all(std::vector<ObjectRequest> requests) {
  std::vector<Result<HttpResponse>> results(requests.size());
  std::vector<int> lessons(requests.size(), 0);
  std::vector<std::size_t> open(requests.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  const auto until = Clock::now() + deadline_;
  for (auto pause = kFirstPause; !open.empty(); pause = std::min(pause * 2, kLongestPause)) {
    Round round;
    for (const std::size_t i : open) {
      auto written = endpoint_->write(requests[i]);
      if (!written) {
        results[i] = fail(std::move(written.error()));
        continue;
      }
      round.wanted.push_back(i);
      round.written.push_back(std::move(*written));
    }
    open.clear();
    bool wait = false;
    auto answers = http_.perform(std::move(round.written));
    for (std::size_t k = 0; k < answers.size(); ++k) {
      const std::size_t i = round.wanted[k];
      Verdict verdict = judge(requests[i], std::move(answers[k]), lessons[i] < kLessons);
      const bool again = verdict.kind == Verdict::Kind::kAnew ||
                         (verdict.kind == Verdict::Kind::kLater && Clock::now() + pause < until);
      if (verdict.kind == Verdict::Kind::kAnswer) {
        results[i] = std::move(*verdict.answer);
      } else if (again) {
        if (verdict.kind == Verdict::Kind::kAnew) ++lessons[i];
        wait = wait || verdict.kind == Verdict::Kind::kLater;
        open.push_back(i);
        ++retries_;
      } else {
        results[i] = fail(std::move(verdict.error));
      }
    }
    if (wait) rest(jittered(pause));
    if (request_ended()) {
      for (const std::size_t i : std::exchange(open, {})) {
        results[i] = fail(Fault::kBusy, describe(requests[i]) + ": nobody waits for it");
      }
    }
  }
  return results;
}

Result<HttpResponse> Requester::ask(const ObjectRequest& request) {
  return std::move(ask_all({request}).front());
}

void Requester::ask_later(const ObjectRequest& request,
                          std::function<void(Result<HttpResponse>)> done) {
  auto written = endpoint_->write(request);
  if (!written) return done(fail(std::move(written.error())));
  http_.submit(std::move(*written), [this, request, done = std::move(done)](HttpAnswer answer) {
    Verdict verdict = judge(request, std::move(answer), false);
    if (verdict.kind == Verdict::Kind::kAnswer) return done(std::move(*verdict.answer));
    done(fail(std::move(verdict.error)));
  });
}

}  // namespace zarrfs
