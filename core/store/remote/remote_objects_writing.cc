// RemoteObjects: what is put and removed at the server, always on the condition that the version
// stands there which was seen.
#include <algorithm>
#include <utility>

#include "core/base/random_name.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {
namespace {

constexpr std::size_t kAnswerText = std::size_t{64} << 10U;
constexpr std::uint64_t kLargestPut = std::uint64_t{5} << 30U;  // of S3, in one request
constexpr std::uint64_t kLargestKept = std::uint64_t{16} << 20U;
constexpr std::uint64_t kKeptEnd = std::uint64_t{1} << 20U;

}  // namespace

/// The first byte, where a HEAD would do: an answer to HEAD has no body to tell why it refuses.
Result<std::optional<RemoteObjects::Standing>> RemoteObjects::look(const std::string& key) {
  const AskedPart first{AskedPart::Kind::kRange, {0, 1}};
  ObjectRequest request;
  request.key = key;
  request.part_limit = 1;
  request.whole_limit = kAnswerText;
  request.headers.emplace_back("Range", *range_header(first));
  ZARRFS_TRY(HttpResponse answer, requester_.ask(request));
  if (answer.status == 416) {  // it has no first byte
    request.method = "HEAD";
    request.headers.clear();
    ZARRFS_TRY(answer, requester_.ask(request));
  }
  if (answer.status == 404) {
    table_.keep(key, std::nullopt);
    return std::nullopt;
  }
  const std::string note = answer.headers.find(endpoint().note_header()).value_or("");
  std::optional<ObjectInfo> info;
  if (request.method == "HEAD") {
    ZARRFS_TRY(info, read_head(answer, url_of(key)));
  } else {
    ZARRFS_TRY(const ObjectPart part, read_part(std::move(answer), first, url_of(key)));
    info = part.info;
  }
  table_.keep(key, info);
  return Standing{*info, note};
}

/// The request on the condition that `expected` stands there.
Result<ObjectRequest> RemoteObjects::conditional(const std::string& method, const std::string& key,
                                                 const std::optional<ObjectInfo>& expected) const {
  ObjectRequest request;
  request.method = method;
  request.key = key;
  request.whole_limit = kAnswerText;
  auto condition = endpoint().condition(expected);
  if (!condition)
    return fail(condition.error().fault, url_of(key) + ": " + condition.error().message);
  request.headers.push_back(std::move(*condition));
  return request;
}

Error RemoteObjects::replaced(const std::string& key) const {
  return {Fault::kStale, url_of(key) + ": another writer has put another version there"};
}

/// Whatever came back: only what stands there tells. An answer may have been lost, and the request
/// been sent again. `answered`: what was made; nothing where the server refused.
Result<ObjectInfo> RemoteObjects::settle(const std::string& key, const std::string& note,
                                         const Result<std::optional<ObjectInfo>>& answered) {
  table_.changed(key);
  if (!answered && answered.error().fault == Fault::kDenied) return fail(answered.error());
  const auto now = look(key);
  if (now && *now && (*now)->note == note) {
    ++puts_;
    return (*now)->info;
  }
  if (!answered) return fail(answered.error());
  if (*answered) {  // and replaced by another writer since
    ++puts_;
    return **answered;
  }
  if (!now) return fail(now.error());
  return fail(replaced(key));
}

Result<ObjectInfo> RemoteObjects::put(const std::string& key,
                                      const std::shared_ptr<const RequestBody>& body,
                                      const std::optional<ObjectInfo>& expected,
                                      const std::string& note) {
  if (body->size() > kLargestPut) {
    return fail(Fault::kTooBig, url_of(key) + ": " + std::to_string(body->size()) +
                                    " bytes are more than the 5 GiB that are written as one");
  }
  ZARRFS_TRY(ObjectRequest request, conditional("PUT", key, expected));
  request.body = body;
  request.headers.emplace_back(endpoint().note_header(), note);
  const auto answered = [&]() -> Result<std::optional<ObjectInfo>> {
    ZARRFS_TRY(const HttpResponse answer, requester_.ask(request));
    if (answer.status != 200) return std::nullopt;
    ObjectInfo made;
    made.size = body->size();
    made.version = version_of(answer.headers);
    made.generation = generation_of(answer.headers);
    return made;
  };
  auto settled = settle(key, note, answered());
  if (settled) keep_put(key, *settled, *body);
  return settled;
}

/// What was put is known: it is read without asking for it, and while the server is away.
void RemoteObjects::keep_put(const std::string& key, const ObjectInfo& info,
                             const RequestBody& body) {
  if (info.version.tag.empty() || info.size != body.size() || body.size() == 0) return;
  const auto keep = [&](std::uint64_t offset, std::uint64_t length) {
    Bytes bytes(static_cast<std::size_t>(length));
    const auto got = body.read_at(offset, bytes);
    if (got && *got == length) keep_bytes(key, info, offset, std::move(bytes));
  };
  if (body.size() <= std::min(kLargestKept, segments_.max_bytes() / 16)) {
    return keep(0, body.size());
  }
  const std::uint64_t end = std::min(kKeptEnd, body.size() / 2);  // an index stands at either
  keep(0, end);
  keep(body.size() - end, end);
}

Result<void> RemoteObjects::remove(const std::string& key, const ObjectInfo& expected) {
  ZARRFS_TRY(const ObjectRequest request, conditional("DELETE", key, expected));
  const auto answer = requester_.ask(request);
  table_.changed(key);
  if (!answer) return fail(answer.error());
  return answer->status == 412 ? fail(replaced(key)) : Result<void>{};
}

Result<void> RemoteObjects::try_conditions(const std::string& key) {
  const auto refuse = [&](const std::string& what) {
    return fail(Fault::kReadOnly, url_of("") + ": the server " + what +
                                      ", so that writers would lose each other's chunks: it is "
                                      "only read");
  };
  const auto text = RequestBody::of_text("zarrfs tries whether this server keeps conditions");
  ZARRFS_TRY(const ObjectInfo made, put(key, text, std::nullopt, random_digits()));
  ObjectInfo other = made;
  other.version = {kTagOfNone, false};
  other.generation = "1";
  const auto again = put(key, text, std::nullopt, random_digits());
  if (again) return refuse("replaces objects though If-None-Match forbids it");
  if (again.error().fault != Fault::kStale) return fail(again.error());
  const auto stale = put(key, text, other, random_digits());
  if (stale) return refuse("replaces objects though If-Match forbids it");
  if (stale.error().fault != Fault::kStale) return fail(stale.error());
  const auto removed = remove(key, other);
  if (removed) return refuse("removes objects though If-Match forbids it");
  if (removed.error().fault != Fault::kStale) return removed;
  return remove(key, made);
}

/// `act` with the key of an object of its own, which is gone afterwards.
Result<void> RemoteObjects::with_probe(
    const std::function<Result<void>(const std::string& key)>& act) {
  const std::string key = ".zarrfs-probe-" + random_digits();
  auto tried = act(key);
  if (tried) return tried;
  ObjectRequest request;
  request.method = "DELETE";
  request.key = key;
  request.whole_limit = kAnswerText;
  static_cast<void>(requester_.ask(request));  // the first error is the one to tell
  return tried;
}

Result<void> RemoteObjects::check_conditions() {
  return with_probe([this](const std::string& key) { return try_conditions(key); });
}

}  // namespace zarrfs
