#include "core/view/node_id.h"

#include <utility>

#include "core/base/hash.h"

namespace zarrfs {

namespace {
constexpr NodeId kLastNode = (NodeId{1} << 63U) - 1;
constexpr std::uint64_t kRootInode = 1;

/// Below are the root's and those of temporary files.
constexpr std::uint64_t kFirstHashedInode = std::uint64_t{1} << 40U;

std::uint64_t usable_inode(std::uint64_t hash) {
  return hash < kFirstHashedInode ? hash + kFirstHashedInode : hash;
}
}  // namespace

Result<NodeId> NodeNumbers::range_of(const std::string& array_path, std::uint64_t generation,
                                     std::uint64_t version, std::uint64_t span) {
  auto key = std::make_tuple(array_path, generation, version);
  const std::lock_guard lock(mutex_);
  if (const auto found = bases_.find(key); found != bases_.end()) return found->second;
  if (span > kLastNode - next_) {
    return fail(Fault::kUnsupported, "array " + array_path + ": no node numbers are left for " +
                                         std::to_string(span) + " chunks");
  }
  const NodeId base = next_;
  next_ += span;
  ranges_.emplace(base, Range{array_path, generation, version, span});
  bases_.emplace(std::move(key), base);
  return base;
}

std::optional<ComputedNode> NodeNumbers::find(NodeId node) const {
  const std::lock_guard lock(mutex_);
  auto after = ranges_.upper_bound(node);
  if (after == ranges_.begin()) return std::nullopt;
  const auto& [base, range] = *--after;
  if (node - base >= range.span) return std::nullopt;
  return ComputedNode{range.array_path, range.generation, range.version, node - base};
}

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
