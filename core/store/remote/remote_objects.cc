#include "core/store/remote/remote_objects.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/base/json.h"
#include "core/store/http/schemes.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kLargestRequest = std::uint64_t{8} << 20U;
constexpr std::uint64_t kUnknownStart = std::uint64_t{64} << 10U;
constexpr std::uint64_t kLargestHint = std::uint64_t{16} << 20U;
constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLeastWhole = std::uint64_t{16} << 20U;  // of an object without ranges
constexpr std::uint64_t kLeastRequest = std::uint64_t{256} << 10U;
constexpr std::uint64_t kRequestsAtOnce = 4;  // of the largest, that bodies have room for
constexpr std::uint64_t kWindows = 4;         // of a large read, that the cache has room for
constexpr std::size_t kErrorText = std::size_t{64} << 10U;
constexpr std::int64_t kMostFetches = 256;
// Bytes that are brought once more rather than asked around: less than a request takes.
constexpr std::uint64_t kLargestGap = std::uint64_t{512} << 10U;
constexpr int kAttempts = 3;
constexpr std::int64_t kPerSecond = 1'000'000'000;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

ObjectTable::Clock::duration validity_of(const RemoteOptions& options) {
  return options.immutable ? ObjectTable::Clock::duration(std::chrono::hours(24 * 365 * 10))
                           : ObjectTable::Clock::duration(milliseconds(options.revalidate));
}

AskedPart part_of(const OpenHint& hint, std::uint64_t most) {
  const std::uint64_t length = std::clamp<std::uint64_t>(hint.bytes, 1, most);
  switch (hint.part) {
    case OpenHint::Part::kWhole: return {AskedPart::Kind::kWhole, {}};
    case OpenHint::Part::kStart: return {AskedPart::Kind::kRange, {0, length}};
    case OpenHint::Part::kEnd: return {AskedPart::Kind::kSuffix, {0, length}};
    case OpenHint::Part::kRange: return {AskedPart::Kind::kRange, {hint.offset, length}};
    case OpenHint::Part::kUnknown: break;
  }
  return {AskedPart::Kind::kRange, {0, kUnknownStart}};
}

std::uint64_t gap_between(const ByteRange& one, const ByteRange& next) {
  return next.offset - (one.offset + one.length);
}

/// Several of them on their way at once leave room for others.
std::uint64_t largest_request(const RemoteOptions& options) {
  return std::clamp(options.bodies / kRequestsAtOnce, kLeastRequest, kLargestRequest);
}

}  // namespace

struct RemoteObjects::Opening {
  ObjectQuestion question;
  std::optional<ObjectInfo> known;  ///< What was there when it was looked at last.
  ObjectTable::Clock::time_point asked = ObjectTable::Clock::now();
};

Result<std::shared_ptr<RemoteObjects>> RemoteObjects::open(const Url& url,
                                                           const RemoteOptions& options) {
  HttpSettings settings;
  settings.connections = static_cast<std::size_t>(options.connections);
  const Scheme* const scheme = scheme_named(url.scheme);
  if (scheme == nullptr || scheme->client == nullptr) {
    return fail(Fault::kUnsupported, url.text() + ": names no server of " + server_schemes());
  }
  settings.ca_file = trusted_certificates(*scheme, options, process_environment());
  settings.seconds = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(options.deadline));
  settings.connect_seconds = std::min(settings.connect_seconds, settings.seconds);
  settings.quiet_seconds = std::min(settings.quiet_seconds, settings.seconds);
  settings.bodies = std::make_shared<BodyRoom>(options.bodies);
  ZARRFS_TRY(auto http, HttpClient::make(settings));
  ZARRFS_TRY(auto client, scheme->client(url, options, *http, process_environment()));
  std::unique_ptr<DiskCache> disk;
  if (!options.cache.empty()) {
    ZARRFS_TRY(disk, DiskCache::open(options.cache, options.cache_size));
  }
  return std::shared_ptr<RemoteObjects>(new RemoteObjects(
      std::move(http), settings.bodies, std::move(client), std::move(disk), options));
}

