// Which uploads in parts this machine has begun, noted in the spool: what a daemon that was killed
// has left at the server is found by it. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/store/store.h"

namespace zarrfs {

struct UploadNote {
  std::string file;  ///< In the spool.
  std::string key;
  std::string id;
};

/// Durable when it returns.
Result<UploadNote> note_upload(Store& spool, const std::string& key, const std::string& id);
Result<void> forget_upload(Store& spool, const UploadNote& note);
/// Those that were noted and not forgotten; a note that was cut off is removed.
Result<std::vector<UploadNote>> noted_uploads(Store& spool);

}  // namespace zarrfs
