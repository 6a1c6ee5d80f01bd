// Google Cloud Storage, by its XML API: with a token, or signed with HMAC keys.
#include <utility>

#include "core/store/http/bucket_client.h"
#include "core/store/http/clients.h"
#include "core/store/http/google_keys.h"

namespace zarrfs {
namespace {

constexpr const char* kGoogle = "https://storage.googleapis.com";

/// Google's keys for what speaks S3 (HMAC keys), under the names that GDAL gave them.
Environment google_keys(const Environment& environment) {
  return [environment](const std::string& name) -> std::optional<std::string> {
    if (name == "AWS_ACCESS_KEY_ID") return environment("GS_ACCESS_KEY_ID");
    if (name == "AWS_SECRET_ACCESS_KEY") return environment("GS_SECRET_ACCESS_KEY");
    return std::nullopt;
  };
}

}  // namespace

Result<std::unique_ptr<ObjectClient>> make_google_client(const Url& url,
                                                         const RemoteOptions& options,
                                                         HttpClient& http,
                                                         const Environment& environment) {
  if (options.requester_pays) {
    return fail(Fault::kUnsupported, "option requester_pays is for s3:// only");
  }
  ZARRFS_TRY(BucketPlace place, bucket_in(url));
  place.lists = !options.absent_403 || options.write;
  place.absent_403 = options.absent_403;
  ZARRFS_TRY(place.server, parse_url(options.endpoint.empty() ? kGoogle : options.endpoint));
  place.path_style = options.path_style.value_or(true);
  std::unique_ptr<RenewedCredentials> credentials;
  if (!options.anonymous && !environment("GS_ACCESS_KEY_ID")) {
    credentials = std::make_unique<RenewedCredentials>(
        [&http, environment] { return find_google_token(http, environment); });
  } else if (!options.anonymous) {
    const auto keys =
        std::make_shared<const CredentialSource>(http, google_keys(environment), options.profile);
    credentials = std::make_unique<RenewedCredentials>([keys] { return keys->find(); });
  }
  // Google's uploads in parts know no conditions.
  const BucketDialect dialect{.headers = "x-goog-",
                              .service = "storage",
                              .google = true,
                              .key_origin = "the environment (GS_ACCESS_KEY_ID)"};
  return make_bucket_client(dialect, std::move(place),
                            options.region.empty() ? "auto" : options.region,
                            std::move(credentials));
}

}  // namespace zarrfs