RemoteObjects::RemoteObjects(std::unique_ptr<HttpClient> http, std::shared_ptr<BodyRoom> bodies,
                             std::unique_ptr<ObjectClient> client, std::unique_ptr<DiskCache> disk,
                             const RemoteOptions& options)
    : options_(options),
      largest_request_(largest_request(options)),
      opened_ns_(static_cast<std::int64_t>(::time(nullptr)) * kPerSecond),
      table_(validity_of(options), milliseconds(options.stale_if_error), options.table_memory),
      segments_(std::max(options.memory_cache, kLeastMemory)),
      disk_(std::move(disk)),
      bodies_(std::move(bodies)),
      http_(std::move(http)),
      requester_(*http_, std::move(client), milliseconds(options.deadline),
                 [this](bool away, const std::string& text) { tell(away, text); }) {
  // It is kept in the cache afterwards.
  bodies_->when_beyond([this](std::uint64_t bytes) { segments_.lend(bytes); });
}

// What is on its way tells the caches that it does not come: they must be there still.
RemoteObjects::~RemoteObjects() {
  requester_.stop();
  http_->close();
}

void RemoteObjects::tell(bool away, const std::string& text) const {
  if (!options_.tell) return;
  const std::string shown = options_.stale_if_error > 0 ? "what was seen of it before is shown"
                                                        : "nothing of it is shown";
  options_.tell(away ? "the server of " + url_of("") + " does not answer; " + shown +
                           " until it does: " + text
                     : "the server of " + url_of("") + " answers again, " + text);
}

struct stat RemoteObjects::status_of(const std::string& key, const ObjectInfo& info) const {
  struct stat status = object_status(key, info.version.tag + " " + std::to_string(info.size),
                                     info.size, info.modified_ns);
  if (options_.write) status.st_mode |= S_IWUSR;
  return status;
}

struct stat RemoteObjects::status_of_prefix(const std::string& prefix) const {
  struct stat status = prefix_status(prefix, opened_ns_);
  if (options_.write) status.st_mode |= S_IWUSR;
  return status;
}

std::string RemoteObjects::object_name(const std::string& key, const ObjectInfo& info) const {
  return url_of(key) + "\n" + info.version.tag + "\n" + std::to_string(info.size);
}

Error RemoteObjects::unexpected_answer(const std::string& key) const {
  return {Fault::kIo, url_of(key) + ": the server answers what was not asked for"};
}

Error RemoteObjects::stale(const std::string& key) const {
  return {Fault::kStale, url_of(key) + ": another version has taken its place while it was read"};
}

void RemoteObjects::keep_bytes(const std::string& key, const ObjectInfo& info, std::uint64_t offset,
                               Bytes bytes) {
  const std::string name = object_name(key, info);
  if (disk_ != nullptr && !info.version.tag.empty()) disk_->keep(name, offset, bytes);
  segments_.put(name, offset, std::move(bytes));
}

/// What is known of `key`, where `error` says only that the server does not answer; an object or
/// that there is none.
std::optional<std::optional<ObjectInfo>> RemoteObjects::seen_before(const std::string& key,
                                                                    const RequestError& error) {
  const auto known = error.may_pass ? table_.find(key) : std::nullopt;
  if (!known || !known->usable) return std::nullopt;
  if (known->info) ++shown_stale_;
  return known->info;
}

bool RemoteObjects::shows_what_was_seen() const {
  const auto away = requester_.reachability().away_for();
  return away && *away < milliseconds(options_.stale_if_error);
}

std::optional<ObjectInfo> RemoteObjects::known(const std::string& key) const {
  const auto known = table_.find(key);
  return known ? known->info : std::nullopt;
}

std::optional<ObjectInfo> RemoteObjects::fresh(const std::string& key) const {
  const auto known = table_.find(key);
  return known && known->fresh ? known->info : std::nullopt;
}

Result<std::optional<ObjectInfo>> RemoteObjects::status(const std::string& key) {
  return status_of_key(key, false);
}

Result<std::optional<ObjectInfo>> RemoteObjects::status_to_write(const std::string& key) {
  return status_of_key(key, true);
}

Result<std::optional<ObjectInfo>> RemoteObjects::status_of_key(const std::string& key,
                                                               bool absence_will_do) {
  const ObjectTable::Turn turn(table_, key);
  if (const auto known = table_.find(key); known && known->fresh) return known->info;
  ObjectQuestion question;
  question.kind = ObjectQuestion::Kind::kHead;
  question.key = key;
  const auto asked = ObjectTable::Clock::now();
  const auto answer = requester_.ask(question);
  if (!answer) {
    const auto seen = seen_before(key, answer.error());
    if (seen && (*seen || absence_will_do)) return *seen;
    return fail(answer.error());
  }
  std::optional<ObjectInfo> info;
  if (answer->kind == ObjectAnswer::Kind::kPresent) {
    info = answer->part.info;
  } else if (answer->kind != ObjectAnswer::Kind::kAbsent) {
    return fail(unexpected_answer(key));  // absence is the fill value to readers
  }
  table_.keep(key, info, asked);
  return info;
}

