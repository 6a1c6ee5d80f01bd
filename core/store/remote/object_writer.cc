#include "core/store/remote/object_writer.h"

#include <algorithm>
#include <utility>

#include "core/base/random_name.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {
namespace {

constexpr std::size_t kAnswerText = std::size_t{64} << 10U;
constexpr std::uint64_t kLargestKept = std::uint64_t{16} << 20U;
constexpr std::uint64_t kKeptEnd = std::uint64_t{1} << 20U;

/// A change on the condition that `expected` stands there, or nothing.
ObjectQuestion written(ObjectQuestion::Kind kind, const std::string& key,
                       const std::optional<ObjectInfo>& expected) {
  ObjectQuestion question;
  question.kind = kind;
  question.key = key;
  question.whole_limit = kAnswerText;
  question.condition = expected ? ObjectCondition{ObjectCondition::Kind::kIs, *expected}
                                : ObjectCondition{ObjectCondition::Kind::kAbsent};
  return question;
}

}  // namespace

/// kUnsupported where nothing tells `expected` from others: nothing is asked then.
Result<void> ObjectWriter::check_condition(const std::string& key,
                                           const std::optional<ObjectInfo>& expected) const {
  if (!expected || objects_.client().tells_apart(*expected)) return {};
  return fail(Fault::kUnsupported, objects_.url_of(key) +
                                       ": the server gives an object no version by which "
                                       "it can be told from others");
}

/// The first byte, where a HEAD would do: an answer to HEAD has no body to tell why it refuses.
Result<std::optional<ObjectWriter::Standing>> ObjectWriter::look(const std::string& key) {
  ObjectQuestion question;
  question.key = key;
  question.part = {AskedPart::Kind::kRange, {0, 1}};
  question.whole_limit = kAnswerText;
  const auto asked = ObjectTable::Clock::now();
  ZARRFS_TRY(ObjectAnswer answer, objects_.requester_.ask(question));
  if (answer.kind == ObjectAnswer::Kind::kNoSuchRange) {  // it has no first byte
    question.kind = ObjectQuestion::Kind::kHead;
    ZARRFS_TRY(answer, objects_.requester_.ask(question));
  }
  if (answer.kind == ObjectAnswer::Kind::kAbsent) {
    objects_.table_.keep(key, std::nullopt, asked);
    return std::nullopt;
  }
  if (answer.kind != ObjectAnswer::Kind::kPresent) return fail(objects_.unexpected_answer(key));
  objects_.table_.keep(key, answer.part.info, asked);
  return Standing{answer.part.info, answer.note};
}

Error ObjectWriter::replaced(const std::string& key) const {
  return {Fault::kStale, objects_.url_of(key) + ": another writer has put another version there"};
}

/// Whatever came back: only what stands there tells. An answer may have been lost, and the request
/// been sent again. `answered`: what was made; nothing where the server refused.
Result<ObjectInfo> ObjectWriter::settle(const std::string& key, const std::string& note,
                                        const Result<std::optional<ObjectInfo>>& answered) {
  objects_.table_.changed(key);
  if (!answered && answered.error().fault == Fault::kDenied) return fail(answered.error());
  const auto now = look(key);
  if (now && *now && (*now)->note == note) {
    ++puts_;
    return (*now)->info;
  }
  if (!answered) return fail(answered.error());
  if (*answered) {  // and replaced by another writer since, or the server is gone
    ++puts_;
    if (!now && objects_.client().tells_apart(**answered)) objects_.table_.made(key, **answered);
    return **answered;
  }
  if (!now) return fail(now.error());
  return fail(replaced(key));
}

Result<ObjectInfo> ObjectWriter::put(const std::string& key,
                                     const std::shared_ptr<const RequestBody>& body,
                                     const std::optional<ObjectInfo>& expected,
                                     const std::string& note) {
  const std::uint64_t most = objects_.client().largest_put();
  if (body->size() > most) {
    return fail(Fault::kTooBig, objects_.url_of(key) + ": " + std::to_string(body->size()) +
                                    " bytes are more than the " + std::to_string(most >> 20U) +
                                    " MiB that are written as one");
  }
  ZARRFS_CHECK(check_condition(key, expected));
  ObjectQuestion question = written(ObjectQuestion::Kind::kPut, key, expected);
  question.body = body;
  question.note = note;
  const auto answered = [&]() -> Result<std::optional<ObjectInfo>> {
    ZARRFS_TRY(const ObjectAnswer answer, objects_.requester_.ask(question));
    if (answer.kind != ObjectAnswer::Kind::kPresent) return std::nullopt;
    return answer.part.info;
  };
  auto settled = settle(key, note, answered());
  if (settled) keep_put(key, *settled, *body);
  return settled;
}

/// What was put is known: it is read without asking for it, and while the server is away.
void ObjectWriter::keep_put(const std::string& key, const ObjectInfo& info,
                            const RequestBody& body) {
  if (info.version.tag.empty() || info.size != body.size() || body.size() == 0) return;
  const auto keep = [&](std::uint64_t offset, std::uint64_t length) {
    const BodyRoom::Held room = objects_.bodies_->take(length);
    Bytes bytes(static_cast<std::size_t>(length));
    const auto got = body.read_at(offset, bytes);
    if (got && *got == length) objects_.keep_bytes(key, info, offset, std::move(bytes));
  };
  if (body.size() <= std::min(kLargestKept, objects_.segments_.max_bytes() / 16)) {
    return keep(0, body.size());
  }
  const std::uint64_t end = std::min(kKeptEnd, body.size() / 2);  // an index stands at either
  keep(0, end);
  keep(body.size() - end, end);
}

Result<void> ObjectWriter::remove(const std::string& key, const ObjectInfo& expected) {
  ZARRFS_CHECK(check_condition(key, expected));
  const auto answer =
      objects_.requester_.ask(written(ObjectQuestion::Kind::kRemove, key, expected));
  objects_.table_.changed(key);
  if (!answer) return fail(answer.error());
  const bool other = answer->kind == ObjectAnswer::Kind::kOtherVersion;
  return other ? fail(replaced(key)) : Result<void>{};
}

Result<void> ObjectWriter::try_conditions(const std::string& key) {
  const auto refuse = [&](const std::string& what) {
    return fail(Fault::kReadOnly, objects_.url_of("") + ": the server " + what +
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
  auto removed = remove(key, other);
  if (removed) return refuse("removes objects though If-Match forbids it");
  if (removed.error().fault != Fault::kStale) return removed;
  return remove(key, made);
}

/// `act` with the key of an object of its own, which is gone afterwards.
Result<void> ObjectWriter::with_probe(
    const std::function<Result<void>(const std::string& key)>& act) {
  const std::string key = ".zarrfs-probe-" + random_digits();
  auto tried = act(key);
  if (tried) return tried;
  ObjectQuestion question;
  question.kind = ObjectQuestion::Kind::kRemove;
  question.key = key;
  question.whole_limit = kAnswerText;
  static_cast<void>(objects_.requester_.ask(question));  // the first error is the one to tell
  return tried;
}

Result<void> ObjectWriter::check_conditions() {
  return with_probe([this](const std::string& key) { return try_conditions(key); });
}

}  // namespace zarrfs
