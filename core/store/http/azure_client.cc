// Azure Blob Storage: a container of a storage account. Source: "Blob service REST API".
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <tuple>
#include <utility>

#include "core/store/http/azure_keys.h"
#include "core/store/http/clients.h"
#include "core/store/http/renewed_credentials.h"

namespace zarrfs {
namespace {

using Kind = ObjectQuestion::Kind;

constexpr const char* kVersion = "2020-10-02";
constexpr const char* kHosts = ".blob.core.windows.net";
// Names of metadata are identifiers there.
constexpr const char* kNote = "x-ms-meta-zarrfs_writes";
constexpr std::int64_t kClockTolerance = 300;  // seconds
constexpr const char* kSpellings =
    "write az://ACCOUNT/CONTAINER/PATH or abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH "
    "(adlfs and obstore leave the account out of az://CONTAINER/PATH)";

struct AzurePlace {
  std::string root;  ///< For messages: the URL that users write.
  std::string account;
  Url server;  ///< http(s), with all that stands before the container.
  std::string container;
  std::string prefix;
  std::string sas;  ///< A secret.
  std::string key;  ///< A secret.
  std::string origin;
  bool absent_403 = false;
  bool lists = true;
};

class AzureClient final : public HttpObjectClient {
 public:
  AzureClient(AzurePlace place, std::unique_ptr<RenewedCredentials> tokens)
      : HttpObjectClient(place.absent_403), place_(std::move(place)), tokens_(std::move(tokens)) {}

  Result<HttpRequest> write(const ObjectQuestion& question, Clock::time_point until) override {
    HttpRequest request = begin_request(question);
    request.headers.emplace_back("x-ms-version", kVersion);
    request.headers.emplace_back("x-ms-date",
                                 http_date(static_cast<std::int64_t>(::time(nullptr)) + skew_));
    if (question.kind == Kind::kPut) {
      request.headers.emplace_back("x-ms-blob-type", "BlockBlob");
      request.headers.emplace_back(kNote, question.note);
    }
    const bool known =
        reads(question) || question.kind == Kind::kPut || question.kind == Kind::kRemove;
    if (!known) return fail(Fault::kUnsupported, url_of(question.key) + ": is put as a whole");
    if (!reads(question)) ZARRFS_CHECK(add_condition(request, question));
    const std::string path = path_of(question);
    const std::string query = question.kind == Kind::kList ? listing_query(question) : "";
    ZARRFS_CHECK(authorize(request, path, query, question.bare, until));
    std::string whole = query;
    if (!place_.sas.empty() && !question.bare) whole += (whole.empty() ? "" : "&") + place_.sas;
    request.url = place_.server.scheme + "://" + place_.server.authority + path;
    if (!whole.empty()) request.url += "?" + whole;
    return request;
  }

  tl::expected<ObjectAnswer, NoAnswer> read(const ObjectQuestion& question, HttpAnswer answer,
                                            const Asked& asked) override {
    const bool folder = answer && answer->headers.find("x-ms-meta-hdi_isfolder") == "true";
    auto read = HttpObjectClient::read(question, std::move(answer), asked);
    if (read && folder) read->kind = ObjectAnswer::Kind::kAbsent;  // a marker, and no file
    return read;
  }

  bool learn(const HttpResponse& response, Clock::time_point written) override {
    if (tokens_ != nullptr && response.status == 401) return tokens_->refuse(written);
    if (place_.key.empty() || error_in(response).code != "AuthenticationFailed") return false;
    const auto skew = clock_ahead(response.headers);
    if (!skew || std::abs(*skew - skew_) < kClockTolerance) return false;
    skew_ = *skew;
    return true;
  }

  Result<std::string> credentials(Clock::time_point until) override {
    if (tokens_ == nullptr) return place_.origin;
    ZARRFS_TRY(const Credentials found, tokens_->get(until));
    return found.origin;
  }
  [[nodiscard]] bool lists() const override { return place_.lists; }
  [[nodiscard]] bool writes() const override { return true; }
  [[nodiscard]] bool counts_from_end() const override { return false; }
  [[nodiscard]] bool tells_apart(const ObjectInfo& version) const override {
    return !version.version.weak && version.version.tag.starts_with("\"");
  }
  [[nodiscard]] std::string server() const override { return place_.server.text(); }
  [[nodiscard]] std::string url_of(const std::string& key) const override {
    return place_.root + (key.empty() ? "" : "/" + key);
  }

