// A bucket of a server that speaks S3: its requests, XML and versions. What Amazon's and Google's
// servers do otherwise is data (s3_client, google_client).
// Source: Amazon S3 API reference; Google Cloud Storage, "XML API".
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/base/lock_order.h"
#include "core/store/http/object_client.h"
#include "core/store/http/renewed_credentials.h"
#include "core/store/http/signer.h"
#include "core/store/http/url.h"

namespace zarrfs {

/// The words of a server for the same things.
struct BucketDialect {
  std::string headers;       ///< What its own headers begin with: "x-amz-".
  std::string service;       ///< That requests are signed for.
  bool google = false;       ///< Signed in Google's words; conditions are generations.
  bool puts_parts = false;   ///< On conditions.
  std::string key_origin{};  ///< Where keys are from, if the source does not know.
};

struct BucketPlace {
  std::string scheme;  ///< For messages.
  Url server;          ///< http(s).
  std::string bucket;
  std::string prefix;  ///< Decoded, without slashes around it.
  bool path_style = true;
  bool in_region = false;  ///< The server's name follows the region.
  bool requester_pays = false;
  bool lists = true;
  bool absent_403 = false;
};

/// `credentials`: null where requests are not signed.
std::unique_ptr<ObjectClient> make_bucket_client(BucketDialect dialect, BucketPlace place,
                                                 std::string region,
                                                 std::unique_ptr<RenewedCredentials> credentials);

/// What the URL of a bucket says; `server` is still to be told.
Result<BucketPlace> bucket_in(const Url& url);

}  // namespace zarrfs
