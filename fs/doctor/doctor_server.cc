#include "fs/doctor/doctor_server.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/store/foreign.h"
#include "core/store/http/advice.h"
#include "core/store/http/certificates.h"
#include "core/store/http/http.h"
#include "core/store/http/schemes.h"
#include "core/store/open_store.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {
namespace {

constexpr std::int64_t kClockTolerance = 300;  // seconds
constexpr double kDoctorPatience = 20;         // seconds
constexpr std::size_t kDocumentLimit = std::size_t{16} << 20U;
constexpr int kServerLessons = 3;
constexpr std::array kOfIcechunk = {"repo", "refs/branch.main/ref.json"};
constexpr AskedPart kFirstByte{AskedPart::Kind::kRange, {0, 1}};

/// Without the password that may stand in it.
std::string proxy_shown(const std::string& proxy) {
  const std::size_t at = proxy.rfind('@');
  if (at == std::string::npos) return proxy;
  const std::size_t scheme = proxy.find("://");
  return (scheme == std::string::npos ? "" : proxy.substr(0, scheme + 3)) + "...@" +
         proxy.substr(at + 1);
}

bool is_excepted(const std::string& host, const std::string& no_proxy) {
  std::istringstream names(no_proxy);
  for (std::string name; std::getline(names, name, ',');) {
    name.erase(0, std::min(name.find_first_not_of(" ."), name.size()));
    while (name.ends_with(' ')) name.pop_back();
    if (name == "*") return true;
    if (!name.empty() && (host == name || host.ends_with("." + name))) return true;
  }
  return false;
}

/// As libcurl chooses it: upper case counts for all but http_proxy.
std::string proxy_for(const Url& url) {
  const Environment environment = process_environment();
  const auto first = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      if (const auto value = environment(name)) return *value;
    }
    return "";
  };
  const std::string excepted = first({"no_proxy", "NO_PROXY"});
  if (is_excepted(url.host(), excepted)) return "";
  const std::string all = first({"all_proxy", "ALL_PROXY"});
  const std::string own =
      url.scheme == "https" ? first({"https_proxy", "HTTPS_PROXY"}) : first({"http_proxy"});
  return own.empty() ? all : own;
}

/// What is looked for below a URL.
struct Wanted {
  std::string file = {};  ///< An archive, an array's file, references; empty: a store.
  bool references = false;
  bool target = false;  ///< A file that a store names.
};

/// Whether the URL names a file of references, whatever its name.
bool is_file_of_references(const std::string& url, const RemoteOptions& options) {
  const auto file = source_file(url, {{}, 0, options});
  if (!file || !*file) return false;
  const auto opened = (*file)->directory->open_for((*file)->file, {OpenHint::Part::kWhole, 0});
  if (!opened || *opened == nullptr) return false;
  const auto start =
      (*opened)->read_range({0, std::min<std::uint64_t>((*opened)->size(), kForeignStart)});
  return start && begins_as_references(*start);
}

class ServerExamination {
 public:
  ServerExamination(const Scheme& scheme, Url url, Wanted wanted, RemoteOptions options,
                    const TellServer& tell)
      : scheme_(scheme),
        url_(std::move(url)),
        wanted_(std::move(wanted)),
        options_(std::move(options)),
        tell_(tell) {
    options_.deadline = std::min(options_.deadline, kDoctorPatience);
  }