RemoteObjects::Opening RemoteObjects::opening_of(const std::string& key,
                                                 const OpenHint& hint) const {
  Opening opening;
  if (const auto known = table_.find(key)) opening.known = known->info;
  if (!opening.known && disk_ != nullptr) opening.known = disk_->find_info(url_of(key));
  ObjectQuestion& question = opening.question;
  question.key = key;
  question.part = part_of(hint, std::min(kLargestHint, 2 * largest_request_));
  question.whole_limit = static_cast<std::size_t>(std::max(options_.memory_cache, kLeastWhole));
  if (opening.known) question.condition = {ObjectCondition::Kind::kIsNot, *opening.known};
  const bool from_end = question.part.kind == AskedPart::Kind::kSuffix;
  if (!from_end || client().counts_from_end()) return opening;
  // The size has to be known first.
  if (opening.known && opening.known->size > 0) {
    const std::uint64_t length = std::min(question.part.range.length, opening.known->size);
    question.part = {AskedPart::Kind::kRange, {opening.known->size - length, length}};
  } else {
    question.kind = ObjectQuestion::Kind::kHead;
  }
  return opening;
}

Result<std::optional<ObjectInfo>> RemoteObjects::take(const Opening& opening,
                                                      RequestAnswer answer) {
  const std::string& key = opening.question.key;
  if (!answer) return fail(std::move(answer.error()));
  switch (answer->kind) {
    case ObjectAnswer::Kind::kPresent: break;
    case ObjectAnswer::Kind::kAbsent:
      table_.keep(key, std::nullopt, opening.asked);
      return std::nullopt;
    case ObjectAnswer::Kind::kNoSuchRange:
      return opening.question.part.range.offset > 0 ? open_shorter(key) : open_empty(key);
    case ObjectAnswer::Kind::kUnchanged:
      if (!opening.known) return fail(unexpected_answer(key));
      table_.keep(key, opening.known, opening.asked);
      return opening.known;
    case ObjectAnswer::Kind::kOtherVersion: return fail(unexpected_answer(key));
  }
  ObjectPart part = std::move(answer->part);
  const ObjectInfo info = part.info;
  if (disk_ != nullptr) disk_->keep_info(url_of(key), info);
  if (!part.bytes.empty()) keep_bytes(key, info, part.offset, std::move(part.bytes));
  table_.keep(key, info, opening.asked);  // whoever sees it finds its bytes
  return info;
}

/// Servers refuse every range of an object without bytes.
Result<std::optional<ObjectInfo>> RemoteObjects::open_empty(const std::string& key) {
  ObjectQuestion question;
  question.key = key;
  question.whole_limit = kErrorText;
  const auto asked = ObjectTable::Clock::now();
  ZARRFS_TRY(const ObjectAnswer answer, requester_.ask(question));
  if (answer.kind == ObjectAnswer::Kind::kAbsent) {
    table_.keep(key, std::nullopt, asked);
    return std::nullopt;
  }
  if (answer.kind != ObjectAnswer::Kind::kPresent) return fail(unexpected_answer(key));
  if (answer.part.info.size > 0) return fail(stale(key));
  table_.keep(key, answer.part.info, asked);
  return answer.part.info;
}

/// Of an object that ends before the range that was asked for.
Result<std::optional<ObjectInfo>> RemoteObjects::open_shorter(const std::string& key) {
  ObjectQuestion question;
  question.kind = ObjectQuestion::Kind::kHead;
  question.key = key;
  const auto asked = ObjectTable::Clock::now();
  ZARRFS_TRY(const ObjectAnswer answer, requester_.ask(question));
  std::optional<ObjectInfo> info;
  if (answer.kind == ObjectAnswer::Kind::kPresent) info = answer.part.info;
  table_.keep(key, info, asked);
  return info;
}

