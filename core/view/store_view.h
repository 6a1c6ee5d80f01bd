// The view of one store: joins nodes, chunks, documents and numbers to what view.h promises.
// Thread-safe. No lock is held across I/O.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/view/chunk_finder.h"
#include "core/view/consolidation.h"
#include "core/view/node_cache.h"
#include "core/view/node_table.h"
#include "core/view/read_ahead.h"
#include "core/view/view.h"

namespace zarrfs {

using StatePtr = std::shared_ptr<const NodeState>;

class StoreView : public View {
 public:
  StoreView(std::shared_ptr<Store> store, const ViewOptions& options, Profile profile);

  /// Why the source cannot be shown at all.
  Result<void> check_source();

  Result<std::optional<Found>> find(NodeId parent, std::string_view name) override;
  Result<Found> attributes(NodeId node) override;
  Result<std::shared_ptr<OpenFile>> open_file(NodeId node) override;
  Result<std::shared_ptr<OpenDirectory>> open_directory(NodeId node) override;
  void forget(NodeId node, std::uint64_t lookups) override;
  Result<std::vector<std::string>> attribute_names(NodeId node) override;
  Result<std::string> attribute(NodeId node, const std::string& name) override;
  Result<struct statvfs> space() override;
  std::string report() override;
  void set_front_statistics(std::function<std::string()> render_json_object) override;

 private:
  friend class ViewDirectory;

  /// What a number leads to. `state` is the array of a part, or the directory a named node is or
  /// lies in.
  struct Target {
    std::optional<NamedNode> named;
    NamedPart part;             ///< Where not `named`.
    std::uint64_t version = 0;  ///< Of the part.
    StatePtr state;
  };
  Result<Target> resolve(NodeId node);
  Result<Target> resolve_part(NodeId node);

  // Names -> what they name. Nothing where proven absent.
  Result<std::optional<Found>> find_in_directory(const StatePtr& state, const std::string& name);
  Result<std::optional<Found>> find_child(const StatePtr& state, const std::string& name);
  Result<std::optional<Found>> find_document(const StatePtr& state, const std::string& name);
  Result<std::optional<Found>> find_part(const StatePtr& state, const NamedPart& part);
  Result<std::optional<Found>> find_own(const NamedNode& parent, const std::string& name);

  // What is shown where.
  /// Whether a name of the store is kept out of sight: documents of the other version, stored
  /// objects, zarrfs's own files.
  [[nodiscard]] bool is_concealed(const NodeState& state, std::string_view name) const;
  /// Names of the documents in the directory, in the order of listings.
  [[nodiscard]] std::vector<std::string> document_names(const NodeState& state) const;
  /// The text of a document; null where the directory has none of that name.
  Result<std::shared_ptr<const Bytes>> document_text(const NodeState& state,
                                                     const std::string& name);
  /// A directory of the store, or null where there is none or it is hidden.
  Result<StatePtr> shown_directory(const std::string& path, const NodeState* parent);

  // Attributes.
  [[nodiscard]] struct stat directory_status(const struct stat& like, std::uint64_t inode) const;
  [[nodiscard]] struct stat file_status(const struct stat& like, std::uint64_t inode,
                                        std::uint64_t size) const;
  [[nodiscard]] struct stat status_of(const NodeState& directory) const;
  [[nodiscard]] struct stat foreign_status(struct stat status, const std::string& path) const;
  [[nodiscard]] struct stat chunk_status(const NodeState& array, const NamedPart& part,
                                         const ShownChunk& chunk) const;
  [[nodiscard]] struct stat own_status(const NamedNode& node);
  void apply_owner(struct stat& status) const;
  [[nodiscard]] Found found(NodeId id, const struct stat& status) const;
  Result<NodeId> id_of(const NodeState& array, const NamedPart& part, std::uint64_t version);

  Result<Found> named_attributes(NodeId id, const NamedNode& node, const StatePtr& state);
  Result<ShownChunk> current_chunk(const Target& target);
  Result<std::shared_ptr<OpenFile>> open_named(const NamedNode& node, const StatePtr& state);
  [[nodiscard]] std::string statistics();

  template <class T>
  Result<T> reported(Result<T> result) {
    if (!result && result.error().fault != Fault::kStale &&
        result.error().fault != Fault::kNoData) {
      shared_.reporter.fault(result.error());
    }
    return result;
  }

  ViewShared shared_;
  NodeCache nodes_;
  NodeTable table_;
  ChunkFinder chunks_;
  Consolidation consolidation_;
  ReadAhead read_ahead_;
  std::mutex front_mutex_;
  std::function<std::string()> front_statistics_;
  struct timespec started_ {};
};

/// The last component of a path.
std::string base_name(const std::string& path);
std::string_view as_text(const Bytes& bytes);
/// The version of a foreign file: another one once another file has taken its name.
std::uint64_t file_version(const struct stat& status);

/// Names in the root that show zarrfs's own state. Stored names that begin so are never shown.
inline constexpr const char* kOwnFolder = ".zarrfs";
inline constexpr const char* kReportName = "report.json";
inline constexpr const char* kStatisticsName = "stats.json";

}  // namespace zarrfs
