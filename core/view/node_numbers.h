// Node numbers of chunks and of the directories that chunk keys with '/' make: computed, not
// stored.
//
// An array as it is shown (its path and generation) owns a range of numbers: for each of 2^b *tags*
// as many as it has nodes. The tag is what fits of a version, which is a digest of the shard's file
// or a count of own writes (core/chunks/shard_versions): so two versions of a chunk have different
// numbers, and nothing is kept of shards that were looked at. (Of two versions in 2^b the tags are
// the same: then their times differ, and the kernel drops the pages by these.)
//
// The kernel knows nodes of an array only while it knows the array's directory. When it has
// forgotten that, the ranges are free again; so there are as many as there are such directories.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/view/node_id.h"

namespace zarrfs {

/// The numbers of an array as it is shown.
class NodeRange {
 public:
  NodeRange(std::string array_path, std::uint64_t generation, NodeId first, std::uint64_t span,
            unsigned tag_bits)
      : array_path_(std::move(array_path)),
        generation_(generation),
        first_(first),
        span_(span),
        tag_bits_(tag_bits) {}

  /// Of the `offset`-th node in this version.
  [[nodiscard]] NodeId node(std::uint64_t version, std::uint64_t offset) const {
    return first_ + tag_of(version) * span_ + offset;
  }
  /// What numbers tell of a version.
  [[nodiscard]] std::uint64_t tag_of(std::uint64_t version) const {
    return version & ((std::uint64_t{1} << tag_bits_) - 1);
  }
  [[nodiscard]] const std::string& array_path() const { return array_path_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] NodeId first() const { return first_; }
  [[nodiscard]] NodeId end() const { return first_ + (span_ << tag_bits_); }
  [[nodiscard]] std::uint64_t span() const { return span_; }

 private:
  friend class NodeNumbers;
  const std::string array_path_;
  const std::uint64_t generation_;
  const NodeId first_;
  const std::uint64_t span_;
  const unsigned tag_bits_;
  mutable std::atomic<bool> given_{false};  ///< The kernel may know nodes of it.
};

/// What a computed number stands for: the `offset`-th node of a range.
struct ComputedNode {
  std::string array_path;
  std::uint64_t generation = 0;
  std::uint64_t tag = 0;  ///< Of its version.
  std::uint64_t offset = 0;
};

class NodeNumbers {
 public:
  using Range = std::shared_ptr<const NodeRange>;
  /// Generations of an array that are known at a time; nodes of earlier ones are stale.
  static constexpr std::size_t kMostGenerations = 64;

  /// The numbers of `span` nodes of the array in this generation, for several versions where
  /// `versions`. kUnsupported where 2^63 numbers are used up.
  Result<Range> range_of(const std::string& array_path, std::uint64_t generation,
                         std::uint64_t span, bool versions);
  /// A number of the range is about to be told to the kernel, which knows the array's directory.
  static void give(const NodeRange& range) { range.given_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] std::optional<ComputedNode> find(NodeId node) const;
  /// The kernel knows the directory at `path` no longer, nor anything in it.
  void forgotten(const std::string& path);
  /// What the kernel knows as the directory at `from`, with all below it, is now at `to`.
  void moved(const std::string& from, const std::string& to);
  [[nodiscard]] std::size_t size() const;
  /// About how many bytes that takes.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  /// Numbers from the first to before the second.
  using Numbers = std::pair<NodeId, NodeId>;
  /// What the kernel may know of a directory.
  struct Home {
    std::deque<Range> ranges;      ///< The newest one last.
    std::deque<Numbers> outdated;  ///< Of earlier generations.
  };

  Result<Range> make(const std::string& array_path, std::uint64_t generation, std::uint64_t span,
                     bool versions);
  void free_numbers(Numbers numbers);
  void outdate(Home& home);
  void release(Home& home);
  void sweep();

  static constexpr NodeId kEnd = NodeId{1} << 63U;
  mutable TableMutex mutex_;
  std::map<NodeId, Range> ranges_;                          ///< By first number; guarded by mutex_.
  std::unordered_map<std::string, Home> homes_;             ///< By directory; guarded by mutex_.
  std::map<NodeId, NodeId> free_{{kFirstChunkNode, kEnd}};  ///< Numbers; guarded by mutex_.
  std::size_t sweep_at_ = 1024;  ///< Ranges from which on unused ones go; guarded by mutex_.
};

}  // namespace zarrfs