 private:
  [[nodiscard]] std::string note_in(const HttpResponse& response) const override {
    return response.headers.find(kNote).value_or("");
  }
  /// An answer to HEAD has its code in a header only.
  [[nodiscard]] ServiceError error_in(const HttpResponse& response) const override {
    ServiceError error = HttpObjectClient::error_in(response);
    if (error.code.empty()) {
      error.code = response.headers.find("x-ms-error-code").value_or("").substr(0, 100);
    }
    return error;
  }
  [[nodiscard]] bool says_absent(const ObjectQuestion& question,
                                 const HttpResponse& response) const override {
    return HttpObjectClient::says_absent(question, response) &&
           error_in(response).code == "BlobNotFound";
  }
  /// Leases are refused by the same numbers.
  [[nodiscard]] bool is_other_version(const ObjectQuestion& /*question*/,
                                      const HttpResponse& response) const override {
    const std::string code = error_in(response).code;
    return (response.status == 412 && !code.starts_with("Lease")) ||
           (response.status == 409 && code == "BlobAlreadyExists");
  }

  Result<void> add_condition(HttpRequest& request, const ObjectQuestion& question) const {
    const ObjectCondition& condition = question.condition;
    if (condition.kind == ObjectCondition::Kind::kNone) return {};
    if (condition.kind == ObjectCondition::Kind::kAbsent) {
      request.headers.emplace_back("If-None-Match", "*");
      return {};
    }
    if (!tells_apart(condition.version)) {
      return fail(
          Fault::kUnsupported,
          url_of(question.key) + ": the server gives it no version that can be a condition");
    }
    request.headers.emplace_back("If-Match", condition.version.version.tag);
    return {};
  }

  Result<void> authorize(HttpRequest& request, const std::string& path, const std::string& query,
                         bool bare, Clock::time_point until) {
    if (bare) return {};
    if (tokens_ != nullptr) {
      ZARRFS_TRY(const Credentials found, tokens_->get(until));
      request.headers.emplace_back("Authorization", "Bearer " + found.token);
    } else if (!place_.key.empty()) {
      const std::uint64_t body = request.body == nullptr ? 0 : request.body->size();
      const Signable signable{request.method, path, query, request.headers, ""};
      request.headers.emplace_back("Authorization",
                                   shared_key(signable, body, place_.account, place_.key));
    }
    return {};
  }

  /// Below the container.
  [[nodiscard]] std::string full_key(const std::string& key) const {
    return key_below(place_.prefix, key);
  }
  [[nodiscard]] std::string path_of(const ObjectQuestion& question) const {
    std::string path = place_.server.path + "/" + percent_encode(place_.container, false);
    if (question.kind != Kind::kList) path += "/" + percent_encode(full_key(question.key), true);
    return path;
  }
  [[nodiscard]] std::string listing_query(const ObjectQuestion& question) const {
    std::string full = full_key(question.key);
    if (!full.empty()) full += '/';
    std::string query =
        "comp=list&restype=container&include=metadata&maxresults=" + std::to_string(question.most);
    if (question.depth == ListingDepth::kNext) query += "&delimiter=%2F";
    if (!question.continuation.empty()) {
      query += "&marker=" + percent_encode(question.continuation, false);
    }
    return query + "&prefix=" + percent_encode(full, false);
  }
  tl::expected<ObjectAnswer, NoAnswer> read_done(const ObjectQuestion& question,
                                                 HttpResponse response) override {
    ObjectAnswer answer;
    if (question.kind == Kind::kPut) {
      if (response.status != 201) {
        return refused(Fault::kIo, question,
                       "it was put, says status " + std::to_string(response.status));
      }
      answer.part.info.size = question.body->size();
      answer.part.info.version = version_of(response.headers);
      return answer;
    }
    if (question.kind != Kind::kList) return answer;
    return page_answer(question, parse_blob_listing(response.text()), place_.prefix);
  }

  const AzurePlace place_;
  std::atomic<std::int64_t> skew_{0};
  const std::unique_ptr<RenewedCredentials> tokens_;  ///< Null: no token.
};

/// The part of `text` before the first `letter`, and the part behind it.
std::pair<std::string, std::string> split_at(const std::string& text, char letter) {
  const std::size_t at = std::min(text.size(), text.find(letter));
  return {text.substr(0, at), text.substr(std::min(text.size(), at + 1))};
}

/// Account, container and prefix of `az://ACCOUNT/CONTAINER/PATH` and
/// `abfs://CONTAINER@ACCOUNT.../PATH`, and the host where the URL names one.
Result<std::pair<AzurePlace, std::string>> place_in(const Url& url) {
  AzurePlace place;
  place.root = url.text();
  std::string host = url.authority;
  const std::string path = url.path.empty() ? "" : url.path.substr(1);
  const bool named_first = host.find('@') != std::string::npos;
  if (named_first) {
    std::tie(place.container, host) = split_at(host, '@');
    place.prefix = path;
  } else {
    std::tie(place.container, place.prefix) = split_at(path, '/');
  }
  place.account = split_at(host, '.').first;
  if (place.account.empty() || place.container.empty() || (url.scheme != "az") != named_first) {
    return fail(Fault::kInvalid, url.text() + ": names no account and container: " + kSpellings);
  }
  const std::size_t dfs = host.find(".dfs.");
  if (dfs != std::string::npos) host.replace(dfs, 5, ".blob.");
  return std::pair{std::move(place), host.find('.') == std::string::npos ? "" : host};
}

/// Where `endpoint` names the account neither in its host nor in its path, it comes behind it.
Result<Url> server_at(const std::string& endpoint, const std::string& account) {
  ZARRFS_TRY(Url server, parse_url(endpoint));
  const bool named =
      server.authority.starts_with(account + ".") || server.path.ends_with("/" + account);
  if (!named) server.path += "/" + account;
  return server;
}

}  // namespace

Result<std::unique_ptr<ObjectClient>> make_azure_client(const Url& url,
                                                        const RemoteOptions& options,
                                                        HttpClient& http,
                                                        const Environment& environment) {
  if (options.requester_pays) {
    return fail(Fault::kUnsupported, "option requester_pays is for s3:// only");
  }
  ZARRFS_TRY(auto named, place_in(url));
  auto& [place, host] = named;
  ZARRFS_TRY(AzureAccount account, azure_account(environment));
  const bool same = account.name.empty() || account.name == place.account;
  const bool in_url = is_sas(url.query);
  const bool has_secret = !account.key.empty() || !account.sas.empty();
  if (!url.query.empty() && !in_url) {
    return fail(Fault::kInvalid, url.text() + ": behind '?' stands no SAS");
  }
  if (!same && has_secret && !in_url && !options.anonymous) {
    return fail(Fault::kInvalid, url.text() + ": is at the account " + place.account + ", and " +
                                     account.origin + " is for " + account.name + ": " +
                                     kSpellings);
  }
  std::string endpoint = options.endpoint;
  if (endpoint.empty() && same) endpoint = account.endpoint;
  if (endpoint.empty()) endpoint = "https://" + (host.empty() ? place.account + kHosts : host);
  ZARRFS_TRY(place.server, server_at(endpoint, place.account));
  place.absent_403 = options.absent_403;
  place.lists = !options.absent_403 || options.write;
  std::unique_ptr<RenewedCredentials> tokens;
  if (in_url) {
    place.sas = url.query;
    place.origin = "the URL (a SAS)";
  } else if (!options.anonymous && same && has_secret) {
    place.key = account.key;
    place.sas = account.key.empty() ? account.sas : "";
    place.origin = account.origin;
  } else if (!options.anonymous) {
    tokens = std::make_unique<RenewedCredentials>(
        [&http, environment] { return find_azure_token(http, environment); });
  }
  return std::make_unique<AzureClient>(std::move(place), std::move(tokens));
}

}  // namespace zarrfs
