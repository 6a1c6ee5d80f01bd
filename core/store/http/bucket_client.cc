#include "core/store/http/bucket_client.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <utility>

namespace zarrfs {
namespace {

using Kind = ObjectQuestion::Kind;

constexpr const char* kNoBodyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kUntold =
    "the server gives an object no version by which it can be told from others";
constexpr const char* kNoteName = "meta-zarrfs-writes";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '"': out += "&quot;"; break;
      default: out += letter;
    }
  }
  return out;
}

std::string completion(const std::vector<std::string>& tags) {
  std::string text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < tags.size(); ++i) {
    text += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
            escaped(tags[i]) + "</ETag></Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

bool is_of_parts(Kind kind) {
  return kind == Kind::kBeginParts || kind == Kind::kPutPart || kind == Kind::kCopyPart ||
         kind == Kind::kCompleteParts;
}

class BucketClient final : public HttpObjectClient {
 public:
  BucketClient(BucketDialect dialect, BucketPlace place, std::string region,
               std::unique_ptr<RenewedCredentials> credentials)
      : HttpObjectClient(place.absent_403),
        dialect_(std::move(dialect)),
        place_(std::move(place)),
        region_(std::move(region)),
        credentials_(std::move(credentials)) {}

  Result<HttpRequest> write(const ObjectQuestion& question, Clock::time_point until) override {
    HttpRequest request = begin_request(question);
    if (is_of_parts(question.kind) && request.body == nullptr) {
      const bool completes = question.kind == Kind::kCompleteParts;
      request.body = RequestBody::of_text(completes ? completion(question.tags) : "");
      if (completes) request.headers.emplace_back("Content-Type", "application/xml");
    }
    if (question.kind == Kind::kPut || question.kind == Kind::kBeginParts) {
      request.headers.emplace_back(note_header(), question.note);
    }
    ZARRFS_CHECK(add_writing_condition(request, question));
    return authorized(std::move(request), question, until);
  }

  bool learn(const HttpResponse& response, Clock::time_point written) override {
    const ServiceError error = parse_service_error(response.text());
    if (learn_region(response, error)) return true;
    if (error.code == "RequestTimeTooSkewed") return learn_time(response);
    const bool expired = error.code == "ExpiredToken" || error.code == "TokenRefreshRequired" ||
                         (dialect_.google && response.status == 401);
    return expired && credentials_ != nullptr && credentials_->refuse(written);
  }

  Doubt suspect(Clock::time_point written, Clock::time_point until) override {
    return credentials_ == nullptr ? Doubt::kNone : credentials_->suspect(written, until);
  }

  Result<std::string> credentials(Clock::time_point until) override {
    if (credentials_ == nullptr) return std::string();
    ZARRFS_TRY(const Credentials found, credentials_->get(until));
    return dialect_.key_origin.empty() || !found.token.empty() ? found.origin : dialect_.key_origin;
  }
  [[nodiscard]] bool lists() const override { return place_.lists; }
  [[nodiscard]] bool writes() const override { return true; }
  [[nodiscard]] bool tells_apart(const ObjectInfo& version) const override {
    if (dialect_.google) return !version.generation.empty();
    return !version.version.weak && version.version.tag.starts_with("\"");
  }
  [[nodiscard]] bool puts_parts() const override { return dialect_.puts_parts; }
  [[nodiscard]] std::string server() const override { return place_.server.text(); }
  [[nodiscard]] std::string url_of(const std::string& key) const override {
    const std::string full = full_key(key);
    return place_.scheme + "://" + place_.bucket + (full.empty() ? "" : "/" + full);
  }

 private:
  [[nodiscard]] std::string note_header() const { return dialect_.headers + kNoteName; }
  [[nodiscard]] std::string note_in(const HttpResponse& response) const override {
    return response.headers.find(note_header()).value_or("");
  }

  /// A bucket's answer in XML says what is missing: a key, or else; or it was cut or damaged.
  [[nodiscard]] bool says_absent(const ObjectQuestion& question,
                                 const HttpResponse& response) const override {
    if (!HttpObjectClient::says_absent(question, response)) return false;
    const ServiceError error = parse_service_error(response.text());
    if (error.code == "NoSuchBucket") return false;
    const bool in_xml = response.text().find("<Error") != std::string_view::npos ||
                        response.text().starts_with('<');
    return !reads(question) || !place_.lists || !in_xml || error.code == "NoSuchKey";
  }
  [[nodiscard]] Fault fault_of_refusal(const ObjectQuestion& question) const override {
    return is_of_parts(question.kind) ? Fault::kUnsupported : Fault::kIo;
  }

  /// The header by which something is done only where a version stands there, or nothing at all.
  Result<void> add_writing_condition(HttpRequest& request, const ObjectQuestion& question) const {
    const ObjectCondition& condition = question.condition;
    const ObjectInfo& version = condition.version;
    if (question.kind == Kind::kCopyPart) {
      const std::string source = dialect_.headers + "copy-source";
      request.headers.emplace_back(source, "/" + percent_encode(place_.bucket, false) + "/" +
                                               percent_encode(full_key(question.key), true));
      request.headers.emplace_back(source + "-if-match", version.version.tag);
      request.headers.emplace_back(source + "-range", range_header(question.part).value_or(""));
      return {};
    }
    if (reads(question) || condition.kind == ObjectCondition::Kind::kNone) return {};
    const bool none = condition.kind == ObjectCondition::Kind::kAbsent;
    if (!none && !tells_apart(version)) {
      return fail(Fault::kUnsupported, url_of(question.key) + ": " + kUntold);
    }
    if (dialect_.google) {
      request.headers.emplace_back(dialect_.headers + "if-generation-match",
                                   none ? "0" : version.generation);
    } else if (none) {
      request.headers.emplace_back("If-None-Match", "*");
    } else {
      request.headers.emplace_back("If-Match", version.version.tag);
    }
    return {};
  }

  [[nodiscard]] std::string query_of(const ObjectQuestion& question) const {
    std::string upload = "uploadId=" + percent_encode(question.upload, false);
    switch (question.kind) {
      case Kind::kList: return listing_query(question);
      case Kind::kBeginParts: return "uploads=";
      case Kind::kPutPart:
      case Kind::kCopyPart: return "partNumber=" + std::to_string(question.number) + "&" + upload;
      case Kind::kCompleteParts:
      case Kind::kAbortParts: return upload;
      default: return {};
    }
  }

  [[nodiscard]] std::string listing_query(const ObjectQuestion& question) const {
    std::string full = full_key(question.key);
    if (!full.empty()) full += '/';
    std::string query = question.depth == ListingDepth::kNext ? "delimiter=%2F&" : "";
    query += "encoding-type=url&list-type=2&max-keys=" + std::to_string(question.most);
    if (!question.continuation.empty()) {
      query += "&continuation-token=" + percent_encode(question.continuation, false);
    }
    return query + "&prefix=" + percent_encode(full, false);
  }

  Result<HttpRequest> authorized(HttpRequest request, const ObjectQuestion& question,
                                 Clock::time_point until) {
    if (place_.requester_pays) {
      request.headers.emplace_back(dialect_.headers + "request-payer", "requester");
    }
    const std::string region = this->region();
    const std::string host = host_in(region);
    const std::string path = path_of(question.key, question.kind != Kind::kList);
    const std::string query = query_of(question);
    request.url = place_.server.scheme + "://" + host + path;
    if (!query.empty()) request.url += "?" + query;
    if (credentials_ == nullptr || question.bare) return request;
    ZARRFS_TRY(const Credentials found, credentials_->get(until));
    if (!found.token.empty()) {
      request.headers.emplace_back("Authorization", "Bearer " + found.token);
      return request;
    }
    const AccessKey& key = found.key;
    const std::string date = amazon_date(static_cast<std::int64_t>(::time(nullptr)) + skew_);
    const std::string body_hash = request.body == nullptr ? kNoBodyHash : request.body->hash();
    // Google takes no headers of both kinds in one request.
    request.headers.emplace_back(dialect_.headers + "content-sha256", body_hash);
    request.headers.emplace_back(dialect_.headers + "date", date);
    if (!key.session_token.empty()) {
      request.headers.emplace_back("x-amz-security-token", key.session_token);
    }
    Signable signable{request.method, path, query, request.headers, body_hash};
    signable.headers.emplace_back("host", host);
    const SigningScope scope{region, dialect_.service, dialect_.google};
    request.headers.emplace_back("Authorization", authorization(signable, key, scope, date));
    return request;
  }

  tl::expected<ObjectAnswer, NoAnswer> read_done(const ObjectQuestion& question,
                                                 HttpResponse response) override {
    ObjectAnswer answer;
    switch (question.kind) {
      case Kind::kList: return read_listing(question, response);
      case Kind::kPut:
        if (response.status != 200) {
          return refused(Fault::kIo, question,
                         "it was put, says status " + std::to_string(response.status));
        }
        answer.part.info.size = question.body->size();
        answer.part.info.version = version_of(response.headers);
        answer.part.info.generation = generation_of(response.headers);
        return answer;
      case Kind::kBeginParts:
        answer.upload = parse_upload_id(response.text());
        if (response.status == 200 && !answer.upload.empty()) return answer;
        return refused(Fault::kUnsupported, question,
                       "the server begins no upload in parts (status " +
                           std::to_string(response.status) + ")");
      case Kind::kPutPart:
      case Kind::kCopyPart: return read_part_tag(question, response);
      case Kind::kCompleteParts: return read_completion(question, response);
      default: return answer;
    }
  }

  tl::expected<ObjectAnswer, NoAnswer> read_listing(const ObjectQuestion& question,
                                                    const HttpResponse& response) const {
    if (response.status != 200) {
      return refused(Fault::kIo, question, "listing it: status " + std::to_string(response.status));
    }
    return page_answer(question, parse_listing(response.text()), place_.prefix);
  }

  /// Of a copy that fails half way, the status is 200 as well.
  tl::expected<ObjectAnswer, NoAnswer> read_part_tag(const ObjectQuestion& question,
                                                     const HttpResponse& response) const {
    const bool copied = question.kind == Kind::kCopyPart;
    ObjectAnswer answer;
    answer.tag =
        copied ? parse_copied_tag(response.text()) : response.headers.find("etag").value_or("");
    if (response.status == 200 && !answer.tag.empty()) return answer;
    return refused(Fault::kIo, question,
                   "the server does not say what became of a part (status " +
                       std::to_string(response.status) + " " +
                       parse_service_error(response.text()).code + ")");
  }

  tl::expected<ObjectAnswer, NoAnswer> read_completion(const ObjectQuestion& question,
                                                       const HttpResponse& response) const {
    const ServiceError error = parse_service_error(response.text());
    if (!error.code.empty()) {
      return refused(Fault::kIo, question,
                     "the parts were not put together, " + error.code + ": " + error.message);
    }
    ObjectAnswer answer;
    answer.tag = parse_completed_tag(response.text());
    if (response.status == 200 && !answer.tag.empty()) return answer;
    return refused(Fault::kIo, question,
                   "the server does not say whether the parts were put together");
  }

  std::string region() {
    const std::lock_guard lock(mutex_);
    return region_;
  }

  /// Below the bucket.
  [[nodiscard]] std::string full_key(const std::string& key) const {
    return key_below(place_.prefix, key);
  }

  [[nodiscard]] std::string host_in(const std::string& region) const {
    std::string host =
        place_.in_region ? "s3." + region + ".amazonaws.com" : place_.server.authority;
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
    const auto skew = clock_ahead(response.headers);
    return skew && skew_.exchange(*skew) != *skew;
  }

  const BucketDialect dialect_;
  const BucketPlace place_;
  TableMutex mutex_;
  std::string region_;  // guarded by mutex_
  std::atomic<std::int64_t> skew_{0};
  const std::unique_ptr<RenewedCredentials> credentials_;  ///< Null: not signed.
};

}  // namespace

std::unique_ptr<ObjectClient> make_bucket_client(BucketDialect dialect, BucketPlace place,
                                                 std::string region,
                                                 std::unique_ptr<RenewedCredentials> credentials) {
  return std::make_unique<BucketClient>(std::move(dialect), std::move(place), std::move(region),
                                        std::move(credentials));
}

Result<BucketPlace> bucket_in(const Url& url) {
  if (!url.query.empty()) {
    return fail(Fault::kInvalid, url.text() + ": '?' has no meaning in the URL of a bucket");
  }
  if (url.authority.find('@') != std::string::npos) {
    return fail(Fault::kInvalid, url.scheme + "://...: '@' has no meaning in a bucket's name");
  }
  BucketPlace place;
  place.scheme = url.scheme;
  place.bucket = url.authority;
  place.prefix = url.path.empty() ? "" : url.path.substr(1);
  return place;
}

}  // namespace zarrfs
