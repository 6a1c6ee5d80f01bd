// Node numbers of chunks and of the directories that chunk keys with '/' make: computed, not
// stored.
//
// Every version of an array's chunks owns a contiguous range of numbers; ranges are handed out
// upwards from kFirstChunkNode. A range belongs to (array path, generation, version):
// the generation stands for the array's metadata and how it is shown, the version for the state of
// a shard's file. So two versions of a chunk never share a number, and forgetting costs nothing.
//
// Inode numbers are hashes of paths: the same in each mount, and kept nowhere. Only temporary files
// have numbers of their own.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/base/lock_order.h"
#include "core/base/result.h"

namespace zarrfs {

/// The number by which the kernel names a node. Not the inode number: it also carries the version
/// of the shard's file, so that pages of two versions never mix. The root is 1.
using NodeId = std::uint64_t;
inline constexpr NodeId kRootNode = 1;

/// Numbers below are those of the node table.
inline constexpr NodeId kFirstChunkNode = NodeId{1} << 40U;

/// What a computed number stands for: the `offset`-th node of a range.
struct ComputedNode {
  std::string array_path;
  std::uint64_t generation = 0;
  std::uint64_t version = 0;
  std::uint64_t offset = 0;
};

class NodeNumbers {
 public:
  /// The first number of the range of `span` nodes that belongs to these three. kUnsupported where
  /// 2^63 numbers are used up.
  Result<NodeId> range_of(const std::string& array_path, std::uint64_t generation,
                          std::uint64_t version, std::uint64_t span);
  [[nodiscard]] std::optional<ComputedNode> find(NodeId node) const;

 private:
  struct Range {
    std::string array_path;
    std::uint64_t generation = 0;
    std::uint64_t version = 0;
    std::uint64_t span = 0;
  };
  mutable TableMutex mutex_;
  std::map<NodeId, Range> ranges_;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, NodeId> bases_;
  NodeId next_ = kFirstChunkNode;
};

/// The inode number of the `number`-th temporary file of this mount (from 1), which no other file
/// ever has: lock protocols tell by it that a name leads to another file by now.
std::uint64_t inode_of_temporary(std::uint64_t number);
/// The inode number of a file of the store that passes through: by whatever name, as long as it is
/// the same file.
std::uint64_t inode_of_stored(std::uint64_t device, std::uint64_t inode);
/// The inode number of what is shown at `path`: 1 for the root, never that of a temporary file.
std::uint64_t inode_of(std::string_view path);
/// The inode number of the `offset`-th computed node of the array at `array_path`.
std::uint64_t inode_of(std::string_view array_path, std::uint64_t offset);

}  // namespace zarrfs
