#include "core/store/http/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/base/lock_order.h"
#include "core/base/path.h"
#include "core/base/request.h"
#include "core/base/version.h"
#include "core/store/http/certificates.h"

namespace zarrfs {
namespace {

/// The last name of a URL's path; of a directory, its name.
std::string name_in_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  if (url.ends_with('/')) url.remove_suffix(1);
  return last_name(url);
}

constexpr int kPollMilliseconds = 1000;
constexpr int kPartialContent = 206;
constexpr std::uint64_t kFreshSeconds = 3;
constexpr std::uint64_t kSlowestSending = 100'000;  // bytes a second
constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 20U;
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::uint64_t kSmallBody = std::uint64_t{64} << 10U;  // takes no room
constexpr std::uint64_t kUsualBodies = std::uint64_t{256} << 20U;
constexpr std::uint64_t kLargestBuffer = std::uint64_t{256} << 10U;
constexpr std::uint64_t kLeastBuffer = std::uint64_t{16} << 10U;

/// One request on its way.
struct Transfer {
  HttpRequest request;
  HttpClient::Done done;
  HttpResponse response;
  CURL* handle = nullptr;
  curl_slist* headers = nullptr;
  BodyRoom* bodies = nullptr;
  bool paused = false;  ///< Until there is room for more.
  bool too_long = false;
  std::size_t header_bytes = 0;
  std::uint64_t sent = 0;  ///< Of the request's body.
  std::array<char, CURL_ERROR_SIZE> message{};

