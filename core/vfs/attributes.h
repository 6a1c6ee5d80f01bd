// The attributes of nodes: stat, what chmod, chown, utimensat and truncate change, and extended
// attributes. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/vfs/opening.h"

namespace zarrfs {

class Attributes {
 public:
  Attributes(ViewParts& parts, Namespace& names, Documents& documents, Entries& entries,
             Inodes& inodes, const Statuses& statuses, CallerRights& rights, ControlFiles& control,
             PassThrough& pass_through, Opening& opening)
      : parts_(parts),
        names_(names),
        documents_(documents),
        entries_(entries),
        inodes_(inodes),
        statuses_(statuses),
        rights_(rights),
        control_(control),
        pass_through_(pass_through),
        opening_(opening) {}

  /// Which version of a chunk, document or other file the attributes may be of.
  enum class Version {
    kOfNode,  ///< The one that the node stands for.
    kByNow,   ///< See View::attributes_by_now.
  };

  Result<InodeEntry> get(NodeId node, Version version = Version::kOfNode);
  /// See View::change.
  Result<std::string> link_target(NodeId node);
  Result<InodeEntry> change(NodeId node, const AttributeChange& change, OpenFile* file);
  Result<std::vector<std::string>> extended_names(NodeId node);
  /// kNoData where there is none of that name.
  Result<std::string> extended(NodeId node, const std::string& name);

 private:
  Result<InodeEntry> get_chunk_by_now(NodeId id, const InodeTarget& target);
  Result<InodeEntry> get_named_by_now(NodeId id, const NamedNode& node);
  Result<InodeEntry> get_named(NodeId id, const NamedNode& node, const StatePtr& state);
  /// Gives the file that was opened for it, which is closed again.
  Result<std::shared_ptr<OpenFile>> truncate(NodeId node, std::uint64_t size);
  /// Changes what is stored as a file or directory that passes through; whether it is.
  Result<bool> change_stored(NodeId node, const AttributeChange& change, OpenFile* file);
  /// kForbidden where a program asks to take bits from what is presented: they are those of what
  /// is stored, which others than its readers here may count on.
  Result<void> check_mode_kept(NodeId node, const AttributeChange& change, OpenFile* file);

  ViewParts& parts_;
  Namespace& names_;
  Documents& documents_;
  Entries& entries_;
  Inodes& inodes_;
  const Statuses& statuses_;
  CallerRights& rights_;
  ControlFiles& control_;
  PassThrough& pass_through_;
  Opening& opening_;
};

}  // namespace zarrfs
