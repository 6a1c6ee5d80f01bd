#include "core/store/http/requester.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "core/base/request.h"

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

RequestError error_of(NoAnswer none) {
  return {std::move(none.error), none.kind == NoAnswer::Kind::kLater};
}

}  // namespace

Requester::Requester(HttpClient& http, std::unique_ptr<ObjectClient> client,
                     std::chrono::milliseconds deadline, Reachability::Tell tell)
    : http_(http),
      client_(std::move(client)),
      deadline_(deadline),
      reachability_([this](Reachability::Answered answered) { probe(std::move(answered)); },
                    std::move(tell)) {}

RequestError Requester::away_error(const ObjectQuestion& question) const {
  const auto since = reachability_.away_for().value_or(Clock::duration{});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  return {{Fault::kIo, client_->url_of(question.key) + ": the server has not answered for " +
                           std::to_string(seconds) + " s: " + reachability_.why()},
          true};
}

RequestError Requester::given_up(const ObjectQuestion& question) const {
  return {{Fault::kGivenUp, client_->url_of(question.key) + ": nobody waits for it"}, false};
}

/// Any answer but that it may be better later will do.
void Requester::probe(Reachability::Answered answered) {
  ObjectQuestion question;
  question.kind = ObjectQuestion::Kind::kHead;
  question.key = kProbedKey;
  const auto now = Clock::now();
  auto written = client_->write(question, now);
  if (!written) {
    question.bare = true;  // a refusal is an answer, too
    written = client_->write(question, now);
  }
  if (!written) return answered(true);  // what is wrong is not the server
  written->fresh = true;
  http_.submit(std::move(*written),
               [this, question, now, answered = std::move(answered)](HttpAnswer answer) {
                 const auto read = client_->read(question, std::move(answer), {now, now, true});
                 answered(read || read.error().kind != NoAnswer::Kind::kLater);
               });
}

/// Requests that are asked together, and what has become of them so far.
struct Requester::Batch {
  std::vector<ObjectQuestion> questions;
  const Take& take;
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
    auto request = client_->write(batch.questions[i], until);
    if (!request) {
      batch.take(i, tl::unexpected(RequestError{std::move(request.error()), false}));
      continue;
    }
    wanted.push_back(i);
    written.push_back(std::move(*request));
    times.push_back(Clock::now());
  }
  batch.open.clear();
  batch.waits = false;
  http_.perform_each(std::move(written), [&](std::size_t k, HttpAnswer answer) {
    const std::size_t i = wanted[k];
    const bool may_learn = batch.lessons[i] < kLessons;
    auto read = client_->read(batch.questions[i], std::move(answer), {times[k], until, may_learn});
    if (read) return batch.take(i, std::move(*read));
    const bool later = read.error().kind == NoAnswer::Kind::kLater;
    const bool anew = read.error().kind == NoAnswer::Kind::kAnew;
    if (anew) ++batch.lessons[i];
    if (anew || (later && Clock::now() < again)) {
      batch.waits = batch.waits || later;
      batch.open.push_back(i);
      ++retries_;
      return;
    }
    if (later) batch.ended = read.error().error.message;
    batch.take(i, tl::unexpected(error_of(std::move(read.error()))));
  });
}

void Requester::ask_all(std::vector<ObjectQuestion> questions, const Take& take) {
  Batch batch{std::move(questions), take, {}, {}, {}, false};
  batch.lessons.resize(batch.questions.size(), 0);
  const bool away = !batch.questions.empty() && reachability_.away();
  for (std::size_t i = 0; i < batch.questions.size(); ++i) {
    if (away) {
      take(i, tl::unexpected(away_error(batch.questions[i])));
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
      const ObjectQuestion& question = batch.questions[i];
      take(i, tl::unexpected(away_now ? away_error(question) : given_up(question)));
    }
    break;
  }
}

RequestAnswer Requester::ask(const ObjectQuestion& question) {
  if (auto alone = client_->answer_alone(question)) return std::move(*alone);
  RequestAnswer answered;
  ask_all({question}, [&](std::size_t, RequestAnswer answer) { answered = std::move(answer); });
  return answered;
}

void Requester::ask_later(const ObjectQuestion& question, std::function<void(RequestAnswer)> done) {
  if (reachability_.away_for()) return done(tl::unexpected(away_error(question)));
  const auto now = Clock::now();
  auto written = client_->write(question, now);
  if (!written) return done(tl::unexpected(RequestError{std::move(written.error()), false}));
  http_.submit(std::move(*written),
               [this, question, now, done = std::move(done)](HttpAnswer answer) {
                 auto read = client_->read(question, std::move(answer), {now, now, false});
                 if (read) return done(std::move(*read));
                 done(tl::unexpected(error_of(std::move(read.error()))));
               });
}

}  // namespace zarrfs
