// A store at a server that is being made: each file is written on this machine first, in a file
// without a name, and put as one object when it is complete, where there was none. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/store/http/options.h"
#include "core/store/put_store.h"

namespace zarrfs {

class UploadStore : public PutStore {
 public:
  /// As publish(), also after replace_earlier(): false, and nothing is done, where an object stands
  /// there.
  virtual Result<bool> publish_first(const std::string& path) = 0;
  /// From now on objects that stand where one is put are replaced: an earlier run has left them, or
  /// another machine puts the same. One that has the same bytes is left.
  virtual void replace_earlier() = 0;
  /// Tries with an object of its own whether the server keeps conditions: kReadOnly where not.
  virtual Result<void> check_conditions() = 0;
};

/// `url` is one of a bucket that can be written to; kReadOnly where it is not. Files are written in
/// $TMPDIR, or /tmp.
Result<std::shared_ptr<UploadStore>> open_upload_store(const std::string& url,
                                                       const RemoteOptions& options);

}  // namespace zarrfs