  ~Transfer() {
    ::curl_slist_free_all(headers);
    if (handle != nullptr) ::curl_easy_cleanup(handle);
  }
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
};

std::size_t on_header(const char* line, std::size_t /*one*/, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.header_bytes += size;
  transfer.too_long = transfer.header_bytes > kMostHeaderBytes;
  if (transfer.too_long) return 0;
  transfer.response.headers.add_line({line, size});
  return size;
}

/// Room for a body of `bytes`; false where there is none now. Of a body whose length is not told
/// two copies are there while it grows.
bool take_room(Transfer& transfer, std::uint64_t bytes) {
  curl_off_t told = -1;
  ::curl_easy_getinfo(transfer.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &told);
  const std::uint64_t limit = transfer.request.whole_limit;
  const bool known = told > 0 && static_cast<std::uint64_t>(told) <= limit;
  const std::uint64_t all = known ? static_cast<std::uint64_t>(told) : 2 * bytes;
  if (all <= kSmallBody) return true;
  BodyRoom::Held& room = transfer.response.room;
  if (room == nullptr) room = transfer.bodies->try_take(0);
  if (!transfer.bodies->grow(room, all)) return false;
  if (known) transfer.response.body.reserve(all);
  return true;
}

std::size_t on_body(const char* bytes, std::size_t /*one*/, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  long status = 0;
  ::curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  const std::size_t limit =
      status == kPartialContent ? transfer.request.part_limit : transfer.request.whole_limit;
  Bytes& body = transfer.response.body;
  transfer.too_long = size > limit || body.size() > limit - size;
  if (transfer.too_long) return 0;
  try {
    if (status != kPartialContent && !take_room(transfer, body.size() + size)) {
      transfer.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    if (body.empty() && status == kPartialContent) body.reserve(limit);
    const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes);  // copied at once so
    body.insert(body.end(), first, first + size);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return size;
}

std::size_t on_send(char* buffer, std::size_t /*one*/, std::size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const MutableByteView out(reinterpret_cast<std::uint8_t*>(buffer), size);
  const auto got = transfer.request.body->read_at(transfer.sent, out);
  if (!got) return CURL_READFUNC_ABORT;
  transfer.sent += *got;
  return *got;
}

/// A request that found its connection closed is sent again.
int on_seek(void* self, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Transfer*>(self)->sent = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

/// Which certificates are trusted, as a message goes on with it.
std::string trusted(const std::string& ca_file) {
  if (!ca_file.empty()) return "; trusted are the certificates of " + ca_file;
  const Certificates& ours = system_certificates();
  if (ours.file.empty() && ours.directory.empty()) return "; no certificates: " + ours.origin;
  return "; trusted are the certificates of " + ours.origin;
}

HttpFailure failure_of(CURLcode code, const Transfer& transfer, const std::string& ca_file) {
  using Kind = HttpFailure::Kind;
  if (transfer.too_long) return {Kind::kTooLong, "the answer is longer than what was asked for"};
  std::string detail =
      transfer.message[0] != '\0' ? transfer.message.data() : ::curl_easy_strerror(code);
  // libcurl repeats the whole URL, and with it a password.
  if (detail.starts_with("Unsupported proxy")) detail = "the URL of the proxy is not understood";
  switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR: return {Kind::kTls, detail + trusted(ca_file)};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_OUT_OF_MEMORY: return {Kind::kOther, detail};
    default: return {Kind::kNetwork, detail};
  }
}

/// Answers that a thread waits for. It may go before they come.
class Waiting {
 public:
  explicit Waiting(std::size_t count) : answers_(count, given_up()), missing_(count) {}

  void take(std::size_t number, HttpAnswer answer) {
    const std::lock_guard lock(mutex_);
    if (answers_.empty()) return;
    answers_[number] = std::move(answer);
    come_.push_back(number);
    --missing_;
    changed_.notify_one();
  }
  /// The place of the next one that has come; nothing once all were told, or nobody waits for them
  /// any more.
  std::optional<std::size_t> next() {
    std::unique_lock lock(mutex_);
    while (come_.empty() && missing_ > 0 && !request_ended())
      changed_.wait_for(lock, kBetweenLooks);
    if (come_.empty()) return std::nullopt;
    const std::size_t place = come_.front();
    come_.pop_front();
    return place;
  }
  HttpAnswer answer(std::size_t place) {
    const std::lock_guard lock(mutex_);
    return std::exchange(answers_[place], given_up());
  }
  /// What comes from now on is let go.
  void end() {
    const std::lock_guard lock(mutex_);
    answers_.clear();
    come_.clear();
  }

 private:
  static HttpAnswer given_up() {
    return tl::unexpected(HttpFailure{HttpFailure::Kind::kGivenUp, "nobody waits for the answer"});
  }
  TableMutex mutex_;
  RankedCondition changed_;
  std::vector<HttpAnswer> answers_;  ///< Empty once nobody waits for them.
  std::deque<std::size_t> come_;     ///< And not told yet.
  std::size_t missing_;
};

bool is_set(CURL* handle, CURLoption option, auto value) {
  return ::curl_easy_setopt(handle, option, value) == CURLE_OK;
}

/// No other protocols, and from https never to http.
bool keep_to_http(CURL* handle, bool secure) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return is_set(handle, CURLOPT_PROTOCOLS_STR, "http,https") &&
         is_set(handle, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
  constexpr long kEither = CURLPROTO_HTTP | CURLPROTO_HTTPS;
  return is_set(handle, CURLOPT_PROTOCOLS, kEither) &&
         is_set(handle, CURLOPT_REDIR_PROTOCOLS, secure ? CURLPROTO_HTTPS : kEither);
#endif
}

/// Only the certificates of `ca_file`, or the system's where that is empty; never those of places
/// that libcurl was built with.
bool trust(CURL* handle, const std::string& ca_file) {
  const Certificates& ours = system_certificates();
  const std::string& file = ca_file.empty() ? ours.file : ca_file;
  const bool with_directory = ca_file.empty() && !ours.directory.empty();
  return is_set(handle, CURLOPT_CAINFO, file.empty() ? nullptr : file.c_str()) &&
         is_set(handle, CURLOPT_CAPATH, with_directory ? ours.directory.c_str() : nullptr);
}

/// Once for the process; libcurl needs it before the first thread uses it.
bool start_curl() {
  static const bool started = ::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return started;
}

}  // namespace

struct HttpClient::State {
  HttpSettings settings;
  HttpCounters counters;
  CURLM* multi = nullptr;
  TableMutex mutex;
  std::deque<std::unique_ptr<Transfer>> waiting;  // guarded by mutex
  bool ends = false;                              // guarded by mutex
  // Of the client's thread.
  std::deque<std::unique_ptr<Transfer>> queue;  // those for whose bodies there is no room yet
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> running;
  std::atomic<bool> freed{false};  // room, since the paused ones were gone on with
  std::thread thread;

