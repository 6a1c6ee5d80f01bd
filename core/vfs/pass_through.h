// Files of the store that are not Zarr's: opened, linked and changed as the program's own user, so
// that the kernel decides whether he may. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/files/stored_file.h"
#include "core/names/entries.h"
#include "core/names/name.h"
#include "core/names/view_parts.h"
#include "core/view/view.h"

namespace zarrfs {

class PassThrough {
 public:
  PassThrough(ViewParts& parts, Entries& entries) : parts_(parts), entries_(entries) {}

  Result<std::shared_ptr<OpenFile>> open_to_read(const NamedNode& node);
  Result<std::shared_ptr<OpenFile>> open_to_write(const NamedNode& node, int flags);
  Result<std::shared_ptr<OpenFile>> create(const std::string& path, int flags, mode_t mode);
  /// A second name of the same file.
  Result<InodeEntry> link(const NamedNode& from, const Name& target);
  /// Changes owner and times of a symbolic link, which has no mode.
  Result<void> change_link(const NamedNode& node, const AttributeChange& change);
  /// Changes mode, owner and times.
  Result<void> change(const NamedNode& node, const AttributeChange& change);

 private:
  Result<std::shared_ptr<StoredFile>> open_or_create(const std::string& path, int flags,
                                                     mode_t mode);

  ViewParts& parts_;
  Entries& entries_;
};

}  // namespace zarrfs
