// Making files and directories. Thread-safe.
#pragma once

#include <string_view>

#include "core/names/namespace.h"
#include "core/vfs/pass_through.h"
#include "core/vfs/staged_files.h"
#include "core/view/view.h"

namespace zarrfs {

class Creation {
 public:
  Creation(ViewParts& parts, Namespace& names, CallerRights& rights, StagedFiles& staged,
           PassThrough& pass_through, Entries& entries)
      : parts_(parts),
        names_(names),
        rights_(rights),
        staged_(staged),
        pass_through_(pass_through),
        entries_(entries) {}

  Result<Created> create(NodeId parent, std::string_view name, int flags, mode_t mode);
  Result<InodeEntry> make_directory(NodeId parent, std::string_view name, mode_t mode);
  Result<InodeEntry> make_link(NodeId parent, std::string_view name, const std::string& target);

 private:
  Result<Created> try_create(NodeId parent, std::string_view name, int flags, mode_t mode);
  Result<Created> create_early(NodeId parent, const Directory& directory, const std::string& name,
                               int flags, mode_t mode);

  ViewParts& parts_;
  Namespace& names_;
  CallerRights& rights_;
  StagedFiles& staged_;
  PassThrough& pass_through_;
  Entries& entries_;
};

}  // namespace zarrfs