  void work() {
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        if (ends) break;
        std::move(waiting.begin(), waiting.end(), std::back_inserter(queue));
        waiting.clear();
      }
      start_those_with_room();
      int under_way = 0;
      ::curl_multi_perform(multi, &under_way);
      finish_those_done();
      ::curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
    }
    for (auto& [handle, transfer] : running) {
      ::curl_multi_remove_handle(multi, handle);
      give_up(*transfer);
    }
    running.clear();
    {
      const std::lock_guard lock(mutex);
      std::move(waiting.begin(), waiting.end(), std::back_inserter(queue));
      waiting.clear();
    }
    for (auto& transfer : queue) give_up(*transfer);
    queue.clear();
  }

  static void give_up(Transfer& transfer) {
    transfer.done(tl::unexpected(HttpFailure{HttpFailure::Kind::kOther, "the store is closed"}));
  }

  /// In their order; small ones do not wait for large ones.
  void start_those_with_room() {
    if (freed.exchange(false)) {
      for (auto& [handle, transfer] : running) {
        if (std::exchange(transfer->paused, false)) ::curl_easy_pause(handle, CURLPAUSE_CONT);
      }
    }
    bool full = false;
    for (auto& transfer : queue) {
      const std::uint64_t needed = transfer->request.part_limit;
      if (needed > kSmallBody) {
        if (!full) transfer->response.room = settings.bodies->try_take(needed);
        full = transfer->response.room == nullptr;
        if (full) continue;
      }
      start(std::move(transfer));
    }
    std::erase(queue, nullptr);
  }

  /// Of one connection.
  [[nodiscard]] long buffer_size() const {
    const std::uint64_t share =
        settings.bodies->most() / 4 / std::max<std::size_t>(settings.connections, 1);
    return static_cast<long>(std::clamp(share, kLeastBuffer, kLargestBuffer));
  }

  void start(std::unique_ptr<Transfer> transfer) {
    transfer->bodies = settings.bodies.get();
    transfer->handle = ::curl_easy_init();
    if (transfer->handle == nullptr || !set_up(*transfer) ||
        ::curl_multi_add_handle(multi, transfer->handle) != CURLM_OK) {
      transfer->done(
          tl::unexpected(HttpFailure{HttpFailure::Kind::kOther, "libcurl takes no request"}));
      return;
    }
    ++counters.requests;
    running.emplace(transfer->handle, std::move(transfer));
  }

  bool set_up(Transfer& transfer) const {
    CURL* const handle = transfer.handle;
    const HttpRequest& request = transfer.request;
    bool good = true;
    const auto set = [&](CURLoption option, auto value) {
      good = good && ::curl_easy_setopt(handle, option, value) == CURLE_OK;
    };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    good = good && keep_to_http(handle, request.url.starts_with("https:"));
    set(CURLOPT_FOLLOWLOCATION, request.follow ? 1L : 0L);
    set(CURLOPT_MAXREDIRS, 5L);
    set(CURLOPT_NETRC, request.netrc ? static_cast<long>(CURL_NETRC_OPTIONAL)
                                     : static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_USERAGENT, (std::string("zarrfs/") + kProgramVersion).c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_BUFFERSIZE, buffer_size());
    set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(settings.connect_seconds));
    set(CURLOPT_TIMEOUT, static_cast<long>(settings.seconds));
    if (request.fresh) {
      set(CURLOPT_FRESH_CONNECT, 1L);
      set(CURLOPT_CONNECTTIMEOUT,
          static_cast<long>(std::min(settings.connect_seconds, kFreshSeconds)));
    }
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings.quiet_seconds));
    set(CURLOPT_ERRORBUFFER, transfer.message.data());
    set(CURLOPT_HEADERFUNCTION, on_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, on_body);
    set(CURLOPT_WRITEDATA, &transfer);
    good = good && trust(handle, settings.ca_file);
    if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
    if (request.body != nullptr) {
      const std::uint64_t size = request.body->size();
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
      set(CURLOPT_READFUNCTION, on_send);
      set(CURLOPT_READDATA, &transfer);
      set(CURLOPT_SEEKFUNCTION, on_seek);
      set(CURLOPT_SEEKDATA, &transfer);
      set(CURLOPT_TIMEOUT, static_cast<long>(settings.seconds + size / kSlowestSending));
      add_header(transfer, "Expect:", good);
    }
    if (request.method != "HEAD" && request.method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
    for (const auto& [name, value] : request.headers) {
      add_header(transfer, name + ": " + value, good);
    }
    set(CURLOPT_HTTPHEADER, transfer.headers);
    return good;
  }

  static void add_header(Transfer& transfer, const std::string& line, bool& good) {
    curl_slist* const longer = ::curl_slist_append(transfer.headers, line.c_str());
    good = good && longer != nullptr;
    if (longer != nullptr) transfer.headers = longer;
  }

  void finish_those_done() {
    int left = 0;
    while (const CURLMsg* const note = ::curl_multi_info_read(multi, &left)) {
      if (note->msg != CURLMSG_DONE) continue;
      const CURLcode code = note->data.result;
      CURL* const handle = note->easy_handle;
      ::curl_multi_remove_handle(multi, handle);
      const auto found = running.find(handle);
      if (found == running.end()) continue;
      const std::unique_ptr<Transfer> transfer = std::move(found->second);
      running.erase(found);
      finish(*transfer, code);
    }
  }

  void finish(Transfer& transfer, CURLcode code) {
    counters.bytes += transfer.response.body.size();
    counters.bytes_sent += transfer.sent;
    long status = 0;
    ::curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    transfer.response.status = static_cast<int>(status);
    const char* from = nullptr;
    ::curl_easy_getinfo(transfer.handle, CURLINFO_EFFECTIVE_URL, &from);
    const std::string_view asked = transfer.request.url;
    const std::string_view answered = from == nullptr ? asked : std::string_view(from);
    transfer.response.elsewhere = name_in_url(answered) != name_in_url(asked);
    transfer.response.directory =
        answered.ends_with('/') && !asked.ends_with('/') && !transfer.response.elsewhere;
    if (code == CURLE_OK) return transfer.done(std::move(transfer.response));
    ++counters.failures;
    transfer.done(tl::unexpected(failure_of(code, transfer, settings.ca_file)));
  }
};

