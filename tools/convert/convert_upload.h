// The result of a conversion at a server. It is made where it is going to stand: its objects are
// put as they are complete, the documents of its root last, so that until then no reader takes it
// for a store. The object .zarrfs-conversion says what is being made until it is complete. One
// thread at a time.
#pragma once

#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/store/remote/upload_store.h"

namespace zarrfs::tools {

class ConversionUpload {
 public:
  /// Finds nothing at `url`, or what an earlier run of the conversion that `description` names has
  /// left, and whether the server keeps conditions. kExists where something else stands there.
  /// `options`: see remote_options().
  static Result<ConversionUpload> find(const std::string& url, const std::string& options,
                                       const Json& description);

  /// From here on something of the result may be there.
  Result<void> begin();

  [[nodiscard]] const std::shared_ptr<UploadStore>& store() const { return store_; }
  /// Whether an earlier run may have left pieces there.
  [[nodiscard]] bool resumed() const { return resumed_; }
  /// The result is complete.
  Result<void> finish();

  /// Removes what an unfinished conversion of `source_path` has put at `url`; false where nothing
  /// is there. kExists where something else stands there.
  static Result<bool> discard(const std::string& url, const std::string& options,
                              const std::string& source_path);

 private:
  std::shared_ptr<UploadStore> store_;
  std::string marker_;  ///< What it says.
  bool resumed_ = false;
};

/// The URL of TARGET without what is no part of its name; kInvalid where it lies within
/// `source_path`, kReadOnly where it is an archive.
Result<std::string> upload_target(const std::string& target, const std::string& source_path);

}  // namespace zarrfs::tools
