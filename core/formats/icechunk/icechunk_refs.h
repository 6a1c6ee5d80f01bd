// The branches, tags and snapshots of an Icechunk repository: of specification 1 (a file for each
// below refs/) and 2 (one file for all). What is read is untrusted. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/formats/icechunk/icechunk_files.h"
#include "core/store/http/revision.h"
#include "core/store/store.h"

namespace zarrfs {

/// A whole file of a repository, without its header. kDamaged where it is not there: `named_by`
/// says what leads to it.
Result<Bytes> read_icechunk(Store& place, const std::string& path, IcechunkFile type,
                            const std::string& named_by);

/// The file that says which snapshot a revision is.
std::string file_of_revision(const Revision& revision, int specification);

/// Which snapshot a revision was, and the status of the file that said so.
struct IcechunkTip {
  std::string snapshot;
  struct stat seen {};
};
/// kInvalid where there is no such revision.
Result<IcechunkTip> find_icechunk_tip(Store& place, const Revision& revision, int specification);

}  // namespace zarrfs
