// From one name to another: rename and link of what is being written, of what is stored, and of
// directories. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/names/namespace.h"
#include "core/vfs/pass_through.h"
#include "core/vfs/staged_files.h"

namespace zarrfs {

class Moves {
 public:
  Moves(ViewParts& parts, Namespace& names, Inodes& inodes, CallerRights& rights,
        StagedFiles& staged, PassThrough& pass_through)
      : parts_(parts),
        names_(names),
        inodes_(inodes),
        rights_(rights),
        staged_(staged),
        pass_through_(pass_through) {}

  /// False: there is no such name.
  Result<bool> rename(NodeId parent, std::string_view name, NodeId new_parent,
                      std::string_view new_name, bool replace);
  Result<InodeEntry> link(NodeId node, NodeId new_parent, std::string_view new_name);

 private:
  /// What making the name asks for where it is a document's, instead of `creation`.
  Result<ExclusiveCreation> exclusive_for_document(NodeId parent, std::string_view name,
                                                   SharedCreation& creation);
  // `keep`: the first name stays (link).
  Result<void> move_staged(const StagedPointer& file, const Directory& directory,
                           const Name& target, bool keep, ExclusiveCreation alone);
  Result<void> rename_staged(const StagedPointer& file, const StagedPointer& replaced,
                             const Directory& directory, const Name& target);
  Result<void> move_stored(const std::string& from, const Directory& directory, const Name& target,
                           bool keep, ExclusiveCreation alone);
  struct Way {
    NodeId parent = 0;
    std::string_view name;
    NodeId new_parent = 0;
    std::string_view new_name;
  };
  /// Nothing where one of the two directories has another path than when they were found.
  Result<std::optional<bool>> move_directory(const Way& way, const Name& source,
                                             const Directory& directory, const Name& target);
  /// Whether `way` still leads from `source` to `target`. The caller holds the move gate.
  Result<bool> leads(const Way& way, const Name& source, const Name& target);
  /// Makes `bytes`, written at `modified`, the chunk or document `target`.
  Result<void> take_bytes(const Directory& directory, const Name& target, ByteView bytes,
                          const struct timespec& modified, ExclusiveCreation alone);

  ViewParts& parts_;
  Namespace& names_;
  Inodes& inodes_;
  CallerRights& rights_;
  StagedFiles& staged_;
  PassThrough& pass_through_;
};

}  // namespace zarrfs
