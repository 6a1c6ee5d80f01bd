// The view of one store: joins nodes, chunks, documents and numbers to what view.h promises.
// Thread-safe. No lock is held across I/O.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/chunks/chunk_finder.h"
#include "core/chunks/chunk_writer.h"
#include "core/chunks/read_ahead.h"
#include "core/nodes/consolidation.h"
#include "core/nodes/metadata_editor.h"
#include "core/nodes/move_gate.h"
#include "core/nodes/node_cache.h"
#include "core/nodes/plain_writers.h"
#include "core/nodes/session_names.h"
#include "core/nodes/stored_permissions.h"
#include "core/nodes/survey.h"
#include "core/vfs/decoded_chunks.h"
#include "core/vfs/node_table.h"
#include "core/vfs/view.h"
#include "core/vfs/work_file.h"

namespace zarrfs {

using StatePtr = std::shared_ptr<const NodeState>;

class StoreView : public View {
 public:
  StoreView(std::shared_ptr<Store> store, const ViewOptions& options, Profile profile);
  ~StoreView() override;

  /// Why the source cannot be shown at all.
  Result<void> check_source();
  /// Takes up why the profile was chosen, and what notice() says.
  Result<void> explain(const ProfileChoice& choice, const Survey& survey);

  Result<std::optional<Found>> find(NodeId parent, std::string_view name) override;
  Result<Found> attributes(NodeId node) override;
  Result<std::shared_ptr<OpenFile>> open_file(NodeId node) override;
  Result<std::shared_ptr<OpenDirectory>> open_directory(NodeId node) override;
  void forget(NodeId node, std::uint64_t lookups) override;
  Result<std::vector<std::string>> attribute_names(NodeId node) override;
  Result<std::string> attribute(NodeId node, const std::string& name) override;
  Result<struct statvfs> space() override;
  std::string report() override;
  [[nodiscard]] std::string notice() const override { return notice_; }

  [[nodiscard]] bool writable() const override { return shared_.writes != nullptr; }
  Result<Created> create(NodeId parent, std::string_view name, int flags, mode_t mode) override;
  Result<std::shared_ptr<OpenFile>> open_for_writing(NodeId node, int flags) override;
  Result<Found> change(NodeId node, const AttributeChange& change, OpenFile* file) override;
  Result<Found> make_directory(NodeId parent, std::string_view name, mode_t mode) override;
  Result<bool> remove_file(NodeId parent, std::string_view name) override;
  Result<bool> remove_directory(NodeId parent, std::string_view name) override;
  Result<bool> rename(NodeId parent, std::string_view name, NodeId new_parent,
                      std::string_view new_name, bool replace) override;
  Result<Found> link(NodeId node, NodeId new_parent, std::string_view new_name) override;
  Result<void> sync(NodeId node) override;
  bool must_wait(NodeId parent, std::string_view name) override;
  Result<void> publish() override;
  Result<void> close() override;
  std::vector<Unpublished> unpublished() override;

  /// Begins writing; kBusy where another program writes to the store.
  Result<void> begin_writing();

  void set_front_statistics(std::function<std::string()> render_json_object) override;

 private:
  friend class ViewDirectory;
  friend class WorkHandle;

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
  /// What a directory is that was one of the store until an array was made around it.
  Result<Target> resolve_adopted(const NamedNode& directory);

  /// What lies where a node is being made is neither a plain file nor a part of it for a moment.
  NameMaking not_while_nodes_are_made();
  /// For who is going to write a document in the directory at `path`. Taken before the mutex of any
  /// work, which those who are waited for may hold.
  Result<NodeMaking> making_node(const std::string& path);
  /// The same where the name is a document's, instead of `making`; nothing where it is none.
  Result<NodeMaking> making_document(NodeId parent, std::string_view name, NameMaking& making);

  // Names -> what they name. Nothing where proven absent.
  Result<std::optional<Found>> find_now(NodeId parent, std::string_view name);
  Result<std::optional<Found>> find_in_directory(const StatePtr& state, const std::string& name);
  Result<std::optional<Found>> find_child(const StatePtr& state, const std::string& name);
  Result<std::optional<Found>> find_document(const StatePtr& state, const std::string& name);
  Result<std::optional<Found>> find_part(const StatePtr& state, const NamedPart& part);
  /// A chunk that cannot be read: it has a size, opening it works, and reading it is the error.
  Found broken_chunk(const NodeState& array, const NamedPart& part, std::optional<NodeId> id);
  Result<std::shared_ptr<OpenFile>> open_broken(const NamedNode& node);
  Found foreign_found(const std::string& path, const struct stat& status);
  [[nodiscard]] Found foreign(NodeId id, const struct stat& status, const std::string& path) const;
  /// The status of a file in a directory of chunks that was there before the array; nothing where
  /// there is none.
  Result<std::optional<struct stat>> stored_aside(const NodeState& array, const std::string& path);
  Result<std::optional<Found>> find_own(const NamedNode& parent, const std::string& name);

