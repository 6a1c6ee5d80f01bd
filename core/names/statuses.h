// What stat tells of each kind of node: sizes, times, owners, and on a mount for others the
// permissions of what is stored. Thread-safe.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/chunks/chunk_finder.h"
#include "core/nodes/node_state.h"
#include "core/nodes/stored_permissions.h"
#include "core/nodes/view_shared.h"

namespace zarrfs {

class Statuses {
 public:
  Statuses(const ViewShared& shared, const StoredPermissions& permissions)
      : shared_(shared), permissions_(permissions) {}

  [[nodiscard]] struct stat of_directory(const NodeState& directory) const;
  /// Of a directory of chunks.
  [[nodiscard]] struct stat of_prefix(const NodeState& array, std::uint64_t inode) const;
  [[nodiscard]] struct stat of_document(const NodeState& node, const std::string& path,
                                        const DocumentText& document) const;
  [[nodiscard]] struct stat of_chunk(const NodeState& array, const Coordinates& at,
                                     const ShownPlace& place, const ShownChunk& chunk) const;
  [[nodiscard]] struct stat of_link(struct stat status) const;
  [[nodiscard]] struct stat of_pass_through(struct stat status, const std::string& path) const;

  /// Of a directory or file that belongs to whom `like` does, with its times.
  [[nodiscard]] struct stat directory_status(const struct stat& like, std::uint64_t inode) const;
  [[nodiscard]] struct stat file_status(const struct stat& like, std::uint64_t inode,
                                        std::uint64_t size) const;
  void permit(struct stat& status, const Permissions& permissions) const;
  void permit_chunk(struct stat& status, const ArrayView& array, const Coordinates& chunk,
                    const ChunkBytes* draft) const;

 private:
  /// Gives what is shown the permissions of what is stored, on a mount for others: those of `path`,
  /// through the directories between `top` and it. Nobody's where they cannot be told.
  void permit(struct stat& status, const std::string& path, const std::string& top) const;
  Result<Permissions> chunk_permissions(const ArrayView& array, const Coordinates& chunk,
                                        const ChunkBytes* draft) const;
  void apply_owner(struct stat& status) const;
  /// Permission bits without those that the mount takes from everybody.
  [[nodiscard]] mode_t masked(mode_t bits) const;
  /// The permission bits to write of what is presented.
  [[nodiscard]] mode_t changeable() const;

  const ViewShared& shared_;
  const StoredPermissions& permissions_;
};

}  // namespace zarrfs