Result<std::optional<RemoteObjects::Seen>> RemoteObjects::open_object(const std::string& key,
                                                                      const OpenHint& hint) {
  const auto seen_now = [](std::optional<ObjectInfo> info) -> std::optional<Seen> {
    return info ? std::optional(Seen{std::move(*info), false}) : std::nullopt;
  };
  if (auto known = table_.find(key); known && known->fresh) return seen_now(std::move(known->info));
  const ObjectTable::Turn turn(table_, key);
  if (auto known = table_.find(key); known && known->fresh) return seen_now(std::move(known->info));
  if (options_.immutable && disk_ != nullptr) {
    if (auto info = disk_->find_info(url_of(key))) {
      table_.keep(key, info, ObjectTable::Clock::now());
      return seen_now(std::move(info));
    }
  }
  const Opening opening = opening_of(key, hint);
  auto answer = requester_.ask(opening.question);
  if (!answer) {
    const auto seen = seen_before(key, answer.error());
    if (seen && *seen) return Seen{**seen, true};
  }
  ZARRFS_TRY(auto info, take(opening, std::move(answer)));
  return seen_now(std::move(info));
}

void RemoteObjects::expect(std::span<const std::string> keys, const OpenHint& hint) {
  std::vector<Opening> openings;
  std::vector<ObjectQuestion> questions;
  for (const std::string& key : keys) {
    if (const auto known = table_.find(key); known && known->fresh) continue;
    openings.push_back(opening_of(key, hint));
    questions.push_back(openings.back().question);
  }
  requester_.ask_all(std::move(questions), [&](std::size_t place, RequestAnswer answer) {
    static_cast<void>(take(openings[place], std::move(answer)));
  });
}

void RemoteObjects::open_later(const std::string& key, const OpenHint& hint) {
  if (fetching_ > kMostFetches || hint.bytes > segments_.max_bytes() / 16) return;
  const std::shared_ptr<ObjectTable::Turn> turn = ObjectTable::Turn::take(table_, key);
  if (turn == nullptr) return;  // it is being asked for
  if (const auto known = table_.find(key); known && known->fresh) return;
  const auto opening = std::make_shared<const Opening>(opening_of(key, hint));
  if (options_.immutable && opening->known) return;  // the cache on disk has it
  ++fetching_;
  requester_.ask_later(opening->question, [this, opening, turn](RequestAnswer answer) {
    // What fails, and what takes another request, is asked for when it is needed.
    const bool serves = answer && answer->kind != ObjectAnswer::Kind::kNoSuchRange;
    if (serves) static_cast<void>(take(*opening, std::move(answer)));
    --fetching_;
  });
}

ObjectQuestion RemoteObjects::range_of(const std::string& key, const ObjectInfo& info,
                                       ByteRange range) const {
  ObjectQuestion question;
  question.key = key;
  question.part = {AskedPart::Kind::kRange, range};
  question.whole_limit = static_cast<std::size_t>(std::max(options_.memory_cache, kLeastWhole));
  question.condition = {ObjectCondition::Kind::kIs, info};
  return question;
}

Result<void> RemoteObjects::take_range(const std::string& key, const ObjectInfo& info,
                                       RequestAnswer answer) {
  if (!answer) return fail(std::move(answer.error()));
  ObjectPart part = std::move(answer->part);
  if (answer->kind != ObjectAnswer::Kind::kPresent) {
    table_.forget(key);
    return fail(stale(key));
  }
  if (part.info.size != info.size || !(part.info.version == info.version)) {
    table_.forget(key);
    return fail(stale(key));
  }
  table_.confirm(key, info);
  keep_bytes(key, info, part.offset, std::move(part.bytes));
  return {};
}

/// Whether `range`, of at most largest_request_, was on disk, and is in memory now.
bool RemoteObjects::find_on_disk(const std::string& name, ByteRange range) {
  if (disk_ == nullptr) return false;
  const BodyRoom::Held room = bodies_->take(range.length);
  auto kept = disk_->find(name, range);
  if (kept) segments_.put(name, range.offset, std::move(*kept));
  return kept.has_value();
}

Result<void> RemoteObjects::bring(const std::string& key, const ObjectInfo& info,
                                  const std::vector<ByteRange>& missing) {
  const std::string name = object_name(key, info);
  std::vector<ObjectQuestion> questions;
  for (const ByteRange& range : missing) {
    if (!find_on_disk(name, range)) questions.push_back(range_of(key, info, range));
  }
  Result<void> result;
  requester_.ask_all(std::move(questions), [&](std::size_t, RequestAnswer answer) {
    auto taken = take_range(key, info, std::move(answer));
    if (!taken) result = std::move(taken);
  });
  // All that did not come; put() has ended the waiting for the rest.
  for (const ByteRange& range : missing) segments_.give_up(name, range);
  return result;
}

Result<void> RemoteObjects::read(const std::string& key, const ObjectInfo& info,
                                 std::uint64_t offset, MutableByteView out) {
  const std::size_t window = std::max<std::size_t>(segments_.max_bytes() / kWindows, 1);
  for (std::size_t at = 0; at < out.size(); at += window) {
    const MutableByteView part = out.subspan(at, std::min(window, out.size() - at));
    ZARRFS_CHECK(read_window(key, info, offset + at, part));
  }
  return {};
}