  Result<void> run(bool writing) {
    HttpSettings settings;
    options_.ca_file = trusted_certificates(scheme_, options_, process_environment());
    settings.ca_file = options_.ca_file;
    settings.seconds = static_cast<std::uint64_t>(std::max(1.0, options_.deadline));
    settings.connect_seconds = settings.quiet_seconds =
        std::min<std::uint64_t>(10, settings.seconds);
    ZARRFS_TRY(http_, HttpClient::make(settings));
    ZARRFS_TRY(client_, scheme_.client(url_, options_, *http_, process_environment()));
    RemoteOptions unsigned_options = options_;
    unsigned_options.anonymous = true;
    ZARRFS_TRY(auto open, scheme_.client(url_, unsigned_options, *http_, process_environment()));
    ZARRFS_TRY(plain_, open->write({.whole_limit = kDocumentLimit}, ObjectClient::Clock::now()));
    plain_.part_limit = kDocumentLimit;
    if (!look_at_name() || !look_at_connection()) return {};
    if (!look_at_credentials()) return {};
    if (scheme_.bucket && !wanted_.target && !look_at_listing()) return {};
    const auto key = look_at_document(writing);
    if (key) {
      look_at_ranges(*key);
      look_at_versions(*key);
    }
    if (writing) look_at_writing();
    return {};
  }
  /// Whether references or a repository of versions were found.
  [[nodiscard]] bool leads_elsewhere() const { return leads_elsewhere_; }

 private:
  void good(const std::string& name, const std::string& text) const {
    tell_({name, {Verdict::kGood, text}, ""});
  }
  void limited(const std::string& name, const std::string& text, const std::string& remedy) const {
    tell_({name, {Verdict::kLimited, text}, remedy});
  }
  void wrong(const std::string& name, const std::string& text, const std::string& remedy) const {
    tell_({name, {Verdict::kWrong, text}, remedy});
  }

  bool look_at_name() {
    auto asked = parse_url(plain_.url);
    if (!asked) {
      wrong("name", asked.error().message, "look at the URL and endpoint");
      return false;
    }
    server_ = std::move(*asked);
    const std::string proxy = proxy_for(server_);
    good("proxy", proxy.empty() ? "none" : proxy_shown(proxy) + " (it looks up the names)");
    if (!proxy.empty()) return true;
    const std::string host = server_.host();
    addrinfo* found = nullptr;
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
    if (error != 0) {
      wrong("name", host + ": " + ::gai_strerror(error),
            "look at the name in the URL or in endpoint, and at this machine's DNS (getent hosts " +
                host + "); a bucket with a name of its own may need addressing=path");
      return false;
    }
    std::array<char, NI_MAXHOST> address{};
    static_cast<void>(::getnameinfo(found->ai_addr, found->ai_addrlen, address.data(),
                                    address.size(), nullptr, 0, NI_NUMERICHOST));
    ::freeaddrinfo(found);
    const bool is_address = host == address.data();
    good("name", host + (is_address ? " is an address" : std::string(" is ") + address.data()));
    return true;
  }

  HttpAnswer perform(const HttpRequest& request) {
    return std::move(http_->perform({request}).front());
  }

  bool look_at_connection() {
    const std::string where = server_.scheme + "://" + server_.authority;
    const HttpAnswer answer = perform(plain_);
    if (!answer && answer.error().kind == HttpFailure::Kind::kTls) {
      wrong("connection", where + ": " + answer.error().message,
            "ca_file=FILE or SSL_CERT_FILE names the certificates to trust, for a server of your "
            "own; a clock that is wrong and a proxy that opens TLS are refused so, too");
      return false;
    }
    if (!answer && answer.error().kind != HttpFailure::Kind::kTooLong) {
      wrong("connection", where + ": " + answer.error().message,
            "look whether the server runs, at its port and at firewalls; behind a proxy set "
            "https_proxy");
      return false;
    }
    const std::string trust =
        (options_.ca_file.empty() ? system_certificates().origin : options_.ca_file) + "'s";
    good("connection", where + (server_.scheme == "https"
                                    ? " answers, with a certificate that " + trust + " vouch for"
                                    : " answers, without encryption"));
    if (answer) look_at_clock(*answer);
    return true;
  }

  void look_at_clock(const HttpResponse& response) const {
    const auto ahead = clock_ahead(response.headers);
    if (!ahead) return good("clock", "the server does not tell its time");
    const std::int64_t behind = *ahead;
    if (std::abs(behind) <= kClockTolerance) return good("clock", "as the server's");
    limited("clock",
            "this machine's is " + std::to_string(std::abs(behind)) + " s " +
                (behind > 0 ? "behind" : "ahead of") + " the server's",
            "set it (timedatectl set-ntp true); requests are signed with the server's time, but "
            "certificates and tokens may be refused");
  }

