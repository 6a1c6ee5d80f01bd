// The nodes met so far, each with how it is shown. A node's document is looked at again at most
// once a second, and never where the store is immutable. Thread-safe. No lock is held across I/O.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "core/view/node_state.h"
#include "core/view/profile.h"
#include "core/view/reporter.h"
#include "core/view/view_options.h"
#include "core/write/write_buffer.h"

namespace zarrfs {

/// The `.zarray` documents that programs wrote through this mount, in their own words: TensorStore
/// changes an array only where it finds exactly what it wrote. Thread-safe; bounded.
class Spellings {
 public:
  void set(const std::string& path, Json document);
  /// The directory at `from` is now at `to`, with all below it.
  void moved(const std::string& from, const std::string& to);
  /// The program's words for `document` where they say the same, with its shape; else `document`.
  [[nodiscard]] Json spell(const std::string& path, Json document) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Json> documents_;
};

/// What the parts of a view share.
struct ViewShared {
  std::shared_ptr<Store> store;
  ViewOptions options;
  Profile profile;
  Reporter reporter;
  NodeNumbers numbers;
  std::shared_ptr<CellListings> listings;
  std::shared_ptr<IndexCache> indexes;
  std::shared_ptr<ReadCounters> counters;
  Spellings spellings;
  std::shared_ptr<WriteBuffer> writes;  ///< Null where the view only reads.

  ViewShared(std::shared_ptr<Store> shown, const ViewOptions& chosen, Profile row);
};

ShownAs shown_as(ByteRule rule);

/// How long what was learnt of the store is taken for granted.
inline constexpr std::chrono::seconds kValidity{1};

class NodeCache {
 public:
  explicit NodeCache(ViewShared& shared) : shared_(shared) {}

  /// What stands at `path`, which is a directory or absent.
  Result<std::shared_ptr<const NodeState>> get(const std::string& path);
  /// What was last known of `path`, without a look at the store; null where nothing was.
  std::shared_ptr<const NodeState> last_known(const std::string& path);
  /// What a number stood for in an earlier generation of an array, before its shape or attributes
  /// were changed through this mount; nothing where that is long ago.
  std::optional<NamedPart> earlier_part(std::uint64_t generation, std::uint64_t offset);
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
  };
  /// What an array's neighbours tell.
  struct Family {
    bool ome_image = false;
    std::set<std::string> ambiguous_names;  ///< Dimension names that have several sizes.
  };

  std::shared_ptr<const NodeState> valid(const std::string& path);
  std::shared_ptr<const NodeState> stale(const std::string& path);
  Result<bool> unchanged(const NodeState& state);
  void keep(const std::shared_ptr<const NodeState>& state);
  void touch(const std::string& path);

  Result<std::shared_ptr<const NodeState>> build(const std::string& path, Node node);
  Result<void> build_array(NodeState& state);
  void present(NodeState& state);
  Result<void> number(NodeState& state);
  Result<std::shared_ptr<const Family>> family_of(const std::string& group_path);
  Result<Family> load_family(const std::string& group_path);
  std::shared_ptr<ShardVersions> versions_of(const NodeState& state);
  void report(const NodeState& state);

  ViewShared& shared_;
  std::atomic<std::uint64_t> epoch_{0};  ///< Counts calls of forget().
  std::mutex mutex_;
  std::unordered_map<std::string, Kept> entries_;
  std::list<std::string> uses_;  // most recent first
  struct KeptVersions {
    std::uint64_t generation = 0;
    std::shared_ptr<ShardVersions> versions;
  };
  std::unordered_map<std::string, KeptVersions> versions_;
  std::unordered_map<std::uint64_t, ChunkNames> names_;  // by generation
  struct KeptFamily {
    std::shared_ptr<const Family> family;
    Clock::time_point loaded;
  };
  std::unordered_map<std::string, KeptFamily> families_;
};

}  // namespace zarrfs
