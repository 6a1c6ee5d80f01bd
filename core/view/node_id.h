// How the kernel names nodes, and the inode numbers that programs see.
//
// Inode numbers are hashes of paths: the same in each mount, and kept nowhere. Only temporary files
// have numbers of their own. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace zarrfs {

/// The number by which the kernel names a node. Not the inode number: it also carries the version
/// of the shard's file, so that pages of two versions never mix. The root is 1.
using NodeId = std::uint64_t;
inline constexpr NodeId kRootNode = 1;

/// Numbers below are those of the node table.
inline constexpr NodeId kFirstChunkNode = NodeId{1} << 40U;

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
