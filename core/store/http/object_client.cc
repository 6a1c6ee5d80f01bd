#include "core/store/http/object_client.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/path.h"
#include "core/store/http/advice.h"

namespace zarrfs {
namespace {

using Kind = ObjectQuestion::Kind;
using namespace std::literals;

const char* method_of(Kind kind) {
  switch (kind) {
    case Kind::kHead: return "HEAD";
    case Kind::kGet:
    case Kind::kList: return "GET";
    case Kind::kPut:
    case Kind::kPutPart:
    case Kind::kCopyPart: return "PUT";
    case Kind::kBeginParts:
    case Kind::kCompleteParts: return "POST";
    case Kind::kRemove:
    case Kind::kAbortParts: return "DELETE";
  }
  return "GET";
}

/// The headers by which a server sends bytes only where they are, or are not, those of a version.
void add_reading_condition(HttpRequest& request, const ObjectCondition& condition) {
  const bool unless = condition.kind == ObjectCondition::Kind::kIsNot;
  if (!unless && condition.kind != ObjectCondition::Kind::kIs) return;
  const Version& version = condition.version.version;
  constexpr std::string_view kModified = "modified ";
  if (version.tag.starts_with(kModified)) {
    // A date goes with the bytes, and is compared then: servers that know parts of a second take
    // If-Unmodified-Since with their own date for a failure.
    if (unless) {
      request.headers.emplace_back("If-Modified-Since", version.tag.substr(kModified.size()));
    }
  } else if (!version.tag.empty() && (unless || !version.weak)) {
    request.headers.emplace_back(unless ? "If-None-Match" : "If-Match", version.tag);
  }
}

bool may_be_better_later(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status == 500 ||
         status == 502 || status == 503 || status == 504;
}

constexpr std::array kDenials = {"ExpiredToken"sv, "InvalidAccessKeyId"sv,
                                 "PublicAccessNotPermitted"sv};
constexpr std::array kNoBuckets = {"NoSuchBucket"sv, "ContainerNotFound"sv, "ResourceNotFound"sv};

bool is_one_of(std::string_view code, std::span<const std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

tl::unexpected<NoAnswer> no_answer(NoAnswer::Kind kind, Fault fault, std::string what) {
  return tl::unexpected(NoAnswer{kind, {fault, std::move(what)}});
}

ObjectAnswer answer_of(ObjectAnswer::Kind kind) {
  ObjectAnswer answer;
  answer.kind = kind;
  return answer;
}

}  // namespace

bool HttpObjectClient::reads(const ObjectQuestion& question) {
  return question.kind == Kind::kHead || question.kind == Kind::kGet ||
         question.kind == Kind::kList;
}

HttpRequest HttpObjectClient::begin_request(const ObjectQuestion& question) {
  HttpRequest request;
  request.method = method_of(question.kind);
  request.body = question.body;
  request.whole_limit = question.whole_limit;
  if (question.kind != Kind::kGet) return request;
  request.part_limit = static_cast<std::size_t>(question.part.range.length);
  if (const auto header = range_header(question.part)) {
    request.headers.emplace_back("Range", *header);
  }
  add_reading_condition(request, question.condition);
  return request;
}

bool HttpObjectClient::says_absent(const ObjectQuestion& /*question*/,
                                   const HttpResponse& response) const {
  // That a name which the server points to is absent says nothing of the one that was asked for.
  return response.status == 404 && !response.elsewhere;
}

bool HttpObjectClient::is_other_version(const ObjectQuestion& question,
                                        const HttpResponse& response) const {
  return response.status == 412 ||
         (question.kind == Kind::kCompleteParts && response.status == 409);
}

ServiceError HttpObjectClient::error_in(const HttpResponse& response) const {
  return parse_service_error(response.text());
}

tl::unexpected<NoAnswer> HttpObjectClient::refused(Fault fault, const ObjectQuestion& question,
                                                   const std::string& what) const {
  return no_answer(NoAnswer::Kind::kRefused, fault, url_of(question.key) + ": " + what);
}

tl::expected<ObjectAnswer, NoAnswer> HttpObjectClient::read(const ObjectQuestion& question,
                                                            HttpAnswer answer, const Asked& asked) {
  if (!answer) return read_failure(question, answer.error());
  HttpResponse& response = *answer;
  const std::string encoding = encoding_of(response.headers);
  if (!encoding.empty() && (response.status == 200 || response.status == 206)) {
    return refused(Fault::kUnsupported, question,
                   "the server sends it compressed (" + encoding +
                       "), so byte ranges would be of the compressed form");
  }
  // Nothing is stored under the name of a directory.
  if (response.directory) response.status = 404;
  if (is_other_version(question, response)) return answer_of(ObjectAnswer::Kind::kOtherVersion);
  switch (response.status) {
    case 304: return answer_of(ObjectAnswer::Kind::kUnchanged);
    case 416: return answer_of(ObjectAnswer::Kind::kNoSuchRange);
    case 200:
    case 201:
    case 202:
    case 204:
    case 206: break;
    default: return read_refusal(question, response, asked);
  }
  const bool of_object = question.kind == Kind::kHead || question.kind == Kind::kGet;
  BodyRoom::Held room = std::move(response.room);
  auto done = of_object ? read_object(question, std::move(response))
                        : read_done(question, std::move(response));
  if (done) done->room = std::move(room);
  return done;
}

tl::expected<ObjectAnswer, NoAnswer> HttpObjectClient::page_answer(
    const ObjectQuestion& question, Result<ListingPage> page, const std::string& prefix) const {
  if (!page) return refused(Fault::kIo, question, "listing it: " + page.error().message);
  const std::string begin = prefix.empty() ? "" : prefix + "/";
  ObjectAnswer answer;
  answer.page.truncated = page->truncated;
  answer.page.continuation = std::move(page->continuation);
  for (ListedObject& object : page->objects) {
    if (!object.key.starts_with(begin)) continue;
    object.key.erase(0, begin.size());
    answer.page.objects.push_back(std::move(object));
  }
  for (std::string& listed : page->prefixes) {
    if (!listed.starts_with(begin)) continue;
    listed.erase(0, begin.size());
    answer.page.prefixes.push_back(std::move(listed));
  }
  return answer;
}

std::string HttpObjectClient::key_below(const std::string& prefix, const std::string& key) {
  return key.empty() ? prefix : join_path(prefix, key);
}

tl::expected<ObjectAnswer, NoAnswer> HttpObjectClient::read_object(const ObjectQuestion& question,
                                                                   HttpResponse response) const {
  ObjectAnswer answer;
  answer.note = note_in(response);
  const std::string name = url_of(question.key);
  if (question.kind == Kind::kHead) {
    auto info = read_head(response, name);
    if (!info) return tl::unexpected(NoAnswer{NoAnswer::Kind::kRefused, std::move(info.error())});
    answer.part.info = std::move(*info);
    return answer;
  }
  auto part = read_part(std::move(response), question.part, name);
  if (!part) return tl::unexpected(NoAnswer{NoAnswer::Kind::kRefused, std::move(part.error())});
  answer.part = std::move(*part);
  return answer;
}

tl::expected<ObjectAnswer, NoAnswer> HttpObjectClient::read_failure(
    const ObjectQuestion& question, const HttpFailure& failure) const {
  switch (failure.kind) {
    case HttpFailure::Kind::kNetwork:
      return no_answer(NoAnswer::Kind::kLater, Fault::kIo,
                       url_of(question.key) + ": " + failure.message);
    case HttpFailure::Kind::kGivenUp: return refused(Fault::kGivenUp, question, failure.message);
    case HttpFailure::Kind::kTls:
      return refused(Fault::kDenied, question,
                     failure.message + " (ca_file names other certificates to trust)");
    default: return refused(Fault::kIo, question, failure.message);
  }
}

tl::expected<ObjectAnswer, NoAnswer> HttpObjectClient::read_refusal(const ObjectQuestion& question,
                                                                    const HttpResponse& response,
                                                                    const Asked& asked) {
  const ServiceError error = error_in(response);
  const bool unexplained =
      question.kind == Kind::kHead && !question.bare && error.code.empty() &&
      (response.status == 400 || response.status == 401 || response.status == 403);
  const Doubt doubt = unexplained ? suspect(asked.written, asked.until) : Doubt::kNone;
  if (doubt == Doubt::kRenewed && asked.may_learn) {
    return tl::unexpected(NoAnswer{NoAnswer::Kind::kAnew, {}});
  }
  const bool forbidden_is_absent = response.status == 403 && absent_403_ && reads(question) &&
                                   doubt == Doubt::kNone && error.code.size() < 100 &&
                                   (error.code.empty() || error.code == "AccessDenied");
  if (forbidden_is_absent || says_absent(question, response)) {
    return answer_of(ObjectAnswer::Kind::kAbsent);
  }
  if (asked.may_learn && learn(response, asked.written)) {
    return tl::unexpected(NoAnswer{NoAnswer::Kind::kAnew, {}});
  }
  std::string what = "the server answers with status " + std::to_string(response.status);
  if (!error.code.empty()) what += ", " + error.code + ": " + error.message;
  if (response.status == 404 && reads(question) && error.code.empty() && !response.elsewhere) {
    what += ", and does not say what is missing";
  }
  if (doubt != Doubt::kNone) what += ", and does not say why: the credentials may have expired";
  if (response.elsewhere) what += ", for another name, which it points to";
  if (response.status >= 300 && response.status < 400) {
    what += "; requests with credentials do not go where it points";
  }
  const bool denied =
      response.status == 401 || response.status == 403 || is_one_of(error.code, kDenials);
  const bool slow_down = error.code == "SlowDown" || error.code == "RequestTimeout";
  if (!denied && (may_be_better_later(response.status) || slow_down)) {
    return no_answer(NoAnswer::Kind::kLater, Fault::kIo, url_of(question.key) + ": " + what);
  }
  if (denied || is_one_of(error.code, kNoBuckets)) {
    const bool of_object = !absent_403_ && question.kind != Kind::kList;
    what += "; " + advice_for({response.status, error.code, writes(), !reads(question), of_object});
  }
  return refused(denied ? Fault::kDenied : fault_of_refusal(question), question, what);
}

}  // namespace zarrfs
