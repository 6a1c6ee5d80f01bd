#include "core/store/http/endpoint.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <utility>

#include "core/base/lock_order.h"

namespace zarrfs {
namespace {

constexpr const char* kDefaultRegion = "us-east-1";
constexpr const char* kGoogle = "https://storage.googleapis.com";
constexpr const char* kNoBodyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

constexpr const char* kUntold =
    "the server gives an object no version by which it can be told from others";

class WebEndpoint final : public Endpoint {
 public:
  explicit WebEndpoint(Url url) : url_(std::move(url)) {}

  Result<HttpRequest> write(const ObjectRequest& asked, Clock::time_point /*until*/) override {
    HttpRequest request;
    request.method = asked.method;
    request.url = url_of(asked.key);
    if (!url_.query.empty()) request.url += "?" + url_.query;
    request.headers = asked.headers;
    request.part_limit = asked.part_limit;
    request.whole_limit = asked.whole_limit;
    request.follow = true;
    request.netrc = true;
    return request;
  }
  [[nodiscard]] std::string url_of(const std::string& key) const override {
    return url_.text() + (key.empty() ? "" : "/" + percent_encode(key, true));
  }

 private:
  const Url url_;
};

/// A bucket of S3, of Google, or of another server that speaks S3.
class BucketEndpoint final : public Endpoint {
 public:
  struct Place {
    std::string scheme;  ///< "s3" or "gs", for messages.
    Url server;          ///< http(s).
    std::string bucket;
    std::string prefix;  ///< Decoded, without slashes around it.
    bool path_style = true;
    bool amazon = false;  ///< The server's name follows the region.
    bool requester_pays = false;
    bool lists = true;
  };
  BucketEndpoint(Place place, std::string region, std::unique_ptr<RenewedCredentials> credentials)
      : place_(std::move(place)),
        region_(std::move(region)),
        credentials_(std::move(credentials)) {}

  Result<HttpRequest> write(const ObjectRequest& asked, Clock::time_point until) override {
    HttpRequest request;
    request.method = asked.method;
    request.headers = asked.headers;
    request.body = asked.body;
    request.part_limit = asked.part_limit;
    request.whole_limit = asked.whole_limit;
    if (place_.requester_pays) {
      request.headers.emplace_back("x-amz-request-payer", "requester");
    }
    const std::string region = this->region();
    const std::string host = host_in(region);
    const std::string path = path_of(asked.key, !asked.of_bucket);
    request.url = place_.server.scheme + "://" + host + path;
    if (!asked.query.empty()) request.url += "?" + asked.query;
    if (credentials_ == nullptr || asked.bare) return request;
    ZARRFS_TRY(const Credentials found, credentials_->get(until));
    if (!found.token.empty()) {
      request.headers.emplace_back("Authorization", "Bearer " + found.token);
      return request;
    }
    const AccessKey& key = found.key;
    const std::string date = amazon_date(static_cast<std::int64_t>(::time(nullptr)) + skew_);
    const std::string body_hash = asked.body == nullptr ? kNoBodyHash : asked.body->hash();
    // Google takes no headers of both kinds in one request.
    const std::string kind = google() ? "x-goog-" : "x-amz-";
    request.headers.emplace_back(kind + "content-sha256", body_hash);
    request.headers.emplace_back(kind + "date", date);
    if (!key.session_token.empty()) {
      request.headers.emplace_back("x-amz-security-token", key.session_token);
    }
    Signable signable{asked.method, path, asked.query, request.headers, body_hash};
    signable.headers.emplace_back("host", host);
    const SigningScope scope{region, google() ? "storage" : "s3", google()};
    request.headers.emplace_back("Authorization", authorization(signable, key, scope, date));
    return request;
  }

  bool learn(const HttpResponse& response, const ServiceError& error,
             Clock::time_point written) override {
    if (learn_region(response, error)) return true;
    if (error.code == "RequestTimeTooSkewed") return learn_time(response);
    const bool expired = error.code == "ExpiredToken" || error.code == "TokenRefreshRequired" ||
                         (google() && response.status == 401);
    return expired && credentials_ != nullptr && credentials_->refuse(written);
  }

  Doubt suspect(Clock::time_point written, Clock::time_point until) override {
    return credentials_ == nullptr ? Doubt::kNone : credentials_->suspect(written, until);
  }

