// Removing files and directories. Thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "core/names/namespace.h"
#include "core/vfs/staged_files.h"

namespace zarrfs {

class Removal {
 public:
  Removal(ViewParts& parts, Namespace& names, Documents& documents, CallerRights& rights,
          StagedFiles& staged)
      : parts_(parts), names_(names), documents_(documents), rights_(rights), staged_(staged) {}

  /// False: there is no such name.
  Result<bool> remove_file(NodeId parent, std::string_view name);
  Result<bool> remove_directory(NodeId parent, std::string_view name);
  /// Removes the documents of nodes that programs have removed, and that the store still has.
  Result<void> delete_pending();

 private:
  Result<bool> remove_outside(const Directory& directory, const std::string& name);
  Result<bool> remove_chunk(const Directory& directory, const Name& target);
  Result<void> check_called_so(const Directory& directory);
  Result<bool> remove_document(const Directory& directory, const Name& target);
  Result<bool> remove_stored(const Directory& directory, const Name& target);
  Result<void> remove_node(const Directory& directory, const Name& target);
  /// Whether the chunk is one that a program left by removing it (Presentation::removed_element).
  bool is_left_by_removal(const NodeState& array, const Coordinates& chunk);
  /// Whether nothing is left to be seen in a directory.
  Result<bool> is_empty(const Directory& directory);
  void keep_directories(const Directory& directory);

  ViewParts& parts_;
  Namespace& names_;
  Documents& documents_;
  CallerRights& rights_;
  StagedFiles& staged_;
};

}  // namespace zarrfs
