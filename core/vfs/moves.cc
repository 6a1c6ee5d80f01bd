#include "core/vfs/moves.h"

#include "core/vfs/errors.h"
#include "core/vfs/stored_as_caller.h"

namespace zarrfs {

Result<void> Moves::take_bytes(const Directory& directory, const Name& target, ByteView bytes,
                               const struct timespec& modified, NodeMaking alone) {
  const NodeState& state = *directory.state;
  if (target.kind == NameKind::kChunk) {
    ZARRFS_CHECK(parts_.chunk_writer.put(state.shown, target.part.coordinates, bytes, modified));
    if (!parts_.shared.options.writing->flush_at_close) return {};
    return parts_.chunk_writer.publish(state.shown, target.part.coordinates);
  }
  return parts_.editor.write(state.path, base_name(target.path), bytes, std::move(alone));
}

Result<void> Moves::move_work(const WorkPointer& work, const Directory& directory,
                              const Name& target, bool keep, NodeMaking alone) {
  StagedFiles::WorkLock lock(work->mutex, std::defer_lock);
  const StagedFiles::Displaced replaced =
      staged_.displaced(staged_.key_of(directory, target), lock);
  if (work->gone) return refused(Fault::kStale, work->path, "it is gone");
  if (!target.takes_bytes()) {
    if (keep) return refused(Fault::kForbidden, target.path, "no links here");
    return rename_work(work, replaced.work, directory, target);
  }
  ZARRFS_TRY(const Bytes bytes, work->bytes.read(0, work->bytes.size()));
  ZARRFS_CHECK(take_bytes(directory, target, bytes, work->modified, std::move(alone)));
  if (replaced.work != nullptr) staged_.unlink(replaced.work);
  work->dirty = keep;
  if (keep) return {};
  ZARRFS_CHECK(staged_.remove_written_out(*work));
  work->dirty = false;
  if (work->writers == 0) {
    parts_.works.leave(work);
    return {};
  }
  const bool chunk = target.kind == NameKind::kChunk;  // who still writes to it writes to the chunk
  work->path = target.path;
  work->chunk = target.part.coordinates;
  parts_.works.enter(staged_.key_of(directory, target), work,
                     chunk ? Work::Kind::kChunk : Work::Kind::kDocument, directory.state->path);
  return {};
}

/// To a name that is neither a chunk's nor a document's. The caller holds the mutexes of both.
Result<void> Moves::rename_work(const WorkPointer& work, const WorkPointer& replaced,
                                const Directory& directory, const Name& target) {
  ZARRFS_CHECK(staged_.remove_written_out(*work));
  work->path = target.path;
  if (target.kind == NameKind::kScratch && !target.store_path.empty()) {
    // A file of this name in the store is what this one replaces when it is written out.
    ZARRFS_TRY(const auto stored, parts_.shared.store->status(target.store_path));
    work->backed = stored.has_value();
  }
  if (replaced != nullptr) staged_.unlink(replaced);
  parts_.works.enter(target.path, work, Work::Kind::kScratch, directory.state->path);
  if (target.kind != NameKind::kForeign) return {};
  work->dirty = true;
  ZARRFS_CHECK(staged_.write_out(*work));
  if (work->writers == 0) parts_.works.leave(work);
  return {};
}

Result<void> Moves::move_stored(const std::string& from, const Directory& directory,
                                const Name& target, bool keep, NodeMaking alone) {
  if (!target.takes_bytes() && !keep) {
    if (target.store_path.empty()) return refused(Fault::kCrossDevice, target.path, "copy it");
    staged_.detach(target.path);
    ZARRFS_CHECK(rename_as_caller(*parts_.shared.store, from, target.store_path));
    drop_empty_aside(*parts_.shared.store, from);
    return {};
  }
  if (!target.takes_bytes()) return refused(Fault::kForbidden, target.path, "no links here");
  ZARRFS_TRY(const auto file, open_as_caller(*parts_.shared.store, from));
  if (file == nullptr) return refused(Fault::kStale, from, "it is gone");
  ZARRFS_TRY(const Bytes bytes, file->read_range({0, file->size()}));
  const std::string key = staged_.key_of(directory, target);
  const WorkPointer replaced = parts_.works.find(key);
  StagedFiles::WorkLock lock;
  if (replaced != nullptr) lock = StagedFiles::WorkLock(replaced->mutex);
  ZARRFS_CHECK(take_bytes(directory, target, bytes, file->status().st_mtim, std::move(alone)));
  if (replaced != nullptr) staged_.unlink(replaced);
  if (keep) return {};
  ZARRFS_CHECK(remove_as_caller(*parts_.shared.store, from));
  drop_empty_aside(*parts_.shared.store, from);
  return {};
}

Result<void> Moves::move_directory(const std::string& from, const Directory& directory,
                                   const Name& target) {
  if (target.kind != NameKind::kForeign || directory.state->kind == NodeState::Kind::kArray) {
    return refused(Fault::kInvalid, target.path, "a directory cannot be moved here");
  }
  ZARRFS_CHECK(rights_.check_deleting(from));
  ZARRFS_CHECK(rights_.check_caller({parent_path(from), from, directory.state->path}));
  ZARRFS_CHECK(
      parts_.shared.writes->commit_below(from));  // most of it while chunks may still be put
  const auto moving = parts_.move_gate.moving();
  ZARRFS_CHECK(parts_.editor.move(from, target.store_path));
  parts_.shared.spellings.moved(from, target.store_path);
  parts_.nodes.moved_away(from);
  parts_.table.moved(from, target.store_path);
  for (const WorkPointer& work : parts_.works.below(from)) {
    const std::lock_guard lock(work->mutex);
    parts_.works.moved(work, from, target.store_path);
  }
  parts_.session.moved(from, target.store_path);
  parts_.plain_writers.moved(from, target.store_path);
  return {};
}

Result<bool> Moves::rename(NodeId parent, std::string_view name, NodeId new_parent,
                           std::string_view new_name, bool replace) {
  auto making = parts_.plain_writers.making();
  ZARRFS_TRY(NodeMaking alone, making_document(new_parent, new_name, making));
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
  if (const WorkPointer work = parts_.works.find(source.path)) {
    ZARRFS_CHECK(move_work(work, new_directory, target, false, std::move(alone)));
    return true;
  }
  ZARRFS_TRY(const auto status, parts_.shared.store->status(source.store_path));
  if (!status) return false;
  if (S_ISDIR(status->st_mode)) {
    if (making.owns_lock()) making.unlock();  // it waits for changes of documents
    putting.unlock();
    ZARRFS_CHECK(move_directory(source.store_path, new_directory, target));
  } else {
    ZARRFS_CHECK(move_stored(source.store_path, new_directory, target, false, std::move(alone)));
  }
  return true;
}

Result<Found> Moves::link(NodeId node, NodeId new_parent, std::string_view new_name) {
  auto making = parts_.plain_writers.making();
  ZARRFS_TRY(NodeMaking alone, making_document(new_parent, new_name, making));
  const auto putting = parts_.move_gate.putting();
  ZARRFS_TRY(const Directory directory, names_.directory_of(new_parent));
  ZARRFS_TRY(const Name target, names_.claim(directory, std::string(new_name)));
  ZARRFS_TRY(const bool taken, names_.exists(directory, target));
  if (taken) return refused(Fault::kExists, target.path, "it exists");
  ZARRFS_CHECK(rights_.check_caller(directory, target));
  ZARRFS_TRY(const InodeTarget source, inodes_.resolve(node));
  const bool written = source.named && source.named->kind == NamedNode::Kind::kWork;
  const bool stored = source.named && source.named->kind == NamedNode::Kind::kForeign;
  if (!written && !stored) return refused(Fault::kForbidden, target.path, "no links here");
  constexpr bool kKeep = true;
  if (stored && target.kind == NameKind::kForeign) {
    return pass_through_.link(*source.named, target);
  }
  if (stored) {
    ZARRFS_CHECK(move_stored(source.named->path, directory, target, kKeep, std::move(alone)));
  } else {
    const WorkPointer work = parts_.works.find(source.named->version);
    if (work == nullptr) return refused(Fault::kStale, source.named->path, "it is gone");
    ZARRFS_CHECK(move_work(work, directory, target, kKeep, std::move(alone)));
  }
  return names_.found_again(new_parent, new_name);
}

Result<NodeMaking> Moves::making_document(NodeId parent, std::string_view name,
                                          NameMaking& making) {
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  ZARRFS_TRY(const Name target, names_.claim(directory, std::string(name)));
  if (target.kind != NameKind::kDocument) return NodeMaking();
  making.unlock();  // this may make a node itself
  return parts_.making_node(directory.state->path);
}

}  // namespace zarrfs
