#include "tools/shared/whole_files.h"

namespace zarrfs::tools {

Result<void> WholeFiles::check(const File& file) {
  if (!checksums_) return {};
  const auto place = file.place();
  const File& whole = place ? *place->whole : file;
  {
    const HeldLock lock(mutex_);
    if (!checked_.insert(whole.name()).second) return {};
  }
  return whole.check_whole();
}

}  // namespace zarrfs::tools