Result<void> RemoteObjects::read_window(const std::string& key, const ObjectInfo& info,
                                        std::uint64_t offset, MutableByteView out) {
  const std::string name = object_name(key, info);
  ++reads_;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto missing = segments_.begin(name, {offset, out.size()}, largest_request_);
    if (missing.empty() && attempt == 0) ++hits_;
    if (!missing.empty()) ZARRFS_CHECK(bring(key, info, missing));
    if (segments_.read(name, offset, out)) return {};
  }
  return read_past_cache(key, info, offset, out);
}

/// Where many read at once, the cache may lose what came before it is copied.
Result<void> RemoteObjects::read_past_cache(const std::string& key, const ObjectInfo& info,
                                            std::uint64_t offset, MutableByteView out) {
  for (std::size_t at = 0; at < out.size(); at += largest_request_) {
    const ByteRange range{offset + at, std::min<std::uint64_t>(largest_request_, out.size() - at)};
    ZARRFS_TRY(const ObjectAnswer answer, requester_.ask(range_of(key, info, range)));
    const ObjectPart& part = answer.part;
    const bool same = answer.kind == ObjectAnswer::Kind::kPresent && part.info.size == info.size &&
                      part.info.version == info.version;
    if (!same) {
      table_.forget(key);
      return fail(stale(key));
    }
    const auto first = part.bytes.begin() + static_cast<std::ptrdiff_t>(range.offset - part.offset);
    std::copy_n(first, range.length, out.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return {};
}

void RemoteObjects::fetch(const std::string& key, const ObjectInfo& info, ByteRange range) {
  if (!lies_within(range, info.size) || range.length == 0) return;
  if (range.length > segments_.max_bytes() / 4 || fetching_ > kMostFetches) return;
  const std::string name = object_name(key, info);
  std::vector<ByteRange> wanted;
  for (const ByteRange& missing : segments_.begin(name, range, largest_request_)) {
    if (!find_on_disk(name, missing)) wanted.push_back(missing);
  }
  for (auto first = wanted.begin(); first != wanted.end();) {
    auto last = first;
    std::uint64_t between = 0;
    std::uint64_t all = first->length;
    for (auto next = std::next(last); next != wanted.end(); ++next) {
      between += gap_between(*last, *next);
      all += next->length;
      if (between > all / 2 || !go_together(*first, *last, *next)) break;
      last = next;
    }
    fetch_together(key, info, {first, std::next(last)});
    first = std::next(last);
  }
}

bool RemoteObjects::go_together(const ByteRange& first, const ByteRange& last,
                                const ByteRange& next) const {
  return gap_between(last, next) <= kLargestGap &&
         next.offset + next.length - first.offset <= largest_request_;
}

/// What lies between them, at most half as much as they are, comes once more.
void RemoteObjects::fetch_together(const std::string& key, const ObjectInfo& info,
                                   const std::vector<ByteRange>& parts) {
  const std::uint64_t begin = parts.front().offset;
  const ByteRange all{begin, parts.back().offset + parts.back().length - begin};
  ++fetching_;
  requester_.ask_later(range_of(key, info, all), [this, key, info, parts](RequestAnswer answer) {
    static_cast<void>(take_range(key, info, std::move(answer)));
    const std::string name = object_name(key, info);
    for (const ByteRange& part : parts) segments_.give_up(name, part);
    --fetching_;
  });
}

std::string RemoteObjects::statistics() const {
  const HttpCounters& counters = http_->counters();
  Json json = {{"requests", counters.requests.load()},
               {"bytes", counters.bytes.load()},
               {"bytes_sent", counters.bytes_sent.load()},
               {"objects_put", writer_.puts()},
               {"bytes_copied", writer_.copied()},
               {"failures", counters.failures.load()},
               {"retries", requester_.retries()},
               {"away", requester_.reachability().away_for().has_value()},
               {"outages", requester_.reachability().outages()},
               {"shown_stale", shown_stale_.load()},
               {"reads", reads_.load()},
               {"memory_hits", hits_.load()},
               {"memory_bytes", segments_.bytes()},
               {"bodies_bytes", bodies_->bytes()}};
  if (disk_ != nullptr) json["disk_hits"] = disk_->hits();
  return dump_json(json);
}

}  // namespace zarrfs
