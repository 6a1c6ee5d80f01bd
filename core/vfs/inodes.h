// From the number by which the kernel calls a node to what it stands for now. kStale where that is
// something else by now: the kernel then looks the name up again. Thread-safe.
#pragma once

#include <optional>

#include "core/vfs/name.h"
#include "core/vfs/view_parts.h"

namespace zarrfs {

/// What a number leads to. `state` is the array of a part, or the directory a named node is or
/// lies in.
struct InodeTarget {
  std::optional<NamedNode> named;
  NamedPart part;             ///< Where not `named`.
  std::uint64_t version = 0;  ///< Of the part.
  StatePtr state;
};

class Inodes {
 public:
  explicit Inodes(ViewParts& parts) : parts_(parts) {}

  Result<InodeTarget> resolve(NodeId node);
  /// The chunk, where it still is what the node was given out for.
  Result<ShownChunk> current_chunk(const InodeTarget& target);
  /// The target with the version that its chunk has now; nothing where there is none.
  Result<std::optional<InodeTarget>> renewed(InodeTarget target);
  Result<void> check_current(const InodeTarget& target);
  /// What is being written under the name of the chunk, or null; kStale where it has taken the
  /// place of what the node stands for.
  Result<StagedPointer> current_staged(const InodeTarget& target);
  /// What is being written under the name of the chunk, or null.
  [[nodiscard]] StagedPointer staged_of(const InodeTarget& target) const;
  /// The chunk that has the name by which the node was given out, whatever stands there now; kStale
  /// where no chunk can.
  Result<InodeTarget> chunk_of(NodeId node);

 private:
  Result<InodeTarget> resolve_part(NodeId node);
  /// The chunk, or directory of chunks, that programs call so; kStale where it is none.
  Result<InodeTarget> part_at(const std::string& called);
  /// What a directory is that was one of the store until an array was made around it.
  Result<InodeTarget> resolve_adopted(const NamedNode& directory);

  ViewParts& parts_;
};

}  // namespace zarrfs
