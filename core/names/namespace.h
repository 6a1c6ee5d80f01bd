// Names in directories. `resolve` holds the one rule which of all that could have a name wins;
// lookups, changes and listings follow it. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/names/caller_rights.h"
#include "core/names/control_files.h"
#include "core/names/documents.h"
#include "core/names/entries.h"
#include "core/names/inodes.h"
#include "core/names/name.h"
#include "core/store/store_links.h"

namespace zarrfs {

class Namespace {
 public:
  Namespace(ViewParts& parts, Documents& documents, Entries& entries, Inodes& inodes,
            ControlFiles& control, CallerRights& rights, const Statuses& statuses)
      : parts_(parts),
        documents_(documents),
        entries_(entries),
        inodes_(inodes),
        control_(control),
        rights_(rights),
        statuses_(statuses) {}

  /// What `name` stands for in the directory, whether or not something is there. Asks nobody.
  [[nodiscard]] ResolvedName resolve(const Directory& directory, const std::string& name) const;

  /// Whether chunks outside the array are kept here until it has grown to them. Asks nobody.
  [[nodiscard]] bool keeps_early_chunks(const Directory& directory) const;
  /// Whether this name is one of such a chunk.
  [[nodiscard]] bool keeps_early(const Directory& directory, const std::string& name) const;
  /// The status of a file of the array which is parked_path(); nothing where there is none.
  Result<std::optional<struct stat>> parked_status(const NodeState& array, const std::string& path);
  /// What is there; nothing where that is proven absent. Tells what opening needs of it in
  /// `content`, if that is not null.
  Result<std::optional<InodeEntry>> find(NodeId parent, std::string_view name,
                                         FoundContent* content = nullptr);
  /// The same, without `.zarrfs`. The caller holds a SharedCreation or ExclusiveCreation.
  Result<std::optional<InodeEntry>> find_now(NodeId parent, std::string_view name,
                                             FoundContent* content = nullptr);
  /// A child of the directory after a change.
  Result<InodeEntry> found_again(NodeId parent, std::string_view name);

  /// What is there in the directory by this name. The caller holds a SharedCreation.
  Result<std::optional<InodeEntry>> find_in(const Directory& directory, const std::string& name,
                                            FoundContent* content = nullptr);

  /// The directory that a program changes.
  Result<Directory> directory_of(NodeId node);
  /// The name that a program makes, changes or removes; an error where it may take no such name.
  Result<Name> claim(const Directory& directory, const std::string& name);
  Result<bool> exists(const Directory& directory, const Name& name);
  Result<bool> chunk_is_stored(const NodeState& array, const Coordinates& chunk);

  /// Whether a file of the store, or one that is being written, is in sight by this name.
  [[nodiscard]] bool shows_stored(const Directory& directory, const std::string& name) const;
  /// Whether a link of this name in the directory may be shown as one: where there is no document
  /// of Zarr's, and by its name it is no chunk, which must not look absent where it leads nowhere.
  Result<bool> may_show_link(const NodeState& directory, const std::string& name);
  /// The link that is shown as one at `path`, in the directory of this state.
  Result<std::optional<Link>> shown_link(const NodeState& directory, const std::string& path);
  /// Of a link that is shown as one its own, else that of what is found at `path`.
  Result<std::optional<struct stat>> stored_status(const NodeState& directory,
                                                   const std::string& path, NameKind kind);
  Result<std::optional<struct stat>> status_of(const std::string& path, NameKind kind);
  /// A directory of the store, or null where there is none or it is hidden.
  Result<StatePtr> shown_directory(const std::string& path, const NodeState* parent);

 private:
  /// Whether a name of the store is kept out of sight: documents of the other version, stored
  /// objects, zarrfs's own files.
  [[nodiscard]] bool is_concealed(const NodeState& state, std::string_view name) const;
  Result<std::optional<InodeEntry>> find_document(const NodeState& state, const std::string& name,
                                                  FoundContent* content);
  [[nodiscard]] bool was_node(const std::string& path) const;
  Result<std::optional<InodeEntry>> find_known(const Directory& directory, const std::string& name,
                                               const ResolvedName& resolved);
  Result<std::optional<InodeEntry>> find_known_directory(const NodeState& parent,
                                                         const std::string& name,
                                                         const Error& error);
  Result<std::optional<InodeEntry>> find_prefix(const Directory& directory,
                                                const ChunkOrPrefix& part);
  Result<std::optional<InodeEntry>> find_chunk(const StatePtr& state, ChunkOrPrefix part,
                                               FoundContent* content);
  std::optional<NodeId> node_of_written(StagedFile& file, const NodeState& array,
                                        std::optional<NodeId> now) const;
  Result<std::optional<InodeEntry>> find_stored(const Directory& directory, const std::string& name,
                                                NameKind kind);
  Result<std::optional<InodeEntry>> find_early(const Directory& directory, const std::string& name);
  Result<bool> belongs_to_v2(const NodeState& state);

  ViewParts& parts_;
  Documents& documents_;
  Entries& entries_;
  Inodes& inodes_;
  ControlFiles& control_;
  CallerRights& rights_;
  const Statuses& statuses_;
};

}  // namespace zarrfs
