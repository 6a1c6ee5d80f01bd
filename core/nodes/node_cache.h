// The nodes met so far, each with how it is shown. A node's document is looked at again at most
// once a second, and never where the store is immutable. Thread-safe. Its lock is not held across
// I/O.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/lock_order.h"
#include "core/nodes/node_state.h"
#include "core/nodes/view_shared.h"

namespace zarrfs {

ShownAs shown_as(ByteRule rule);

/// How long what was learnt of the store is taken for granted.
inline constexpr std::chrono::seconds kValidity{1};

class NodeCache {
 public:
  explicit NodeCache(ViewShared& shared) : shared_(shared) {}

  /// What stands at `path`, which is a directory or absent.
  Result<std::shared_ptr<const NodeState>> get(const std::string& path);
  /// The same. Where that cannot be told any more, what was known of it, with the reason in
  /// `unread`: names that programs have seen are there, and reading them is the error. To many
  /// programs a file that cannot be looked up is a missing one, and so the fill value.
  Result<std::shared_ptr<const NodeState>> get_or_known(const std::string& path);
  /// What was last known of `path`, without a look at the store; null where nothing was.
  std::shared_ptr<const NodeState> last_known(const std::string& path);
  /// Between the numbers in the names of chunks, as a new array at `path` is shown where its
  /// `.zarray` says nothing else.
  Result<char> separator_of_new(const std::string& path);
  /// What a number stood for in an earlier generation of an array, before its shape or attributes
  /// were changed through this mount; nothing where that is long ago.
  std::optional<ChunkOrPrefix> earlier_part(std::uint64_t generation, std::uint64_t offset);
  /// About how many bytes the nodes take that are kept.
  [[nodiscard]] std::uint64_t bytes();
  /// Forgets everything: documents were changed.
  void forget();
  /// The directory at `path` was moved away: what comes to its place is another one.
  void moved_away(const std::string& path);

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::shared_ptr<const NodeState> state;
    Clock::time_point loaded;
    Clock::time_point checked;
    std::list<std::string>::iterator use;
    std::uint64_t bytes = 0;
  };
  /// What an array's neighbours tell.
  struct Family {
    bool ome_image = false;
    LevelNames levels;                      ///< Of an image in a plate.
    std::set<std::string> image_levels;     ///< See image_levels_in().
    std::set<std::string> ambiguous_names;  ///< Dimension names that have several sizes.
  };

  std::shared_ptr<const NodeState> valid(const std::string& path);
  std::shared_ptr<const NodeState> stale(const std::string& path);
  bool was_shown(const std::string& path);
  Result<bool> unchanged(const NodeState& state);
  void keep(const std::shared_ptr<const NodeState>& state, std::uint64_t epoch);
  void touch(const std::string& path);
  void drop(const std::string& path) ZARRFS_REQUIRES(mutex_);

  Result<std::shared_ptr<const NodeState>> build(const std::string& path, Node node);
  Result<void> build_array(NodeState& state);
  Result<bool> netcdf_wrote(const std::string& path, const GroupMetadata* group);
  Result<bool> is_in_image(const std::string& path, const Node& node);
  void present(NodeState& state);
  Result<void> number(NodeState& state);
  Result<std::shared_ptr<const Family>> family_of(const std::string& group_path);
  Result<Family> load_family(const std::string& group_path);
  Result<LevelNames> levels_of(const std::string& group_path, const GroupMetadata& group);
  std::shared_ptr<const DimensionNames> dimensions();
  Result<ArrayCircumstances> circumstances_of(const NodeState& array);
  std::shared_ptr<const ArrayVersions> versions_of(const NodeState& state);
  [[nodiscard]] std::uint64_t moves_above(const std::string& path) const;
  void report(const NodeState& state);
  void report_group(const NodeState& state);
  [[nodiscard]] std::string reason_of(const NodeState& state) const;

  ViewShared& shared_;
  std::atomic<std::uint64_t> epoch_{0};  ///< Counts calls of forget().
  /// How often a directory whose path has this digest was moved away.
  std::array<std::atomic<std::uint64_t>, 1024> moves_{};
  RankedMutex<LockRank::kNodes> mutex_;
  std::unordered_map<std::string, Kept> entries_ ZARRFS_GUARDED_BY(mutex_);
  std::list<std::string> uses_ ZARRFS_GUARDED_BY(mutex_);  // most recent first
  std::uint64_t bytes_ ZARRFS_GUARDED_BY(mutex_) = 0;      // of the entries
  std::unordered_map<std::uint64_t, ChunkNames> names_ ZARRFS_GUARDED_BY(mutex_);  // by generation
  std::unordered_set<std::uint64_t> shown_arrays_ ZARRFS_GUARDED_BY(mutex_);  // digests of paths
  struct KeptFamily {
    std::shared_ptr<const Family> family;
    Clock::time_point loaded;
  };
  std::unordered_map<std::string, KeptFamily> families_ ZARRFS_GUARDED_BY(mutex_);
  std::shared_ptr<const DimensionNames> dimensions_ ZARRFS_GUARDED_BY(mutex_);
  Clock::time_point dimensions_until_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs
