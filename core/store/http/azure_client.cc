// Azure Blob Storage: a container of a storage account. Source: "Blob service REST API".
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <tuple>
#include <utility>

#include "core/base/base64.h"
#include "core/base/random_name.h"
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
constexpr std::size_t kDigitsOfBlock = 7;      // with those of an upload 39 bytes, a multiple of 3
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

bool is_of_blocks(Kind kind) {
  return kind == Kind::kPutPart || kind == Kind::kCopyPart || kind == Kind::kCompleteParts;
}

/// Nobody else's, and as long as the others of its blob.
std::string block_id(const ObjectQuestion& question) {
  std::string number = std::to_string(question.number);
  number.insert(0, kDigitsOfBlock - std::min(kDigitsOfBlock, number.size()), '0');
  const std::string name = question.upload + number;
  return to_base64({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});
}

std::string block_list(const std::vector<std::string>& ids) {
  std::string text = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (const std::string& id : ids) text += "<Uncommitted>" + id + "</Uncommitted>";
  return text + "</BlockList>";
}

class AzureClient final : public HttpObjectClient {
 public:
  AzureClient(AzurePlace place, std::unique_ptr<RenewedCredentials> tokens)
      : HttpObjectClient(place.absent_403), place_(std::move(place)), tokens_(std::move(tokens)) {}

  Result<HttpRequest> write(const ObjectQuestion& question, Clock::time_point until) override {
    HttpRequest request = begin_request(question);
    request.headers.emplace_back("x-ms-version", kVersion);
    request.headers.emplace_back("x-ms-date", http_date(now()));
    const std::string path = path_of(question);
    ZARRFS_CHECK(add_change(request, question, path, until));
    const std::string query = query_of(question);
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

  /// Blocks are put without a beginning, and those that are in no list go by themselves.
  std::optional<ObjectAnswer> answer_alone(const ObjectQuestion& question) override {
    if (question.kind != Kind::kBeginParts && question.kind != Kind::kAbortParts) {
      return std::nullopt;
    }
    ObjectAnswer answer;
    answer.upload = random_digits();
    return answer;
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
  // Azure keeps it as "/".
  [[nodiscard]] bool takes_key(const std::string& key) const override {
    return key.find('\\') == std::string::npos;
  }
  [[nodiscard]] bool puts_parts() const override { return true; }
  [[nodiscard]] std::uint64_t largest_put() const override { return std::uint64_t{5000} << 20U; }
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
    const std::string code = error_in(response).code;
    const bool of_source = question.kind == Kind::kCopyPart && code == "CannotVerifyCopySource";
    return HttpObjectClient::says_absent(question, response) &&
           (code == "BlobNotFound" || of_source);
  }
  [[nodiscard]] Fault fault_of_refusal(const ObjectQuestion& question) const override {
    return is_of_blocks(question.kind) ? Fault::kUnsupported : Fault::kIo;
  }
  /// Leases are refused by the same numbers. Whoever puts a blob takes away the blocks that others
  /// have put there for it.
  [[nodiscard]] bool is_other_version(const ObjectQuestion& question,
                                      const HttpResponse& response) const override {
    const std::string code = error_in(response).code;
    return (response.status == 412 && !code.starts_with("Lease")) ||
           (response.status == 409 && code == "BlobAlreadyExists") ||
           (question.kind == Kind::kCompleteParts && code == "InvalidBlockList");
  }

  /// What a question that changes something is sent with.
  Result<void> add_change(HttpRequest& request, const ObjectQuestion& question,
                          const std::string& path, Clock::time_point until) {
    switch (question.kind) {
      case Kind::kPut: request.headers.emplace_back("x-ms-blob-type", "BlockBlob"); break;
      case Kind::kRemove: break;
      case Kind::kCopyPart: return add_source(request, question, path, until);
      case Kind::kCompleteParts:
        request.method = "PUT";
        request.body = RequestBody::of_text(block_list(question.tags));
        break;
      default: return {};
    }
    if (question.kind != Kind::kRemove) request.headers.emplace_back(kNote, question.note);
    return add_condition(request, question);
  }

  /// Azure copies from a URL, which it has to be let read: also from the blob itself.
  Result<void> add_source(HttpRequest& request, const ObjectQuestion& question,
                          const std::string& path, Clock::time_point until) {
    std::string source = place_.server.scheme + "://" + place_.server.authority + path;
    if (tokens_ != nullptr) {
      ZARRFS_TRY(const Credentials found, tokens_->get(until));
      request.headers.emplace_back("x-ms-copy-source-authorization", "Bearer " + found.token);
    } else if (!place_.sas.empty()) {
      source += "?" + place_.sas;
    } else if (!place_.key.empty()) {
      const std::string blob =
          "/blob/" + place_.account + "/" + place_.container + "/" + full_key(question.key);
      source += "?" + reading_sas(blob, place_.key, now());
    }
    request.body = RequestBody::of_text("");
    request.headers.emplace_back("x-ms-copy-source", source);
    request.headers.emplace_back("x-ms-source-range", range_header(question.part).value_or(""));
    request.headers.emplace_back("x-ms-source-if-match", question.condition.version.version.tag);
    return {};
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

  /// By the server's clock, as far as it is known.
  [[nodiscard]] std::int64_t now() const {
    return static_cast<std::int64_t>(::time(nullptr)) + skew_;
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
  [[nodiscard]] std::string query_of(const ObjectQuestion& question) const {
    switch (question.kind) {
      case Kind::kList: return listing_query(question);
      case Kind::kPutPart:
      case Kind::kCopyPart:
        return "comp=block&blockid=" + percent_encode(block_id(question), false);
      case Kind::kCompleteParts: return "comp=blocklist";
      default: return {};
    }
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
    const bool puts = question.kind == Kind::kPut || is_of_blocks(question.kind);
    if (puts && response.status != 201) {
      return refused(Fault::kIo, question,
                     "it was put, says status " + std::to_string(response.status));
    }
    if (question.kind == Kind::kPut) {
      answer.part.info.size = question.body->size();
      answer.part.info.version = version_of(response.headers);
    }
    if (question.kind == Kind::kCompleteParts) answer.tag = version_of(response.headers).tag;
    if (question.kind == Kind::kPutPart || question.kind == Kind::kCopyPart) {
      answer.tag = block_id(question);
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