  [[nodiscard]] ObjectClient::Clock::time_point until() const {
    return ObjectClient::Clock::now() +
           std::chrono::milliseconds(static_cast<std::int64_t>(options_.deadline * 1000));
  }

  bool look_at_credentials() {
    if (!scheme_.bucket) {
      good("credentials", "none; names and passwords for a server come from ~/.netrc");
      return true;
    }
    const auto origin = client_->credentials(until());
    if (!origin) {
      wrong("credentials", origin.error().message,
            "docs/remote.md names the places; anonymous is for what everybody may read");
      return false;
    }
    good("credentials", origin->empty() ? "none (anonymous)" : "from " + *origin);
    return true;
  }

  /// Once, and anew where the server says what is wrong with it.
  Result<HttpResponse> ask(ObjectQuestion question) {
    question.whole_limit = kDocumentLimit;
    for (int lesson = 0;; ++lesson) {
      const auto now = ObjectClient::Clock::now();
      ZARRFS_TRY(HttpRequest written, client_->write(question, until()));
      written.part_limit = kDocumentLimit;
      HttpAnswer answer = perform(written);
      if (!answer) return fail(Fault::kIo, answer.error().message);
      if (answer->status < 300 || lesson == kServerLessons || !client_->learn(*answer, now)) {
        return std::move(*answer);
      }
    }
  }

  /// A listing of one name; false where nothing else is worth trying.
  bool look_at_listing() {
    ObjectQuestion question;
    question.kind = ObjectQuestion::Kind::kList;
    question.most = 1;
    const auto answer = ask(question);
    const std::string where = client_->url_of("");
    if (!answer) {
      wrong("bucket", where + ": " + answer.error().message, "see connection");
      return false;
    }
    const std::string_view body = answer->text();
    if (answer->status == 200) {
      const auto read = client_->read(question, *answer, {});
      if (!read) {
        wrong("bucket", read.error().error.message,
              "this is no server of S3 or of another store of objects: look at endpoint, or use "
              "https://");
        return false;
      }
      const bool empty = read->page.objects.empty() && read->page.prefixes.empty();
      good("bucket", where + (empty ? " may be listed, and nothing is there" : " may be listed"));
      return true;
    }
    const ServiceError error = parse_service_error(body);
    const std::string text = where + ": listing it: " + status_text(*answer, error);
    if (answer->status == 403 && (error.code == "AccessDenied" || error.code.empty())) {
      limited("bucket", text,
              "these credentials need s3:ListBucket; without it give absent=403, and only groups "
              "with consolidated metadata can be listed");
      return true;
    }
    wrong("bucket", text, advice_for({answer->status, error.code, scheme_.bucket}));
    return false;
  }

  static std::string status_text(const HttpResponse& response, const ServiceError& error) {
    std::string text = "status " + std::to_string(response.status);
    if (!error.code.empty()) text += ", " + error.code + ": " + error.message;
    return printable(text, 400);
  }

  [[nodiscard]] std::vector<std::string> documents() const {
    if (!wanted_.file.empty()) return {wanted_.file};
    std::vector<std::string> keys = {"zarr.json", ".zgroup", ".zarray", ".zattrs"};
    keys.insert(keys.end(), kOfIcechunk.begin(), kOfIcechunk.end());
    return keys;
  }