  // What is shown where.
  /// Whether a name of the store is kept out of sight: documents of the other version, stored
  /// objects, zarrfs's own files.
  [[nodiscard]] bool is_concealed(const NodeState& state, std::string_view name) const;
  /// Whether the view has documents of this name.
  [[nodiscard]] bool is_document(const std::string& name) const;
  /// Whether the document is one that a program would have to write where there is no view.
  static bool is_made_up(const NodeState& state, const std::string& name);
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
  [[nodiscard]] std::string own_text(const NamedNode& node);
  void apply_owner(struct stat& status) const;
  /// Permission bits without those that the mount takes from everybody.
  [[nodiscard]] mode_t masked(mode_t bits) const;
  /// Gives what is shown the permissions of what is stored, on a mount for others: those of `path`,
  /// through the directories between `top` and it. Nobody's where they cannot be told.
  void permit(struct stat& status, const std::string& path, const std::string& top) const;
  void permit(struct stat& status, const Permissions& permissions) const;
  void permit_chunk(struct stat& status, const ArrayView& array, const Coordinates& chunk,
                    const ChunkBytes* draft) const;
  Result<Permissions> chunk_permissions(const ArrayView& array, const Coordinates& chunk,
                                        const ChunkBytes* draft) const;
  /// Of a directory of chunks.
  [[nodiscard]] struct stat prefix_status(const NodeState& array, std::uint64_t inode) const;
  [[nodiscard]] struct stat document_status(const NodeState& node, const std::string& path,
                                            std::uint64_t size) const;
  /// The permission bits to write of what is presented.
  [[nodiscard]] mode_t changeable() const;
  [[nodiscard]] Found found(NodeId id, const struct stat& status) const;
  Result<NodeId> id_of(const NodeState& array, const NamedPart& part, std::uint64_t version);

  Result<Found> named_attributes(NodeId id, const NamedNode& node, const StatePtr& state);
  Result<ShownChunk> current_chunk(const Target& target);
  /// What is being written under the name of the chunk, or null.
  [[nodiscard]] WorkPointer work_of(const Target& target) const;
  Result<void> check_current(const Target& target);
  /// The same, where it is what the node stands for; kStale where it has taken the place of that.
  Result<WorkPointer> current_work(const Target& target);
  /// Opens what was found of a chunk: an error only where it is another one by now.
  Result<std::shared_ptr<OpenFile>> open_chunk(const Target& target, const ShownChunk& chunk);
  Result<std::shared_ptr<OpenFile>> open_named(NodeId id, const NamedNode& node,
                                               const StatePtr& state);
  [[nodiscard]] std::string statistics();

  // Writing: names (view_edit.cc).
  /// A directory as programs see it.
  struct Directory {
    StatePtr state;
    std::optional<Coordinates> prefix;  ///< Of a prefix directory.
    std::string path;                   ///< By which programs call it.
  };
  /// What a name in a directory is, or would be.
  struct Name {
    enum class Kind {
      kDocument,
      kChunk,
      kPrefix,   ///< A directory of chunks.
      kScratch,  ///< Another name in an array.
      kForeign,  ///< A file or directory of the store.
    };
    Kind kind = Kind::kForeign;
    std::string path;        ///< By which programs call it.
    std::string store_path;  ///< Of kForeign, and of kScratch that is in the store.
    NamedPart part;          ///< Of kChunk and kPrefix.
    mode_t mode = 0644;      ///< That a program asks for who makes it.
  };
  Result<void> check_writing() const;
  Result<void> check_deleting(const std::string& path) const;
  /// kDenied where who asks may not change what is stored at one of these paths.
  Result<void> check_caller(std::initializer_list<std::string> paths);
  /// The same of what the name is, or would be, stored in.
  Result<void> check_caller(const Directory& directory, const Name& name);
  Result<Directory> directory_of(NodeId node);
  /// kExists or kForbidden where no program may take the name.
  static bool lies_outside(const Directory& directory, const std::string& name);
  Result<Name> name_in(const Directory& directory, const std::string& name);
  Result<bool> exists(const Directory& directory, const Name& name);
  Result<bool> chunk_is_stored(const NodeState& array, const Coordinates& chunk);
  Result<bool> belongs_to_v2(const NodeState& state);
  /// A child of the directory after a change.
  Result<Found> found_again(NodeId parent, std::string_view name);
  // From a name to another one. `keep`: the first stays (link).
  Result<void> move_work(const WorkPointer& work, const Directory& directory, const Name& target,
                         bool keep, NodeMaking alone);
  Result<void> rename_work(const WorkPointer& work, const WorkPointer& replaced,
                           const Directory& directory, const Name& target);
  Result<void> remove_written_out(Work& work);
  Result<Found> link_stored(const NamedNode& from, const Name& target);
  Result<void> move_stored(const std::string& from, const Directory& directory, const Name& target,
                           bool keep, NodeMaking alone);
  Result<void> move_directory(const std::string& from, const Directory& directory,
                              const Name& target);
  /// Makes `bytes`, written at `modified`, the chunk or document `target`.
  Result<void> take_bytes(const Directory& directory, const Name& target, ByteView bytes,
                          const struct timespec& modified, NodeMaking alone);
  /// Locks the file that is being written under `key`, if any, and keeps `with` locked too: the
  /// caller puts something else in its place.
  using WorkLock = std::unique_lock<WorkMutex>;
  struct Displaced {
    WorkPointer work;
    WorkLock lock;
  };
  Displaced displaced(const std::string& key, WorkLock& with);
  /// What is being written under a name that was taken from it is nobody's any more. The caller
  /// holds its mutex.
  void unlink_work(const WorkPointer& work);
  void detach(const std::string& key);
  /// Under which `name` is among the works.
  static std::string work_key(const Directory& directory, const Name& name);
  Result<void> remove_shown_document(const Directory& directory, const std::string& name);
  /// Whether nothing is left to be seen in a directory.
  Result<bool> is_empty(const StatePtr& state, const std::optional<Coordinates>& prefix);
  /// Gives the file that was opened for it, which is closed again.
  Result<std::shared_ptr<OpenFile>> truncate(NodeId node, std::uint64_t size);
  /// kForbidden where a program asks to take bits from what is presented: they are those of what
  /// is stored, which others than its readers here may count on.
  Result<void> check_mode_kept(NodeId node, const AttributeChange& change, OpenFile* file);
  Result<Found> change_stored(NodeId node, const NamedNode& stored, const AttributeChange& change);

