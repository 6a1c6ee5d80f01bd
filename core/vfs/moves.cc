#include "core/vfs/moves.h"

#include <optional>

#include "core/names/refusals.h"
#include "core/store/conditional_writer.h"
#include "core/store/with_umask.h"
#include "core/vfs/early_files.h"
#include "core/vfs/stored_as_caller.h"

namespace zarrfs {

Result<void> Moves::take_bytes(const Directory& directory, const Name& target, ByteView bytes,
                               const struct timespec& modified, ExclusiveCreation alone) {
  const NodeState& state = *directory.state;
  if (target.kind == NameKind::kChunk) {
    ZARRFS_CHECK(parts_.put_chunk(state, target.part.coordinates, bytes, modified));
    if (!parts_.shared.options.writing->flush_at_close) return {};
    return parts_.chunk_writer.publish(state.shown, target.part.coordinates);
  }
  ZARRFS_CHECK(disown_early_files(parts_, state.path, last_name(target.path)));
  return parts_.editor.write(state.path, last_name(target.path), bytes, std::move(alone));
}

Result<void> Moves::move_staged(const StagedPointer& file, const Directory& directory,
                                const Name& target, bool keep, ExclusiveCreation alone) {
  const std::string key = StagedFiles::key_of(directory, target);
  StagedFiles::Lock lock(file->mutex, std::defer_lock);
  const auto replaced = staged_.displace(key, file, lock);
  if (file->unlinked()) return refused(Fault::kStale, file->path, "it is gone");
  if (!target.takes_bytes()) {
    if (keep) return refused(Fault::kForbidden, target.path, "no links here");
    return rename_staged(file, replaced.file, directory, target);
  }
  ZARRFS_TRY(const Bytes bytes, file->bytes.read(0, file->bytes.size()));
  const WithUmask as_made(StagedFiles::mask_of(*file));
  ZARRFS_CHECK(take_bytes(directory, target, bytes, file->modified, std::move(alone)));
  if (replaced.file != nullptr) staged_.unlink(replaced.file);
  if (keep) return {};
  ZARRFS_CHECK(staged_.withdraw(*file));
  file->submitted();
  if (file->writers == 0) {
    parts_.staged.leave(file);
    return {};
  }
  // Who still writes to it writes to the chunk or document.
  file->path = target.path;
  file->chunk = target.part.coordinates;
  parts_.staged.enter(key, file, staged_kind_of(target), directory.state->path);
  return {};
}

/// To a name that is neither a chunk's nor a document's. The caller holds the mutexes of both.
Result<void> Moves::rename_staged(const StagedPointer& file, const StagedPointer& replaced,
                                  const Directory& directory, const Name& target) {
  ZARRFS_CHECK(staged_.withdraw(*file));
  if (replaced == nullptr && target.kind == NameKind::kTemporary && target.store_path.empty()) {
    ZARRFS_CHECK(staged_.check_kept_name(directory.state->path, target.path, file.get()));
  }
  file->path = target.path;
  if (target.kind == NameKind::kTemporary && !target.store_path.empty()) {
    ZARRFS_TRY(const auto stored, status_of_temporary(*parts_.shared.store, target.store_path));
    if (stored) file->replaces_stored();
  }
  if (replaced != nullptr) staged_.unlink(replaced);
  parts_.staged.enter(target.path, file, StagedFile::Kind::kTemporary, directory.state->path);
  if (target.kind != NameKind::kPassThrough) return {};
  file->wrote();
  ZARRFS_CHECK(staged_.persist(*file));
  if (file->writers == 0) parts_.staged.leave(file);
  return {};
}

Result<void> Moves::move_stored(const std::string& from, const Directory& directory,
                                const Name& target, bool keep, ExclusiveCreation alone) {
  if (!target.takes_bytes() && !keep) {
    if (target.store_path.empty()) return refused(Fault::kCrossDevice, target.path, "copy it");
    staged_.detach(target.path);
    ZARRFS_CHECK(rename_as_caller(*parts_.shared.store, from, target.store_path));
    parts_.table.moved(from, target.store_path);
    drop_empty_parked(*parts_.shared.store, from);
    return {};
  }
  if (!target.takes_bytes()) return refused(Fault::kForbidden, target.path, "no links here");
  ZARRFS_TRY(const auto file, open_as_caller(*parts_.shared.store, from));
  if (file == nullptr) return refused(Fault::kStale, from, "it is gone");
  ZARRFS_TRY(const Bytes bytes, file->read_range({0, file->size()}));
  const StagedPointer coming = parts_.staged.make(staged_kind_of(target));  // who opens it waits
  StagedFiles::Lock lock(coming->mutex, std::defer_lock);
  const auto replaced = staged_.displace(StagedFiles::key_of(directory, target), coming, lock);
  const WithUmask as_made(mask_that_makes(file->status().st_mode));
  ZARRFS_CHECK(take_bytes(directory, target, bytes, file->status().st_mtim, std::move(alone)));
  if (replaced.file != nullptr) staged_.unlink(replaced.file);
  if (keep) return {};
  parts_.table.became({NamedNode::Kind::kPassThrough, from, file_version(file->status())},
                      target.path);
  ZARRFS_CHECK(remove_as_caller(*parts_.shared.store, from));
  drop_empty_parked(*parts_.shared.store, from);
  return {};
}

Result<bool> Moves::leads(const Way& way, const Name& source, const Name& target) {
  ZARRFS_TRY(const Directory directory, names_.directory_of(way.parent));
  ZARRFS_TRY(const Directory new_directory, names_.directory_of(way.new_parent));
  return join_path(directory.path(), std::string(way.name)) == source.path &&
         join_path(new_directory.path(), std::string(way.new_name)) == target.path;
}

Result<std::optional<bool>> Moves::move_directory(const Way& way, const Name& source,
                                                  const Directory& directory, const Name& target) {
  const std::string& from = source.store_path;
  if (target.kind != NameKind::kPassThrough || directory.state->kind == NodeState::Kind::kArray) {
    return refused(Fault::kInvalid, target.path, "a directory cannot be moved here");
  }
  ZARRFS_CHECK(rights_.check_deleting(from));
  ZARRFS_CHECK(rights_.check_caller({parent_path(from), from, directory.state->path}));
  ZARRFS_CHECK(
      parts_.shared.writes->commit_below(from));  // most of it while chunks may still be put
  const auto moving = parts_.move_gate.moving();
  ZARRFS_TRY(const bool found_so, leads(way, source, target));
  if (!found_so) return std::nullopt;
  ZARRFS_TRY(const auto there, parts_.shared.store->status(from));
  if (!there) return false;
  std::optional<PathChanges::Change> change;
  const std::string& to = target.store_path;
  ZARRFS_CHECK(parts_.editor.move(from, to, [&]() -> Result<void> {
    change.emplace(parts_.shared.path_changes);
    ZARRFS_CHECK(parts_.shared.store->rename(from, to));
    parts_.shared.written.moved(from, to);
    parts_.nodes.moved_away(from);
    parts_.table.moved(from, to);
    parts_.shared.numbers.moved(from, to);
    return {};
  }));
  for (const StagedPointer& file : parts_.staged.below(from)) {
    const std::lock_guard lock(file->mutex);
    parts_.staged.moved(file, from, to);
  }
  parts_.overlay.moved(from, to);
  parts_.creation_gate.moved(from, to);
  return true;
}

Result<bool> Moves::rename(NodeId parent, std::string_view name, NodeId new_parent,
                           std::string_view new_name, bool replace) {
  auto creation = parts_.creation_gate.shared();
  ZARRFS_TRY(ExclusiveCreation alone, exclusive_for_document(new_parent, new_name, creation));
  auto putting = parts_.move_gate.putting();
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  ZARRFS_TRY(const Name source, names_.claim(directory, std::string(name)));
  ZARRFS_TRY(const bool there, names_.exists(directory, source));
  if (!there) return false;
  ZARRFS_TRY(const Directory new_directory, names_.directory_of(new_parent));
  ZARRFS_TRY(const Name target, names_.claim(new_directory, std::string(new_name)));
  if (source.path == target.path) return true;
  const bool presented = source.kind == NameKind::kChunk || source.kind == NameKind::kPrefix ||
                         source.kind == NameKind::kDocument;
  if (presented) return refused(Fault::kCrossDevice, source.path, "copy it");
  if (target.kind == NameKind::kPrefix) {
    return refused(Fault::kExists, target.path, "it is a directory of chunks");
  }
  ZARRFS_TRY(const bool taken, names_.exists(new_directory, target));
  if (taken && !replace) return refused(Fault::kExists, target.path, "it exists");
  if (taken && target.takes_bytes()) {
    ZARRFS_CHECK(rights_.check_deleting(target.path));
  }
  ZARRFS_CHECK(rights_.check_caller(new_directory, target));
  if (const StagedPointer file = parts_.staged.find(source.path)) {
    ZARRFS_CHECK(move_staged(file, new_directory, target, false, std::move(alone)));
    return true;
  }
  ZARRFS_TRY(const auto status,
             names_.stored_status(*directory.state, source.store_path, source.kind));
  if (!status) return false;
  if (S_ISLNK(status->st_mode)) {
    ZARRFS_TRY(const bool shown,
               names_.may_show_link(*new_directory.state, last_name(target.path)));
    if (!shown) return refused(Fault::kForbidden, target.path, "no links are shown here");
  }
  if (S_ISDIR(status->st_mode)) {
    if (creation.owns_lock()) creation.unlock();  // it waits for changes of documents
    putting.unlock();
    ZARRFS_TRY(const auto moved,
               move_directory({parent, name, new_parent, new_name}, source, new_directory, target));
    return moved ? *moved : rename(parent, name, new_parent, new_name, replace);
  }
  ZARRFS_CHECK(move_stored(source.store_path, new_directory, target, false, std::move(alone)));
  return true;
}

Result<InodeEntry> Moves::link(NodeId node, NodeId new_parent, std::string_view new_name) {
  auto creation = parts_.creation_gate.shared();
  ZARRFS_TRY(ExclusiveCreation alone, exclusive_for_document(new_parent, new_name, creation));
  const auto putting = parts_.move_gate.putting();
  ZARRFS_TRY(const Directory directory, names_.directory_of(new_parent));
  ZARRFS_TRY(const Name target, names_.claim(directory, std::string(new_name)));
  ZARRFS_TRY(const bool taken, names_.exists(directory, target));
  if (taken) return refused(Fault::kExists, target.path, "it exists");
  ZARRFS_CHECK(rights_.check_caller(directory, target));
  ZARRFS_TRY(const InodeTarget source, inodes_.resolve(node));
  const bool written = source.named && source.named->kind == NamedNode::Kind::kStaged;
  const bool stored = source.named && source.named->kind == NamedNode::Kind::kPassThrough;
  if (!written && !stored) return refused(Fault::kForbidden, target.path, "no links here");
  constexpr bool kKeep = true;
  if (stored && target.kind == NameKind::kPassThrough) {
    return pass_through_.link(*source.named, target);
  }
  if (stored) {
    ZARRFS_CHECK(move_stored(source.named->path, directory, target, kKeep, std::move(alone)));
  } else {
    const StagedPointer file = parts_.staged.find(source.named->version);
    if (file == nullptr) return refused(Fault::kStale, source.named->path, "it is gone");
    ZARRFS_CHECK(move_staged(file, directory, target, kKeep, std::move(alone)));
  }
  return names_.found_again(new_parent, new_name);
}

Result<ExclusiveCreation> Moves::exclusive_for_document(NodeId parent, std::string_view name,
                                                        SharedCreation& creation) {
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  ZARRFS_TRY(const Name target, names_.claim(directory, std::string(name)));
  if (target.kind != NameKind::kDocument) return ExclusiveCreation();
  creation.unlock();  // this may make a node itself
  return parts_.exclusive_creation(directory.state->path);
}

}  // namespace zarrfs