  /// The key of an object of the store to try things with.
  std::optional<std::string> look_at_document(bool writing) {
    bool refused = false;
    for (const std::string& key : documents()) {
      const auto answer = ask(part_of_object(key, kFirstByte));
      const std::string where = client_->url_of(key);
      if (!answer) {
        wrong("store", where + ": " + answer.error().message, "see connection");
        return std::nullopt;
      }
      const int status = answer->directory ? 404 : answer->status;
      if (status == 200 || status == 206) return take_document(key, *answer);
      if (status == 404 || status == 410) continue;
      const ServiceError error = parse_service_error(answer->text());
      if (status == 403 && scheme_.bucket && options_.absent_403) continue;
      const bool absent_or_not = scheme_.bucket && !options_.absent_403;
      wrong("store", where + ": " + status_text(*answer, error),
            advice_for({status, error.code, scheme_.bucket, false, absent_or_not}));
      refused = true;
      break;
    }
    if (refused) return std::nullopt;
    const std::string where = client_->url_of(wanted_.file);
    if (wanted_.target) {
      wrong("store", where + ": there is no such object",
            "it was moved or removed since it was named; zarrfs verify names all of these");
      return std::nullopt;
    }
    const std::string url = url_.text() + (url_.query.empty() ? "" : "?" + url_.query);
    if (wanted_.file.empty() && is_file_of_references(url, options_)) {
      leads_elsewhere_ = true;
      good("store", url_.text() + " can be read: references");
      return std::nullopt;
    }
    tell_no_document(writing);
    return std::nullopt;
  }

  void tell_no_document(bool writing) const {
    const auto foreign = foreign_source(client_->url_of(wanted_.file), {{}, 0, options_});
    if (foreign) {
      wrong("store", client_->url_of(wanted_.file) + ": is " + *foreign,
            "look at the path: it is the one of a store of Zarr");
      return;
    }
    const std::string text =
        wanted_.file.empty() ? client_->url_of("") + ": no zarr.json, .zgroup, .zarray or .zattrs"
                             : client_->url_of(wanted_.file) + ": there is no such object";
    const std::string advice =
        "look at the path: it is the one of the store's root, or of an archive";
    writing ? limited("store", text, "a new store can be made there; else " + advice)
            : wrong("store", text, advice);
  }

  std::optional<std::string> take_document(const std::string& key, const HttpResponse& answer) {
    const std::string encoding = encoding_of(answer.headers);
    if (!encoding.empty()) {
      wrong("store", client_->url_of(key) + ": the server sends it compressed (" + encoding + ")",
            "let the server send files as they are (nginx: gzip off); of a bucket, store it anew "
            "without Content-Encoding");
      return std::nullopt;
    }
    const bool of_icechunk =
        wanted_.file.empty() &&
        std::find(kOfIcechunk.begin(), kOfIcechunk.end(), key) != kOfIcechunk.end();
    leads_elsewhere_ = wanted_.references || of_icechunk;
    good("store", client_->url_of(key) + " can be read");
    return key;
  }

  static ObjectQuestion part_of_object(const std::string& key, const AskedPart& part) {
    ObjectQuestion question;
    question.key = key;
    question.part = part;
    return question;
  }

  /// All of it, where the condition lets it come.
  Result<HttpResponse> ask_on(const std::string& key, ObjectCondition::Kind kind,
                              const Version& version) {
    ObjectQuestion question;
    question.key = key;
    question.condition.kind = kind;
    question.condition.version.version = version;
    return ask(question);
  }

  void look_at_ranges(const std::string& key) {
    const auto first = ask(part_of_object(key, kFirstByte));
    const bool counts = client_->counts_from_end();
    const auto last = counts ? ask(part_of_object(key, {AskedPart::Kind::kSuffix, {0, 1}})) : first;
    const auto brings_one = [](const Result<HttpResponse>& answer) {
      return answer && answer->status == 206 && answer->body.size() == 1 &&
             answer->headers.find("content-range");
    };
    if (brings_one(first) && brings_one(last)) {
      return good("ranges",
                  counts ? "a part of an object is sent alone, from its start and from its end"
                         : "a part of an object is sent alone");
    }
    limited("ranges",
            brings_one(first) ? "the server does not count a range from the end of an object"
                              : "the server sends objects whole, whatever part is asked for",
            "objects are read whole, up to memory_cache; another server, or one without "
            "max_ranges 0 (nginx), sends parts");
  }

