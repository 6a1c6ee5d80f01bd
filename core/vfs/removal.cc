#include "core/vfs/removal.h"

#include "core/base/request.h"
#include "core/chunks/chunk_lister.h"
#include "core/names/directory_listing.h"
#include "core/names/refusals.h"
#include "core/nodes/orphan_chunks.h"
#include "core/vfs/stored_as_caller.h"

namespace zarrfs {

Result<bool> Removal::remove_file(NodeId parent, std::string_view name) {
  const auto putting = parts_.move_gate.putting();
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  const std::string wanted(name);
  if (names_.resolve(directory, wanted).kind == NameKind::kOutside) {
    return remove_outside(directory, wanted);
  }
  ZARRFS_TRY(const Name target, names_.claim(directory, wanted));
  switch (target.kind) {
    case NameKind::kChunk: return remove_chunk(directory, target);
    case NameKind::kDocument: return remove_document(directory, target);
    case NameKind::kPrefix: return refused(Fault::kForbidden, target.path, "it is a directory");
    default: return remove_stored(directory, target);
  }
}

/// One that waits for the array to grow. Else the kernel asks for what it saw a moment ago:
/// shrinking the array has removed it since.
Result<bool> Removal::remove_outside(const Directory& directory, const std::string& name) {
  if (!names_.keeps_early(directory, name)) return true;
  const std::string path = join_path(directory.state->path, name);
  ZARRFS_TRY(const auto parked, names_.parked_status(*directory.state, path));
  if (!parked) return true;
  ZARRFS_CHECK(rights_.check_deleting(path));
  ZARRFS_CHECK(rights_.check_caller({directory.state->path}));
  ZARRFS_CHECK(remove_as_caller(*parts_.shared.store, parked_path(directory.state->path, path)));
  return true;
}

Result<bool> Removal::remove_chunk(const Directory& directory, const Name& target) {
  ZARRFS_CHECK(rights_.check_deleting(target.path));
  ZARRFS_CHECK(rights_.check_caller(directory, target));
  const NodeState& array = *directory.state;
  const Coordinates& chunk = target.part.coordinates;
  ZARRFS_CHECK(check_called_so(directory));
  const std::string key = chunk_key(array, array.shown.names.number_of(target.part));
  const bool written = parts_.staged.find(key) != nullptr;
  ZARRFS_TRY(const bool stored, names_.chunk_is_stored(array, chunk));
  const bool synthesized = array.shown.presentation.materialise != Materialise::kOff;
  if (!stored && !written && !synthesized) return false;
  staged_.detach(key);
  const bool leaves_element = array.shown.presentation.removed_element.has_value();
  if (leaves_element && parts_.overlay.is_pending_delete(array.path)) {
    // The array goes, and with it what its `.zarray` said of absent chunks.
    if (stored) ZARRFS_CHECK(parts_.chunk_writer.erase(array.shown, chunk));
  } else if (stored || leaves_element) {
    ZARRFS_CHECK(parts_.chunk_writer.remove(array.shown, chunk));
  }
  if (synthesized) parts_.removed_chunks.add(request_task(), key);
  keep_directories(directory);
  return true;
}

/// Who takes the two names of a chunk for two files would remove what he keeps.
Result<void> Removal::check_called_so(const Directory& directory) {
  const NodeState& array = *directory.state;
  if (parts_.overlay.is_pending_delete(array.path)) return {};
  // What was listed before the names were changed is not there any more.
  const bool two_files =
      is_called_as_listed(directory)
          ? parts_.names_in_use.calls_otherwise(request_task(), array.path,
                                                array.shown.names.nested())
          : parts_.shared.written.is(array.path, WrittenDocuments::Fact::kRenamed);
  if (!two_files) return {};
  return refused(Fault::kForbidden, array.path,
                 "the program that removes chunks uses their other names, too: both are one file, "
                 "and nothing is removed");
}

Result<bool> Removal::remove_document(const Directory& directory, const Name& target) {
  ZARRFS_TRY(const bool there, names_.exists(directory, target));
  if (!there) return false;
  const std::string name = last_name(target.path);
  const bool whole = name == ".zarray" || name == ".zgroup" || name == "zarr.json";
  ZARRFS_CHECK(whole ? rights_.check_deleting_node(target.path)
                     : rights_.check_deleting(target.path));
  ZARRFS_CHECK(rights_.check_caller(directory, target));
  staged_.detach(target.path);
  ZARRFS_TRY(const bool stored, names_.exists(directory, target));
  if (stored) ZARRFS_CHECK(documents_.remove(*directory.state, name));
  return true;
}

Result<bool> Removal::remove_stored(const Directory& directory, const Name& target) {
  const bool written = parts_.staged.find(target.path) != nullptr;
  if (written) ZARRFS_CHECK(rights_.check_caller(directory, target));
  staged_.detach(target.path);
  if (target.store_path.empty()) return written;
  ZARRFS_TRY(const auto status,
             names_.stored_status(*directory.state, target.store_path, target.kind));
  if (!status) return written;
  ZARRFS_CHECK(remove_as_caller(*parts_.shared.store, target.store_path));
  drop_empty_parked(*parts_.shared.store, target.store_path);
  return true;
}

/// The directories of a chunk stay when it goes: who removes a tree removes them next.
void Removal::keep_directories(const Directory& directory) {
  const NodeState& array = *directory.state;
  if (!directory.prefix || !array.shown.names.nested()) return;
  for (std::string path = directory.path(); path != array.path; path = parent_path(path)) {
    parts_.overlay.make_chunk_directory(path);
  }
}

bool Removal::is_left_by_removal(const NodeState& array, const Coordinates& chunk) {
  if (!array.shown.presentation.removed_element) return false;
  const auto found = parts_.chunks.find(array.shown, chunk);
  if (!found || !*found || !(*found)->bytes) return false;
  const auto stored = (*found)->bytes->read();
  const auto left = ChunkWriter::removed_bytes(array.shown, chunk);
  return stored && left && *stored == *left;
}

Result<bool> Removal::is_empty(const Directory& directory) {
  const NodeState& state = *directory.state;
  if (state.kind == NodeState::Kind::kArray) {
    constexpr bool kStoredOnly = true;
    ChunkLister lister(state.shown, parts_.chunks, kStoredOnly);
    ZARRFS_TRY(const bool any, lister.any_below(directory.prefix.value_or(Coordinates()),
                                                [&](const Coordinates& chunk) {
                                                  return !is_left_by_removal(state, chunk);
                                                }));
    if (any) return false;
  }
  bool empty = true;
  // Documents and other names. Chunks that are only materialised do not count, nor directories of
  // chunks without any: where flat names are listed, nobody sees them while they hold a chunk.
  DirectoryListing listing(parts_, names_, documents_, directory);
  const std::string path = directory.path();
  ZARRFS_CHECK(listing.list_names_only([&](const Listed& one) {
    empty = parts_.overlay.has_chunk_directory(join_path(path, std::string(one.name)));
    return empty;
  }));
  return empty;
}

Result<bool> Removal::remove_directory(NodeId parent, std::string_view name) {
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  const std::string wanted(name);
  // As in remove_outside.
  if (names_.resolve(directory, wanted).kind == NameKind::kOutside) return true;
  ZARRFS_TRY(const Name target, names_.claim(directory, wanted));
  ZARRFS_TRY(const bool there, names_.exists(directory, target));
  // A directory that held no chunk was there for its shard, whose last chunk was removed since.
  if (!there) return target.kind == NameKind::kPrefix;
  if (target.takes_bytes()) {
    return refused(Fault::kInvalid, target.path, "it is not a directory");
  }
  if (target.kind == NameKind::kPrefix) {
    ZARRFS_TRY(const bool empty, is_empty({directory.state, target.part.coordinates}));
    if (!empty) return refused(Fault::kNotEmpty, target.path, "it is not empty");
    ZARRFS_CHECK(rights_.check_caller(directory, target));
    parts_.overlay.forget(target.path);
    return true;
  }
  ZARRFS_CHECK(remove_node(directory, target));
  parts_.nodes.forget();
  parts_.overlay.forget(target.path);
  parts_.table.removed({NamedNode::Kind::kDirectory, target.store_path, 0});
  return true;
}

/// A directory of the store.
Result<void> Removal::remove_node(const Directory& directory, const Name& target) {
  ZARRFS_TRY(const StatePtr state, parts_.nodes.get(target.store_path));
  const bool plain = state->kind == NodeState::Kind::kPassThrough ||
                     state->kind == NodeState::Kind::kImplicitGroup ||
                     state->kind == NodeState::Kind::kAbsent;
  if (plain) return remove_directory_as_caller(*parts_.shared.store, target.store_path);
  ZARRFS_CHECK(rights_.check_deleting_node(target.path));
  ZARRFS_CHECK(rights_.check_caller({directory.state->path, target.store_path}));
  const auto not_empty = [&] { return refused(Fault::kNotEmpty, target.path, "it is not empty"); };
  if (state->kind == NodeState::Kind::kHidden) return not_empty();
  const auto moving = parts_.move_gate.moving();  // no chunk is put from here on
  ZARRFS_TRY(const bool empty, is_empty({state, std::nullopt}));
  if (!empty) return not_empty();
  if (state->shown.presentation.removed_element) {
    ZARRFS_CHECK(parts_.chunk_writer.remove_all(state->shown));
  }
  return parts_.editor.remove_node(target.store_path);
}

Result<void> Removal::delete_pending() {
  Result<void> first;
  for (const std::string& path : parts_.overlay.take_pending_deletes()) {
    const auto moving = parts_.move_gate.moving();
    auto done = parts_.reported(parts_.editor.remove_document(path));
    if (!done && first) first = std::move(done);
  }
  return first;
}

}  // namespace zarrfs
