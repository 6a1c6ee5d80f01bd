// The numbers of directories, documents and pass-through files: given out when a node is first
// found, kept as long as the kernel knows the node (lookup counts), then forgotten. Chunks are not
// in here: see node_id.h. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/lock_order.h"
#include "core/view/view.h"

namespace zarrfs {

/// What a number of the table stands for.
struct NamedNode {
  enum class Kind : std::uint8_t {
    kDirectory,    ///< A directory of the store: group, array or neither.
    kDocument,     ///< A document that is rendered: `.zarray`, `zarr.json`, ...
    kPassThrough,  ///< Another file of the store.
    kLink,         ///< A symbolic link of the store that is shown as one.
    kBroken,       ///< A chunk that cannot be read; `version` is its number.
    kStaged,       ///< A file being written; `version` is its number.
    kOwnFolder,    ///< `.zarrfs`
    kReport,       ///< `.zarrfs/report.json`
    kStatistics,   ///< `.zarrfs/stats.json`
  };
  Kind kind = Kind::kDirectory;
  std::string path;  ///< From the root of the store.
  /// Of documents: another one for other contents. Of pass-through files: which file it is.
  std::uint64_t version = 0;
  /// A file is one node by all names that it has and gets, as programs lock it and append to it.
  [[nodiscard]] bool by_version() const {
    return kind == Kind::kPassThrough || kind == Kind::kStaged;
  }
  bool operator==(const NamedNode& other) const {
    return kind == other.kind && version == other.version && (by_version() || path == other.path);
  }
};

class InodeTable {
 public:
  /// The root is there from the start and stays.
  InodeTable();
  /// The number of `node`, which counts as one more lookup. A file that was found by another name
  /// before is called by this one from now on.
  NodeId look_up(const NamedNode& node);
  [[nodiscard]] std::optional<NamedNode> find(NodeId id) const;
  /// Counts one more lookup of a number; whether it is known.
  bool look_up_again(NodeId id);
  /// Returns the path of a directory that the kernel knows no longer because of that.
  std::optional<std::string> forget(NodeId id, std::uint64_t lookups);
  /// The next node like this is another one: to the kernel a removed directory is dead for good.
  void removed(const NamedNode& node);
  /// The `file` of the store becomes the document or chunk at `path`, and its number there may be
  /// another file's soon. The kernel may call what is at `path` by the node of the file for a
  /// while: that is of no version any more, and the next file like it is another node.
  void became(const NamedNode& file, const std::string& path);
  /// The directory or file at `from` is now at `to`, with all below it.
  void moved(const std::string& from, const std::string& to);
  [[nodiscard]] std::size_t size() const;
  /// About how many bytes the table takes.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Goes over the next `most` nodes, and returns those that nobody asked for since this came over
  /// them before: the kernel may still know them, but need not.
  std::vector<NodeId> unused(std::size_t most);

 private:
  struct Entry {
    NamedNode node;
    std::uint64_t lookups = 0;
    mutable bool used = true;  ///< Since unused() came over it.
  };
  using Nodes = std::unordered_map<NodeId, Entry>;
  using Place = const Nodes::value_type*;  ///< Stays where it is.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const NamedNode& node) const;
    std::size_t operator()(Place place) const { return (*this)(place->second.node); }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(Place one, Place other) const { return one->second.node == other->second.node; }
    bool operator()(Place one, const NamedNode& node) const { return one->second.node == node; }
    bool operator()(const NamedNode& node, Place one) const { return one->second.node == node; }
  };
  [[nodiscard]] bool is_known_directory(const std::string& path) const;

  mutable TableMutex mutex_;
  Nodes nodes_;
  std::unordered_set<Place, Hash, Same> called_;  ///< What programs may look up.
  NodeId next_ = kRootNode;
  std::uint64_t path_bytes_ = 0;
  std::size_t hand_ = 0;  ///< The bucket at which unused() goes on.
};

}  // namespace zarrfs