  // Writing: opened files (view_work.cc).
  /// `node`: by which it is opened; the root where it has none yet.
  Result<std::shared_ptr<OpenFile>> open_work(const Directory& directory, const Name& name,
                                              NodeId node, int flags, WorkPointer* made);
  /// The file that the node was given out for and no other, whatever its name is by now; kStale
  /// once nobody is writing it.
  Result<std::shared_ptr<OpenFile>> reopen_work(const NamedNode& named, NodeId node, int flags);
  /// Whether who asks may open it for writing.
  Result<void> check_opening(const Directory& directory, const Name& name, int flags);
  /// The caller holds the work's mutex.
  Result<std::shared_ptr<OpenFile>> one_more_writer(const WorkPointer& work, NodeId node,
                                                    int flags);
  Result<WorkPointer> make_work(const Directory& directory, const Name& name, int flags);
  Result<Permissions> permissions_of_work(const Work& work, const NodeState& state,
                                          const Name& name) const;
  [[nodiscard]] std::function<Found(const struct stat&)> shown_as_foreign(
      const std::string& path) const;
  Result<std::shared_ptr<OpenFile>> open_stored(const std::string& path, int flags, mode_t mode);
  Result<void> load(Work& work, const Directory& directory, const Name& name);
  /// `id`: the node by which it was reached; a number of its own where there is none (which counts
  /// one lookup).
  Found work_found(const WorkPointer& work, std::optional<NodeId> id);
  /// Gives what was written on to where it belongs. The caller holds the work's mutex.
  Result<void> hand_on(Work& work, NodeMaking alone);
  Result<void> sync_work(Work& work, NodeMaking alone);
  /// What hand_on asks for.
  Result<NodeMaking> making_node_of(Work& work);
  void closed(const WorkPointer& work);
  Result<void> write_out(Work& work);
  Result<void> write_out_idle(std::chrono::milliseconds idle);
  Result<void> remove_condemned();
  /// Puts a file into the store, complete or not at all, in place of one of its name.
  Result<void> write_file(
      const std::string& path, std::uint64_t size,
      const std::function<Result<Bytes>(std::uint64_t at, std::uint64_t most)>& read);
  void keep_directories(const Directory& directory);
  /// Names of directories of chunks, in the array or its directory `prefix`, that hold no chunk
  /// yet.
  [[nodiscard]] std::vector<std::string> made_in(const NodeState& array,
                                                 const std::optional<Coordinates>& prefix);

  /// As reported(), but for an error that only says to come again for this name.
  template <class T>
  Result<T> reported_unless_waiting(Result<T> result, NodeId parent, std::string_view name) {
    const bool busy = !result && result.error().fault == Fault::kBusy;
    return busy && must_wait(parent, name) ? result : reported(std::move(result));
  }
  template <class T>
  Result<T> reported(Result<T> result) {
    if (!result && is_worth_reporting(result.error().fault)) shared_.reporter.fault(result.error());
    return result;
  }

  ViewShared shared_;
  StoredPermissions permissions_;
  std::shared_ptr<DecodedChunks> decoded_;
  NodeCache nodes_;
  NodeTable table_;
  ChunkFinder chunks_;
  Consolidation consolidation_;
  ReadAhead read_ahead_;
  std::string notice_;

  // Writing:
  WorkFiles works_;
  SessionNames session_;
  PlainWriters plain_writers_;
  MoveGate move_gate_;
  ChunkWriter chunk_writer_;
  MetadataEditor editor_;

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
inline constexpr const char* kStoredDocument = "zarr.json";
inline constexpr const char* kReportName = "report.json";
inline constexpr const char* kStatisticsName = "stats.json";

}  // namespace zarrfs
