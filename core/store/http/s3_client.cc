// Amazon S3, or another server that speaks it. Source: "Environment variables to configure the AWS
// CLI" for what is looked at where options say nothing.
#include <initializer_list>
#include <utility>

#include "core/store/http/bucket_client.h"
#include "core/store/http/clients.h"

namespace zarrfs {
namespace {

constexpr const char* kDefaultRegion = "us-east-1";

std::string first_of(std::initializer_list<std::optional<std::string>> found) {
  for (const auto& one : found) {
    if (one) return *one;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ObjectClient>> make_s3_client(const Url& url, const RemoteOptions& options,
                                                     HttpClient& http,
                                                     const Environment& environment) {
  const auto keys = std::make_shared<const CredentialSource>(http, environment, options.profile);
  std::string endpoint = options.endpoint;
  if (endpoint.empty()) {
    endpoint = first_of({environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL"),
                         keys->setting("endpoint_url")});
  }
  std::string region = options.region;
  if (region.empty()) {
    region = first_of(
        {environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), keys->setting("region")});
  }
  if (region.empty()) region = kDefaultRegion;
  ZARRFS_TRY(BucketPlace place, bucket_in(url));
  place.requester_pays = options.requester_pays;
  place.lists = !options.absent_403 || options.write;
  place.absent_403 = options.absent_403;
  place.in_region = endpoint.empty();
  ZARRFS_TRY(place.server, parse_url(place.in_region ? "https://s3.amazonaws.com" : endpoint));
  // Names with dots do not fit the server's certificate as parts of its name.
  const bool dotted = place.bucket.find('.') != std::string::npos;
  place.path_style = options.path_style.value_or(!place.in_region || dotted);
  std::unique_ptr<RenewedCredentials> credentials;
  if (!options.anonymous) {
    credentials = std::make_unique<RenewedCredentials>([keys] { return keys->find(); });
  }
  const BucketDialect dialect{.headers = "x-amz-", .service = "s3", .puts_parts = true};
  return make_bucket_client(dialect, std::move(place), std::move(region), std::move(credentials));
}

}  // namespace zarrfs
