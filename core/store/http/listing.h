// What an object store answers in XML: a page of a listing, the code of an error, and what putting
// in parts needs. Untrusted. Source: Amazon S3 API reference, ListObjectsV2, "Error responses",
// CreateMultipartUpload, UploadPartCopy. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/store/http/body_room.h"

namespace zarrfs {

struct ListedObject {
  std::string key;
  std::uint64_t size = 0;
  std::string tag;  ///< ETag, as it came.
  std::string modified;
};

struct ListingPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> prefixes;
  bool truncated = false;
  std::string continuation;  ///< Not empty where truncated.
  BodyRoom::Held room;       ///< What it takes, where it came from a server.
};

/// kDamaged where it is no page of a listing: no XML, another document, a size that is none, keys
/// that cannot be decoded, a page that goes on without saying where, more than 10,000 names.
Result<ListingPage> parse_listing(std::string_view xml);

/// The same of Azure (EnumerationResults), without the markers that stand for directories.
Result<ListingPage> parse_blob_listing(std::string_view xml);

/// "NoSuchKey", "ExpiredToken", ... with what the server says about it; empty where `xml` is no
/// error document.
struct ServiceError {
  std::string code;
  std::string message;
  std::string region;  ///< Where a server says in which region a bucket is.
};
ServiceError parse_service_error(std::string_view xml);

/// The id in the answer to CreateMultipartUpload; empty where there is none.
std::string parse_upload_id(std::string_view xml);
/// The ETag in the answer to UploadPartCopy; empty where there is none.
std::string parse_copied_tag(std::string_view xml);
/// The ETag in the answer to CompleteMultipartUpload; empty where there is none.
std::string parse_completed_tag(std::string_view xml);

}  // namespace zarrfs