Result<std::unique_ptr<HttpClient>> HttpClient::make(const HttpSettings& settings) {
  if (!start_curl()) return fail(Fault::kNoMemory, "libcurl does not start");
  auto state = std::make_unique<State>();
  state->settings = settings;
  if (state->settings.bodies == nullptr) {
    state->settings.bodies = std::make_shared<BodyRoom>(kUsualBodies);
  }
  state->multi = ::curl_multi_init();
  if (state->multi == nullptr) return fail(Fault::kNoMemory, "libcurl does not start");
  ::curl_multi_setopt(state->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                      static_cast<long>(settings.connections));
  ::curl_multi_setopt(state->multi, CURLMOPT_MAXCONNECTS, static_cast<long>(settings.connections));
  ::curl_multi_setopt(state->multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  state->settings.bodies->when_freed([state = state.get()] {
    state->freed = true;
    ::curl_multi_wakeup(state->multi);
  });
  state->thread = std::thread([state = state.get()] { state->work(); });
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(state)));
}

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpClient::~HttpClient() {
  close();
  state_->settings.bodies->when_freed(nullptr);
  ::curl_multi_cleanup(state_->multi);
}

void HttpClient::close() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
  }
  ::curl_multi_wakeup(state_->multi);
  if (state_->thread.joinable()) state_->thread.join();
}

void HttpClient::submit(HttpRequest request, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->ends) state_->waiting.push_back(std::move(transfer));
  }
  if (transfer != nullptr) return State::give_up(*transfer);
  ::curl_multi_wakeup(state_->multi);
}

void HttpClient::perform_each(std::vector<HttpRequest> requests, const Take& take) {
  const std::size_t count = requests.size();
  const auto waiting = std::make_shared<Waiting>(count);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    submit(std::move(requests[i]),
           [waiting, i](HttpAnswer answer) { waiting->take(i, std::move(answer)); });
  }
  std::vector<bool> taken(count, false);
  while (const auto place = waiting->next()) {
    taken[*place] = true;
    take(*place, waiting->answer(*place));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!taken[i]) take(i, waiting->answer(i));
  }
  waiting->end();
}

std::vector<HttpAnswer> HttpClient::perform(std::vector<HttpRequest> requests) {
  std::vector<HttpAnswer> answers(requests.size());
  perform_each(std::move(requests),
               [&](std::size_t place, HttpAnswer answer) { answers[place] = std::move(answer); });
  return answers;
}

const HttpCounters& HttpClient::counters() const { return state_->counters; }

}  // namespace zarrfs
