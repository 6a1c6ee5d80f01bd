// An object put in parts: begun, sent or copied part by part, and completed on a condition. Source:
// Amazon S3, CreateMultipartUpload, UploadPart, UploadPartCopy, CompleteMultipartUpload. One thread
// at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/http/object_answer.h"
#include "core/store/http/requester.h"
#include "core/store/remote/part_plan.h"

namespace zarrfs {

/// Errors: kStale where what is copied from, or the upload itself, is another or gone; kUnsupported
/// where the server has no such request; else as Requester's.
class Multipart {
 public:
  /// Begins one. `headers`: of the object that it is going to be.
  static Result<Multipart> begin(Requester& requester, const std::string& key,
                                 const HeaderList& headers);
  /// One that was begun earlier.
  Multipart(Requester& requester, std::string key, std::string id)
      : requester_(&requester), key_(std::move(key)), id_(std::move(id)) {}

  [[nodiscard]] const std::string& id() const { return id_; }

  /// Brings `parts` there: those that are not copied from `file`, the others from the version
  /// `source` of the object itself.
  Result<void> bring(const std::vector<ObjectPiece>& parts, const std::shared_ptr<const File>& file,
                     const ObjectInfo& source);
  /// The ETag of the object that it has become; nothing where the server refuses.
  Result<std::optional<std::string>> complete(const HeaderList& conditions);
  /// Forgets it; also where it is gone already.
  Result<void> abort();

 private:
  [[nodiscard]] ObjectRequest request(const std::string& method, const std::string& query) const;
  Result<ObjectRequest> part_request(std::size_t number, const ObjectPiece& part,
                                     const std::shared_ptr<const File>& file,
                                     const ObjectInfo& source) const;
  Result<std::string> tag_of(const ObjectPiece& part, const HttpResponse& answer) const;

  Requester* requester_;
  std::string key_;
  std::string id_;
  std::vector<std::string> tags_;
};

}  // namespace zarrfs
