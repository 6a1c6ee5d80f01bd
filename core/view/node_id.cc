#include "core/view/node_id.h"

#include "core/base/hash.h"

namespace zarrfs {

namespace {
constexpr std::uint64_t kRootInode = 1;

/// Below are the root's and those of temporary files.
constexpr std::uint64_t kFirstHashedInode = std::uint64_t{1} << 40U;

std::uint64_t usable_inode(std::uint64_t hash) {
  return hash < kFirstHashedInode ? hash + kFirstHashedInode : hash;
}
}  // namespace

std::uint64_t inode_of_temporary(std::uint64_t number) { return kRootInode + number; }

std::uint64_t inode_of_stored(std::uint64_t device, std::uint64_t inode) {
  return usable_inode(mix_numbers(device, inode));
}

std::uint64_t inode_of(std::string_view path) {
  if (path.empty()) return kRootInode;
  return usable_inode(digest_of(path));
}

std::uint64_t inode_of(std::string_view array_path, std::uint64_t offset) {
  return usable_inode(mix_numbers(digest_of(array_path), offset + 1));
}

}  // namespace zarrfs
