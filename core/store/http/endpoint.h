// The kinds of servers: how a request for an object is written (and signed), and how a listing is
// asked for. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/store/http/credentials.h"
#include "core/store/http/http.h"
#include "core/store/http/listing.h"
#include "core/store/http/object_answer.h"
#include "core/store/http/options.h"
#include "core/store/http/renewed_credentials.h"
#include "core/store/http/url.h"

namespace zarrfs {

/// Directly below a prefix, or all objects below it.
enum class ListingDepth { kNext, kAll };

/// A question about one key. `query` is percent-encoded already.
struct ObjectRequest {
  std::string method = "GET";
  std::string key;  ///< Below the store's root; not encoded.
  std::string query;
  bool of_bucket = false;  ///< `query` is about the bucket itself.
  bool bare = false;       ///< Without credentials.
  HeaderList headers;
  std::shared_ptr<const RequestBody> body;
  /// Of a refusal that is not about rights.
  Fault refused = Fault::kIo;
  /// Whether a conflict (409) is an answer; else it is asked again.
  bool may_conflict = false;
  std::size_t part_limit = 0;  ///< See HttpRequest.
  std::size_t whole_limit = 0;
};

class Endpoint {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~Endpoint() = default;
  /// The request as it is sent now. Where there are no good credentials they are waited for until
  /// `until`, as long as somebody waits for the answer (core/base/request.h). kDenied where there
  /// are none to be had.
  virtual Result<HttpRequest> write(const ObjectRequest& request, Clock::time_point until) = 0;
  /// Learns from a refusal (another region, a clock that is wrong, keys that have expired) of a
  /// request that was written at the time `written`; true where it is worth writing anew.
  virtual bool learn(const HttpResponse& /*response*/, const ServiceError& /*error*/,
                     Clock::time_point /*written*/) {
    return false;
  }
  /// Whether a refusal that does not say why (an answer to HEAD has no body), of a request that was
  /// written at the time `written`, may be due to credentials that have expired. Others are waited
  /// for until `until`.
  virtual Doubt suspect(Clock::time_point /*written*/, Clock::time_point /*until*/) {
    return Doubt::kNone;
  }
  /// Where the credentials are from that requests go with; empty: they go without. An Error, saying
  /// where it looked, where there are none.
  virtual Result<std::string> credentials(Clock::time_point /*until*/) { return std::string(); }
  [[nodiscard]] virtual bool lists() const { return false; }
  /// Whether objects can be put and removed, on conditions.
  [[nodiscard]] virtual bool writes() const { return false; }
  /// The header by which a request is done only where `expected` stands, or nothing at all;
  /// kUnsupported where nothing tells that version from others.
  [[nodiscard]] virtual Result<std::pair<std::string, std::string>> condition(
      const std::optional<ObjectInfo>& expected) const;
  /// The header of the note that a writer leaves with an object.
  [[nodiscard]] virtual std::string note_header() const { return "x-amz-meta-zarrfs-writes"; }
  /// Whether an object can be put in parts, some of them copied by the server.
  [[nodiscard]] virtual bool puts_parts() const { return false; }
  /// How a header names the object that the server copies from.
  [[nodiscard]] virtual std::string copy_source(const std::string& /*key*/) const { return {}; }
  /// Which server it is, without secrets: to tell equal names at several servers apart.
  [[nodiscard]] virtual std::string server() const { return {}; }
  /// One page of what is below `prefix` (a key without its last slash; "" is the root).
  [[nodiscard]] virtual ObjectRequest listing(const std::string& /*prefix*/,
                                              const std::string& /*continuation*/,
                                              std::size_t /*most*/,
                                              ListingDepth /*depth*/ = ListingDepth::kNext) const {
    return {};
  }
  /// The key within the store of a key in a listing; nothing where it lies outside.
  [[nodiscard]] virtual std::optional<std::string> key_of(const std::string& /*listed*/) const {
    return std::nullopt;
  }
  /// The URL of an object, for messages and for the cache: without secrets.
  [[nodiscard]] virtual std::string url_of(const std::string& key) const = 0;
};

// The clients of core/store/http/schemes.

/// Any server of files.
Result<std::unique_ptr<Endpoint>> web_endpoint(const Url& url, const RemoteOptions& options,
                                               HttpClient& http, const Environment& environment);

/// A file of certificates (PEM): the option's, else for s3 that of AWS_CA_BUNDLE; empty: the
/// system's.
std::string trusted_certificates(const Url& url, const RemoteOptions& options,
                                 const Environment& environment);

/// A bucket of S3, of what speaks like it, or of Google.
Result<std::unique_ptr<Endpoint>> bucket_endpoint(const Url& url, const RemoteOptions& options,
                                                  HttpClient& http, const Environment& environment);

}  // namespace zarrfs