  Result<std::string> credentials(Clock::time_point until) override {
    if (credentials_ == nullptr) return std::string();
    ZARRFS_TRY(const Credentials found, credentials_->get(until));
    const bool key_of_google = google() && found.token.empty();
    return key_of_google ? "the environment (GS_ACCESS_KEY_ID)" : found.origin;
  }
  [[nodiscard]] bool lists() const override { return place_.lists; }
  [[nodiscard]] bool writes() const override { return true; }
  [[nodiscard]] Result<std::pair<std::string, std::string>> condition(
      const std::optional<ObjectInfo>& expected) const override {
    if (!google()) return Endpoint::condition(expected);
    if (expected && expected->generation.empty()) return fail(Fault::kUnsupported, kUntold);
    return std::pair<std::string, std::string>("x-goog-if-generation-match",
                                               expected ? expected->generation : "0");
  }
  [[nodiscard]] std::string note_header() const override {
    return google() ? "x-goog-meta-zarrfs-writes" : Endpoint::note_header();
  }
  /// Google's uploads in parts know no conditions.
  [[nodiscard]] bool puts_parts() const override { return !google(); }
  [[nodiscard]] std::string copy_source(const std::string& key) const override {
    return "/" + percent_encode(place_.bucket, false) + "/" + percent_encode(full_key(key), true);
  }
  [[nodiscard]] std::string server() const override { return place_.server.text(); }

  [[nodiscard]] ObjectRequest listing(const std::string& prefix, const std::string& continuation,
                                      std::size_t most, ListingDepth depth) const override {
    std::string full = full_key(prefix);
    if (!full.empty()) full += '/';
    ObjectRequest request;
    request.of_bucket = true;
    if (depth == ListingDepth::kNext) request.query = "delimiter=%2F&";
    request.query += "encoding-type=url&list-type=2&max-keys=" + std::to_string(most);
    if (!continuation.empty()) {
      request.query += "&continuation-token=" + percent_encode(continuation, false);
    }
    request.query += "&prefix=" + percent_encode(full, false);
    return request;
  }

  [[nodiscard]] std::optional<std::string> key_of(const std::string& listed) const override {
    if (place_.prefix.empty()) return listed;
    if (!listed.starts_with(place_.prefix + "/")) return std::nullopt;
    return listed.substr(place_.prefix.size() + 1);
  }

  [[nodiscard]] std::string url_of(const std::string& key) const override {
    const std::string full = full_key(key);
    return place_.scheme + "://" + place_.bucket + (full.empty() ? "" : "/" + full);
  }

 private:
  std::string region() {
    const std::lock_guard lock(mutex_);
    return region_;
  }

  [[nodiscard]] bool google() const { return place_.scheme == "gs"; }

  /// Below the bucket.
  [[nodiscard]] std::string full_key(const std::string& key) const {
    std::string full = place_.prefix;
    if (!key.empty()) full += (full.empty() ? "" : "/") + key;
    return full;
  }

  [[nodiscard]] std::string host_in(const std::string& region) const {
    std::string host = place_.amazon ? "s3." + region + ".amazonaws.com" : place_.server.authority;
    return place_.path_style ? host : place_.bucket + "." + host;
  }

  /// A question about the bucket itself has no key.
  [[nodiscard]] std::string path_of(const std::string& key, bool of_object) const {
    std::string path = place_.server.path;
    if (place_.path_style) path += "/" + percent_encode(place_.bucket, false);
    if (of_object) path += "/" + percent_encode(full_key(key), true);
    return path.empty() ? "/" : path;
  }

  bool learn_region(const HttpResponse& response, const ServiceError& error) {
    std::string told = response.headers.find("x-amz-bucket-region").value_or(error.region);
    const bool elsewhere = response.status == 301 || response.status == 307 ||
                           error.code == "AuthorizationHeaderMalformed" ||
                           error.code == "PermanentRedirect";
    const bool plain = !told.empty() && std::all_of(told.begin(), told.end(), [](char letter) {
      return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
    });
    if (!elsewhere || !plain) return false;
    const std::lock_guard lock(mutex_);
    if (told == region_) return false;
    region_ = std::move(told);
    return true;
  }

  bool learn_time(const HttpResponse& response) {
    const auto date = response.headers.find("date");
    const auto seconds = date ? parse_http_date(*date) : std::nullopt;
    if (!seconds) return false;
    const std::int64_t skew = *seconds - static_cast<std::int64_t>(::time(nullptr));
    return skew_.exchange(skew) != skew;
  }