  void look_at_versions(const std::string& key) {
    const auto answer = ask(part_of_object(key, kFirstByte));
    const Version version = answer ? version_of(answer->headers) : Version();
    if (version.tag.empty()) {
      return limited("versions", "neither ETag nor Last-Modified: nothing tells versions apart",
                     "mount only what does not change (immutable)");
    }
    if (version.tag.starts_with("modified ")) {
      return limited("versions", "no ETag; the date of the last change tells versions apart",
                     "changes within a second may be missed: replace objects, and mount anew");
    }
    const auto same = ask_on(key, ObjectCondition::Kind::kIsNot, version);
    const auto other = ask_on(key, ObjectCondition::Kind::kIs, {kTagOfNone, false});
    const bool notices = same && same->status == 304;
    const bool refuses = other && other->status == 412;
    if (notices && refuses && !version.weak) {
      return good("versions", "each has an ETag, and the server keeps conditions");
    }
    limited("versions",
            version.weak ? "only weak ETags"
            : notices    ? "the server ignores If-Match"
                         : "the server ignores If-None-Match",
            notices ? "an object that is replaced while it is read is noticed by its ETag only"
                    : "every look for a change brings the object again: a larger revalidate, or "
                      "immutable");
  }

  void look_at_writing() {
    if (!wanted_.file.empty() || leads_elsewhere_ || !client_->writes()) {
      return wrong("writing", client_->url_of(wanted_.file) + ": this kind of store is only read",
                   "write to a directory, or to a bucket");
    }
    options_.write = true;
    auto objects = RemoteObjects::open(url_, options_);
    auto tried = objects ? (*objects)->writer().check_conditions() : fail(objects.error());
    if (tried) return good("writing", "objects are put and removed, and conditions are kept");
    const bool careless = tried.error().fault == Fault::kReadOnly;
    wrong("writing", printable(tried.error().message, 600),
          careless ? "mount it with ro, or use a server that has conditional writes"
                   : "look at the rights of the credentials, or mount it with ro");
  }

  const Scheme& scheme_;
  const Url url_;
  const Wanted wanted_;
  RemoteOptions options_;
  const TellServer& tell_;
  bool leads_elsewhere_ = false;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<ObjectClient> client_;
  HttpRequest plain_;  ///< For the store's root, without credentials.
  Url server_;         ///< Where requests go.
};

/// The file of references that `url` names, which becomes that of its directory.
Wanted take_file(Url& url, const Scheme& scheme) {
  const std::size_t slash = url.path.rfind('/');
  std::string name = url.path.substr(slash + 1);
  if (!scheme.bucket) name = percent_decode(name).value_or(name);
  url.path.resize(slash);
  return {.file = std::move(name), .references = true};
}

Result<const Scheme*> server_scheme(const Url& url, const std::string& source) {
  const Scheme* const scheme = scheme_named(url.scheme);
  if (scheme != nullptr && scheme->client != nullptr) return scheme;
  return fail(Fault::kUnsupported, source + ": give a URL of " + server_schemes());
}

}  // namespace

Result<bool> examine_server(const std::string& source, const RemoteOptions& options, bool writing,
                            const TellServer& tell) {
  ZARRFS_TRY(const ServerPlace place, server_place(source));
  ZARRFS_TRY(Url url, parse_url(place.url));
  ZARRFS_TRY(const Scheme* const scheme, server_scheme(url, source));
  Wanted wanted{.file = place.file};
  if (place.file.empty() && url.path.ends_with(".json")) wanted = take_file(url, *scheme);
  ServerExamination examination(*scheme, std::move(url), std::move(wanted), options, tell);
  ZARRFS_CHECK(examination.run(writing));
  return examination.leads_elsewhere();
}

Result<void> examine_object(const std::string& root, const std::string& key,
                            const RemoteOptions& options, const TellServer& tell) {
  ZARRFS_TRY(Url url, parse_url(root));
  ZARRFS_TRY(const Scheme* const scheme, server_scheme(url, root));
  ServerExamination examination(*scheme, std::move(url), {.file = key, .target = true}, options,
                                tell);
  return examination.run(false);
}

}  // namespace zarrfs
