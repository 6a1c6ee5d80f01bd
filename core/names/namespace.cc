#include "core/names/namespace.h"

#include <utility>

#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/chunks/chunk_lister.h"
#include "core/log/successor.h"
#include "core/names/refusals.h"
#include "core/nodes/orphan_chunks.h"
#include "core/store/conditional_writer.h"

namespace zarrfs {

ResolvedName Namespace::resolve(const Directory& directory, const std::string& name) const {
  const NodeState& state = *directory.state;
  if (!directory.prefix) {
    if (state.path.empty() && name == kOwnFolder) return {NameKind::kControl, {}};
    if (documents_.is_document(name)) return {NameKind::kDocument, {}};
  }
  const bool array = state.kind == NodeState::Kind::kArray;
  if (array) {
    auto part = directory.prefix ? state.shown.names.in_prefix(*directory.prefix, name)
                                 : state.shown.names.in_array(name);
    if (part) return {part->directory ? NameKind::kPrefix : NameKind::kChunk, std::move(*part)};
    if (looks_like_chunk(name)) return {NameKind::kOutside, {}};
  }
  if (state.kind == NodeState::Kind::kDamaged && (looks_like_chunk(name) || is_v2_document(name))) {
    return {NameKind::kUnreadable, {}};
  }
  if (is_concealed(state, name)) return {NameKind::kConcealed, {}};
  if (!state.levels.stored(name)) return {NameKind::kLevel, {}};
  return {array ? NameKind::kTemporary : NameKind::kPassThrough, {}};
}

bool Namespace::is_concealed(const NodeState& state, std::string_view name) const {
  if (name.starts_with(kOwnFolder)) return true;
  const bool v2 = parts_.shared.options.format == ViewFormat::kV2;
  if (name == kStoredDocument) {
    return v2 || state.has_document() || parts_.overlay.is_removed(state.path, kStoredDocument);
  }
  return !v2 && state.has_document() && is_v2_document(name);
}

bool Namespace::shows_stored(const Directory& directory, const std::string& name) const {
  switch (resolve(directory, name).kind) {
    case NameKind::kTemporary:
    case NameKind::kPassThrough: return true;
    case NameKind::kDocument:  // a file that is called so, where the view has no
                               // such document
      return !documents_.shows(*directory.state, name) && !is_concealed(*directory.state, name);
    default: return false;
  }
}

Result<std::optional<InodeEntry>> Namespace::find(NodeId parent, std::string_view name,
                                                  FoundContent* content) {
  // What the mount tells of itself is there also where the store does not answer.
  if (parent == kRootNode && name == kOwnFolder) return control_.folder();
  const auto creation = parts_.shared_creation();
  return find_now(parent, name, content);
}

Result<std::optional<InodeEntry>> Namespace::find_now(NodeId parent, std::string_view name,
                                                      FoundContent* content) {
  if (!is_plain_name(name)) return std::nullopt;
  ZARRFS_TRY(InodeTarget target, inodes_.resolve_or_known(parent));
  if (!target.named) {
    if (!target.part.directory) return std::nullopt;
    return find_in({target.state, std::move(target.part.coordinates), target.tag},
                   std::string(name), content);
  }
  switch (target.named->kind) {
    case NamedNode::Kind::kDirectory:
      return find_in({target.state, {}}, std::string(name), content);
    case NamedNode::Kind::kOwnFolder: return control_.find(name);
    default: return std::nullopt;
  }
}

Result<std::optional<InodeEntry>> Namespace::find_in(const Directory& directory,
                                                     const std::string& name,
                                                     FoundContent* content) {
  const NodeState& state = *directory.state;
  ResolvedName resolved = resolve(directory, name);
  const bool called_otherwise =
      resolved.kind == NameKind::kChunk && parts_.writable() && !is_called_as_listed(directory);
  if (called_otherwise) {
    parts_.names_in_use.called_otherwise(request_task(), state.path, state.shown.names.nested());
  }
  if (state.unread) return find_known(directory, name, resolved);
  switch (resolved.kind) {
    case NameKind::kChunk: {
      auto found = find_chunk(directory.state, std::move(resolved.part), content);
      if (called_otherwise && found && *found) (*found)->uncached = true;
      return found;
    }
    case NameKind::kPrefix: return find_prefix(directory, resolved.part);
    case NameKind::kUnreadable: return fail(state.error);
    case NameKind::kOutside: return find_early(directory, name);
    case NameKind::kControl:  // find() tells of it
    case NameKind::kConcealed:
    case NameKind::kLevel: return std::nullopt;
    case NameKind::kDocument:
      if (documents_.shows(state, name)) return find_document(state, name, content);
      if (const StagedPointer file = parts_.staged.find(join_path(directory.path(), name))) {
        return entries_.of_staged(file, std::nullopt);  // it is being made
      }
      if (state.kind == NodeState::Kind::kDamaged && is_v2_document(name)) return fail(state.error);
      if (is_concealed(state, name)) return std::nullopt;
      break;
    case NameKind::kTemporary:
    case NameKind::kPassThrough: break;
  }
  auto found = find_stored(directory, name, resolved.kind);
  if (found || says_nothing(found.error().fault) || directory.prefix) return found;
  return find_known_directory(state, name, found.error());
}

/// In a directory of which only is known what it was: see NodeState::unread.
Result<std::optional<InodeEntry>> Namespace::find_known(const Directory& directory,
                                                        const std::string& name,
                                                        const ResolvedName& resolved) {
  const NodeState& state = *directory.state;
  switch (resolved.kind) {
    case NameKind::kChunk: {
      const std::uint64_t number = state.shown.names.number_of(resolved.part);
      const StagedPointer file = parts_.staged.find(chunk_key(state, number));
      if (file != nullptr && file->has_name()) {
        return entries_.of_staged(file, node_of_written(*file, state, std::nullopt));
      }
      parts_.shared.reporter.fault(*state.unread);
      return entries_.of_broken_chunk(state, resolved.part, std::nullopt);
    }
    case NameKind::kPrefix: {
      const std::uint64_t number = state.shown.names.number_of(resolved.part);
      return entries_.of(Entries::id_of(state, number, directory.tag),
                         statuses_.of_prefix(state, inode_of(state.path, number)));
    }
    case NameKind::kControl:  // find() tells of it
    case NameKind::kConcealed:
    case NameKind::kLevel: return std::nullopt;
    case NameKind::kTemporary:
    case NameKind::kPassThrough:
      if (directory.prefix) break;
      return find_known_directory(state, name, *state.unread);
    case NameKind::kDocument:
    case NameKind::kUnreadable:
    case NameKind::kOutside: break;
  }
  return fail(*state.unread);
}

/// The directory that was known by this name; `error` where there was none.
Result<std::optional<InodeEntry>> Namespace::find_known_directory(const NodeState& parent,
                                                                  const std::string& name,
                                                                  const Error& error) {
  const std::string path = join_path(parent.path, parent.levels.stored(name).value_or(name));
  const auto known = parts_.nodes.last_known(path);
  const bool shown = known != nullptr && known->kind != NodeState::Kind::kAbsent &&
                     known->kind != NodeState::Kind::kHidden;
  if (!shown) return fail(error);
  const NodeId id = parts_.table.look_up({NamedNode::Kind::kDirectory, path, 0});
  return entries_.of(id, statuses_.of_directory(*known));
}

Result<std::optional<InodeEntry>> Namespace::find_document(const NodeState& state,
                                                           const std::string& name,
                                                           FoundContent* content) {
  ZARRFS_TRY(const DocumentText document, documents_.text(state, name));
  if (document.text == nullptr) return std::nullopt;
  const std::string path = join_path(state.path, name);
  const struct stat status = statuses_.of_document(state, path, document);
  const auto tell = [&](bool written) {
    if (content != nullptr) content->document = {document.text, written};
  };
  if (const StagedPointer file = parts_.staged.find(path)) {
    const auto node = file->written_by();
    if (node && parts_.table.look_up_again(*node)) {
      constexpr bool kWritten = true;
      tell(kWritten);
      return entries_.of_document(*node, status, kWritten);
    }
    const bool by_number = !node && file->made_as == StagedFile::Kind::kDocument;
    if (by_number) return entries_.of_staged(file, std::nullopt);  // who made it has it open
  }
  tell(false);
  return entries_.of(
      parts_.table.look_up({NamedNode::Kind::kDocument, path, document_version(*document.text)}),
      status);
}

Result<std::optional<InodeEntry>> Namespace::find_prefix(const Directory& directory,
                                                         const ChunkOrPrefix& part) {
  const NodeState& array = *directory.state;
  ZARRFS_TRY(bool exists, ChunkLister(array.shown, parts_.chunks).prefix_exists(part.coordinates));
  // Where missing chunks are synthesized when asked for by name, so is the way to them.
  exists =
      exists || (array.shown.presentation.materialise != Materialise::kOff &&
                 array.shown.presentation.fill_chunk != nullptr && array.shown.names.chunks() > 0);
  if (!exists && !parts_.overlay.has_chunk_directory(part_path(array.shown, part))) {
    return std::nullopt;
  }
  const std::uint64_t number = array.shown.names.number_of(part);
  const NodeId id = Entries::id_of(array, number, directory.tag);
  return entries_.of(id, statuses_.of_prefix(array, inode_of(array.path, number)));
}

/// The node by which a chunk that is being written is looked up; `now`: that of what is stored.
std::optional<NodeId> Namespace::node_of_written(StagedFile& file, const NodeState& array,
                                                 std::optional<NodeId> now) const {
  const std::lock_guard lock(file.mutex);
  // A temporary file that became a chunk is another file than the chunk is by its name: that is
  // how programs tell who holds a lock.
  const NodeId of_now = now.value_or(StagedFile::kNoNode);
  if (!file.written_by() && file.made_as == StagedFile::Kind::kTemporary) file.node = of_now;
  if (!file.written_by()) return std::nullopt;
  const auto known = parts_.shared.numbers.find(file.node);
  if (!known || known->generation != array.generation) file.node = of_now;  // shown otherwise now
  return file.written_by();
}

Result<std::optional<InodeEntry>> Namespace::find_chunk(const StatePtr& state, ChunkOrPrefix part,
                                                        FoundContent* content) {
  const NodeState& array = *state;
  ShownPlace place = shown_place(array.shown, part.coordinates);
  const auto offer = parts_.offer(place);
  const StagedPointer file =
      parts_.staged.empty() ? nullptr : parts_.staged.find(chunk_key(array, place.number));
  auto stored = parts_.chunks.find_at(array.shown, part.coordinates, place);
  if (file != nullptr && file->has_name()) {
    std::optional<NodeId> now;
    if (stored && *stored) now = Entries::id_of(array, place.number, (*stored)->version);
    return entries_.of_staged(file, node_of_written(*file, array, now));
  }
  if (!stored && !says_nothing(stored.error().fault)) {
    parts_.shared.reporter.fault(stored.error());
    return entries_.of_broken_chunk(array, part, std::nullopt);
  }
  ZARRFS_TRY(auto chunk, std::move(stored));
  if (!chunk) return std::nullopt;
  const bool may_be_removed = chunk->is_fill || array.shown.presentation.removed_element;
  if (may_be_removed && parts_.removed_chunks.has(request_task(), chunk_key(array, place.number))) {
    return std::nullopt;
  }
  const NodeId id = Entries::id_of(array, place.number, chunk->version);
  const InodeEntry entry = entries_.of_chunk(id, array, part.coordinates, place, *chunk, offer);
  if (content != nullptr) {
    InodeTarget target;
    target.id = id;
    target.part = std::move(part);
    target.place = std::move(place);
    target.state = state;
    content->chunk = {std::move(target), std::move(*chunk)};
  }
  return entry;
}

/// A file that is being written, or what the store has.
Result<std::optional<InodeEntry>> Namespace::find_stored(const Directory& directory,
                                                         const std::string& name, NameKind kind) {
  const NodeState& state = *directory.state;
  const std::string shown_path = join_path(directory.path(), name);
  if (const StagedPointer file = parts_.staged.find_temporary(shown_path)) {
    return entries_.of_staged(file, std::nullopt);
  }
  if (directory.prefix) {
    ZARRFS_TRY(const auto parked, parked_status(state, shown_path));
    if (!parked) return std::nullopt;
    return entries_.look_up_pass_through(parked_path(state.path, shown_path), *parked);
  }
  const std::string path = join_path(state.path, state.levels.stored(name).value_or(name));
  ZARRFS_TRY(const auto link, shown_link(state, path));
  if (link) return entries_.look_up_link(path, link->status);
  ZARRFS_TRY(const auto status, status_of(path, kind));
  if (!status) return std::nullopt;
  // At a server an object may have the name of a directory: that of a node stays one.
  const bool directory_too = S_ISDIR(status->st_mode) || was_node(path);
  if (!directory_too) return entries_.look_up_pass_through(path, *status);
  ZARRFS_TRY(const StatePtr child, shown_directory(path, &state));
  if (child == nullptr && !S_ISDIR(status->st_mode)) {
    return entries_.look_up_pass_through(path, *status);
  }
  if (child == nullptr) return std::nullopt;
  const NodeId id = parts_.table.look_up({NamedNode::Kind::kDirectory, path, 0});
  return entries_.of(id, statuses_.of_directory(*child));
}

/// At a server, and where several mounts write, no file of the store waits for a document.
bool Namespace::keeps_early_chunks(const Directory& directory) const {
  const NodeState& state = *directory.state;
  return parts_.writable() && !directory.prefix && state.kind == NodeState::Kind::kArray &&
         state.node.layout->regular() && conditional_writer_of(*parts_.shared.store) == nullptr;
}

bool Namespace::keeps_early(const Directory& directory, const std::string& name) const {
  return keeps_early_chunks(directory) && directory.state->shown.names.may_grow_to(name);
}

Result<std::optional<InodeEntry>> Namespace::find_early(const Directory& directory,
                                                        const std::string& name) {
  if (!keeps_early(directory, name)) return std::nullopt;
  const NodeState& state = *directory.state;
  const std::string path = join_path(state.path, name);
  ZARRFS_TRY(const auto parked, parked_status(state, path));
  if (!parked) return std::nullopt;
  return entries_.look_up_pass_through(parked_path(state.path, path), *parked);
}

bool Namespace::was_node(const std::string& path) const {
  const auto known = parts_.nodes.last_known(path);
  return known != nullptr && known->has_document();
}

Result<std::optional<struct stat>> Namespace::parked_status(const NodeState& array,
                                                            const std::string& path) {
  if (!parts_.writable()) return std::nullopt;
  ZARRFS_TRY(auto status, parts_.shared.store->status(parked_path(array.path, path)));
  if (status && S_ISDIR(status->st_mode)) status.reset();
  return status;
}

Result<bool> Namespace::may_show_link(const NodeState& directory, const std::string& name) {
  const bool plain = directory.kind == NodeState::Kind::kPassThrough ||
                     directory.kind == NodeState::Kind::kImplicitGroup;
  if (!plain || looks_like_chunk(name) || is_v2_document(name)) return false;
  ZARRFS_TRY(const bool v2, belongs_to_v2(directory));
  return !v2;
}

Result<std::optional<Link>> Namespace::shown_link(const NodeState& directory,
                                                  const std::string& path) {
  if (directory.has_document()) return std::nullopt;
  ZARRFS_TRY(auto link, link_at(*parts_.shared.store, path));
  if (!link) return std::nullopt;
  ZARRFS_TRY(const bool shown, may_show_link(directory, last_name(path)));
  if (!shown) link.reset();
  return link;
}

Result<std::optional<struct stat>> Namespace::stored_status(const NodeState& directory,
                                                            const std::string& path,
                                                            NameKind kind) {
  ZARRFS_TRY(const auto link, shown_link(directory, path));
  if (link) return link->status;
  return status_of(path, kind);
}

Result<std::optional<struct stat>> Namespace::status_of(const std::string& path, NameKind kind) {
  Store& store = *parts_.shared.store;
  return kind == NameKind::kTemporary ? status_of_temporary(store, path) : store.status(path);
}

Result<StatePtr> Namespace::shown_directory(const std::string& path, const NodeState* parent) {
  ZARRFS_TRY(StatePtr child, parts_.nodes.get(path));
  const bool gone =
      child->kind == NodeState::Kind::kAbsent || child->kind == NodeState::Kind::kHidden;
  const bool node_in_array =
      parent != nullptr && parent->kind == NodeState::Kind::kArray && child->has_document();
  if (gone || node_in_array) return nullptr;
  return child;
}

Result<Directory> Namespace::directory_of(NodeId node) {
  ZARRFS_CHECK(rights_.check_writing());
  ZARRFS_TRY(InodeTarget target, inodes_.resolve(node));
  if (!target.named) {
    if (!target.part.directory) return fail(Fault::kInvalid, "a chunk is not a directory");
    return Directory{target.state, std::move(target.part.coordinates), target.tag};
  }
  if (target.named->kind != NamedNode::Kind::kDirectory) {
    return refused(Fault::kForbidden, target.named->path, "nothing can be made here");
  }
  return Directory{target.state, std::nullopt};
}

/// Whether the directory belongs to a store of Zarr v2, which passes through as it is.
Result<bool> Namespace::belongs_to_v2(const NodeState& state) {
  std::string path = state.path;
  for (;;) {
    for (const char* document : {".zgroup", ".zarray"}) {
      ZARRFS_TRY(const auto status, parts_.shared.store->status(join_path(path, document)));
      if (status) return true;
    }
    if (path.empty()) return false;
    path = parent_path(path);
    ZARRFS_TRY(const StatePtr above, parts_.nodes.get(path));
    if (above->has_document()) return false;
  }
}

/// Why a name is taken that is not shown.
static std::string why_concealed(const std::string& name) {
  if (name != kStoredDocument) return "the name is taken by what this view does not show";
  return "this mount shows Zarr v2, and what programs write as Zarr v3 has no place in it: write "
         "Zarr v2 (zarr_format=2), or mount with -o view=v3";
}

Result<Name> Namespace::claim(const Directory& directory, const std::string& name) {
  const NodeState& state = *directory.state;
  ResolvedName resolved = resolve(directory, name);
  const std::string stored = state.levels.stored(name).value_or(name);
  Name result{resolved.kind, join_path(directory.path(), stored), join_path(state.path, stored),
              std::move(resolved.part)};
  switch (result.kind) {
    case NameKind::kChunk:
    case NameKind::kPrefix:
    case NameKind::kPassThrough: return result;
    case NameKind::kDocument: {
      if (state.kind != NodeState::Kind::kPassThrough) return result;
      // Attributes are kept until there is a node that they belong to.
      if (name != ".zattrs" && name != ".zmetadata") {
        ZARRFS_TRY(const bool v2, belongs_to_v2(state));
        if (!v2) return result;
      }
      result.kind = NameKind::kPassThrough;
      return result;
    }
    case NameKind::kTemporary:
      if (directory.prefix) {
        ZARRFS_TRY(const auto parked, parked_status(state, result.path));
        result.store_path = parked ? parked_path(state.path, result.path) : "";
      }
      return result;
    case NameKind::kOutside:
      return refused(Fault::kInvalid, result.path, "this chunk lies outside the array");
    case NameKind::kUnreadable: return fail(state.error);
    case NameKind::kLevel:
      return refused(Fault::kExists, result.path, "a level has this name in the store");
    case NameKind::kControl:
    case NameKind::kConcealed: break;
  }
  if (result.kind == NameKind::kControl || is_successor_name(name) ||
      name.starts_with(kKeptPrefix)) {
    return refused(Fault::kForbidden, result.path,
                   "names that begin with .zarrfs are zarrfs's own");
  }
  auto taken = refused(Fault::kExists, result.path, why_concealed(name));
  parts_.shared.refusals.add(state.path, name, taken.value());
  return taken;
}

/// A chunk that cannot be read is there: it can be replaced and removed.
Result<bool> Namespace::chunk_is_stored(const NodeState& array, const Coordinates& chunk) {
  const auto found = parts_.chunks.find(array.shown, chunk);
  if (!found && found.error().fault == Fault::kDamaged) return true;
  if (!found) return fail(found.error());
  return *found && !(*found)->is_fill;
}

Result<bool> Namespace::exists(const Directory& directory, const Name& name) {
  switch (name.kind) {
    case NameKind::kChunk: {
      const std::uint64_t number = directory.state->shown.names.number_of(name.part);
      const std::string key = chunk_key(*directory.state, number);
      if (parts_.staged.find(key) != nullptr) return true;
      if (parts_.removed_chunks.has(request_task(), key)) return false;
      auto stored = chunk_is_stored(*directory.state, name.part.coordinates);
      // One that cannot be looked at is there as a broken one: see find_chunk().
      if (!stored && stored.error().fault != Fault::kStale) return true;
      return stored;
    }
    case NameKind::kPrefix: {
      if (parts_.overlay.has_chunk_directory(name.path)) return true;
      return ChunkLister(directory.state->shown, parts_.chunks)
          .prefix_exists(name.part.coordinates);
    }
    case NameKind::kDocument:
      return parts_.staged.find(name.path) != nullptr ||
             documents_.shows(*directory.state, last_name(name.path));
    default: break;
  }
  if (parts_.staged.find(name.path) != nullptr) return true;
  if (name.store_path.empty()) return false;
  ZARRFS_TRY(const auto status, stored_status(*directory.state, name.store_path, name.kind));
  return status.has_value();
}

Result<InodeEntry> Namespace::found_again(NodeId parent, std::string_view name) {
  ZARRFS_TRY(const auto found, find_now(parent, name));
  if (!found) return fail(Fault::kStale, printable(name) + " is gone again");
  return *found;
}

}  // namespace zarrfs