  const Place place_;
  TableMutex mutex_;
  std::string region_;  // guarded by mutex_
  std::atomic<std::int64_t> skew_{0};
  const std::unique_ptr<RenewedCredentials> credentials_;  ///< Null: not signed.
};

/// Google's keys for what speaks S3 (HMAC keys), under the names that GDAL gave them.
Environment google_keys(const Environment& environment) {
  return [environment](const std::string& name) -> std::optional<std::string> {
    if (name == "AWS_ACCESS_KEY_ID") return environment("GS_ACCESS_KEY_ID");
    if (name == "AWS_SECRET_ACCESS_KEY") return environment("GS_SECRET_ACCESS_KEY");
    return std::nullopt;
  };
}

Result<BucketEndpoint::Place> place_of(const Url& url, const RemoteOptions& options,
                                       const std::string& endpoint) {
  BucketEndpoint::Place place;
  place.scheme = url.scheme;
  place.bucket = url.authority;
  if (!url.query.empty()) {
    return fail(Fault::kInvalid, url.text() + ": '?' has no meaning in the URL of a bucket");
  }
  place.prefix = url.path.empty() ? "" : url.path.substr(1);
  if (options.requester_pays && url.scheme == "gs") {
    return fail(Fault::kUnsupported, "option requester_pays is for s3:// only");
  }
  place.requester_pays = options.requester_pays;
  place.lists = !options.absent_403 || options.write;
  place.amazon = endpoint.empty() && url.scheme == "s3";
  const bool own_server = !endpoint.empty();
  ZARRFS_TRY(place.server, parse_url(own_server           ? endpoint
                                     : url.scheme == "gs" ? kGoogle
                                                          : "https://s3.amazonaws.com"));
  // Names with dots do not fit the server's certificate as parts of its name.
  const bool dotted = place.bucket.find('.') != std::string::npos;
  place.path_style = options.path_style.value_or(own_server || url.scheme == "gs" || dotted);
  return place;
}

}  // namespace

Result<std::pair<std::string, std::string>> Endpoint::condition(
    const std::optional<ObjectInfo>& expected) const {
  using Header = std::pair<std::string, std::string>;
  if (!expected) return Header("If-None-Match", "*");
  const Version& version = expected->version;
  if (version.weak || !version.tag.starts_with("\"")) return fail(Fault::kUnsupported, kUntold);
  return Header("If-Match", version.tag);
}

Result<std::unique_ptr<Endpoint>> web_endpoint(const Url& url, const RemoteOptions& /*options*/,
                                               HttpClient& /*http*/,
                                               const Environment& /*environment*/) {
  return std::make_unique<WebEndpoint>(url);
}

Result<std::unique_ptr<Endpoint>> bucket_endpoint(const Url& url, const RemoteOptions& options,
                                                  HttpClient& http,
                                                  const Environment& environment) {
  const bool google = url.scheme == "gs";
  const auto keys = std::make_shared<const CredentialSource>(
      http, google ? google_keys(environment) : environment, options.profile);
  std::string endpoint = options.endpoint;
  std::string region = options.region;
  if (!google) {
    const auto first = [&](std::initializer_list<std::optional<std::string>> found) {
      for (const auto& one : found) {
        if (one) return *one;
      }
      return std::string();
    };
    if (endpoint.empty()) {
      endpoint = first({environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"),
                        keys->setting("endpoint_url")});
    }
    if (region.empty()) {
      region = first(
          {environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), keys->setting("region")});
    }
  }
  if (region.empty()) region = google ? "auto" : kDefaultRegion;
  ZARRFS_TRY(auto place, place_of(url, options, endpoint));
  std::unique_ptr<RenewedCredentials> credentials;
  if (!options.anonymous && google && !environment("GS_ACCESS_KEY_ID")) {
    credentials = std::make_unique<RenewedCredentials>(
        [&http, environment] { return find_google_token(http, environment); });
  } else if (!options.anonymous) {
    credentials = std::make_unique<RenewedCredentials>([keys] { return keys->find(); });
  }
  return std::make_unique<BucketEndpoint>(std::move(place), std::move(region),
                                          std::move(credentials));
}

std::string trusted_certificates(const Url& url, const RemoteOptions& options,
                                 const Environment& environment) {
  if (!options.ca_file.empty() || url.scheme != "s3") return options.ca_file;
  return environment("AWS_CA_BUNDLE").value_or("");
}

}  // namespace zarrfs
