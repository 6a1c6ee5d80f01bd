// From one name to another: rename and link of what is being written, stored, or a directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/store/as_caller.h"
#include "core/vfs/stored_as_caller.h"
#include "core/vfs/work_handle.h"

namespace zarrfs {

Result<void> StoreView::take_bytes(const Directory& directory, const Name& target, ByteView bytes,
                                   const struct timespec& modified, NodeMaking alone) {
  const NodeState& state = *directory.state;
  if (target.kind == Name::Kind::kChunk) {
    ZARRFS_CHECK(chunk_writer_.put(state.shown, target.part.coordinates, bytes, modified));
    if (!shared_.options.writing->flush_at_close) return {};
    return chunk_writer_.publish(state.shown, target.part.coordinates);
  }
  return editor_.write(state.path, base_name(target.path), bytes, std::move(alone));
}

Result<void> StoreView::move_work(const WorkPointer& work, const Directory& directory,
                                  const Name& target, bool keep, NodeMaking alone) {
  WorkLock lock(work->mutex, std::defer_lock);
  const Displaced replaced = displaced(work_key(directory, target), lock);
  if (work->gone) return refused(Fault::kStale, work->path, "it is gone");
  const bool takes = target.kind == Name::Kind::kChunk || target.kind == Name::Kind::kDocument;
  if (!takes) {
    if (keep) return refused(Fault::kForbidden, target.path, "no links here");
    return rename_work(work, replaced.work, directory, target);
  }
  ZARRFS_TRY(const Bytes bytes, work->bytes.read(0, work->bytes.size()));
  ZARRFS_CHECK(take_bytes(directory, target, bytes, work->modified, std::move(alone)));
  if (replaced.work != nullptr) unlink_work(replaced.work);
  work->dirty = keep;
  if (keep) return {};
  ZARRFS_CHECK(remove_written_out(*work));
  work->dirty = false;
  if (work->writers == 0) {
    works_.leave(work);
    return {};
  }
  const bool chunk =
      target.kind == Name::Kind::kChunk;  // who still writes to it writes to the chunk
  work->path = target.path;
  work->chunk = target.part.coordinates;
  works_.enter(work_key(directory, target), work,
               chunk ? Work::Kind::kChunk : Work::Kind::kDocument, directory.state->path);
  return {};
}

/// What an earlier write_out has put into the store.
Result<void> StoreView::remove_written_out(Work& work) {
  if (!work.backed) return {};
  std::string name = work.path.substr(work.directory.empty() ? 0 : work.directory.size() + 1);
  std::replace(name.begin(), name.end(), '/', '.');
  ZARRFS_CHECK(shared_.store->remove(join_path(work.directory, name)));
  work.backed = false;
  work.dirty = true;
  return {};
}

/// To a name that is neither a chunk's nor a document's. The caller holds the mutexes of both.
Result<void> StoreView::rename_work(const WorkPointer& work, const WorkPointer& replaced,
                                    const Directory& directory, const Name& target) {
  ZARRFS_CHECK(remove_written_out(*work));
  work->path = target.path;
  if (target.kind == Name::Kind::kScratch && !target.store_path.empty()) {
    // A file of this name in the store is what this one replaces when it is written out.
    ZARRFS_TRY(const auto stored, shared_.store->status(target.store_path));
    work->backed = stored.has_value();
  }
  if (replaced != nullptr) unlink_work(replaced);
  works_.enter(target.path, work, Work::Kind::kScratch, directory.state->path);
  if (target.kind != Name::Kind::kForeign) return {};
  work->dirty = true;
  ZARRFS_CHECK(write_out(*work));
  if (work->writers == 0) works_.leave(work);
  return {};
}

Result<void> StoreView::move_stored(const std::string& from, const Directory& directory,
                                    const Name& target, bool keep, NodeMaking alone) {
  const bool takes = target.kind == Name::Kind::kChunk || target.kind == Name::Kind::kDocument;
  if (!takes && !keep) {
    if (target.store_path.empty()) return refused(Fault::kCrossDevice, target.path, "copy it");
    detach(target.path);
    ZARRFS_CHECK(rename_as_caller(*shared_.store, from, target.store_path));
    drop_empty_aside(*shared_.store, from);
    return {};
  }
  if (!takes) return refused(Fault::kForbidden, target.path, "no links here");
  ZARRFS_TRY(const auto file, open_as_caller(*shared_.store, from));
  if (file == nullptr) return refused(Fault::kStale, from, "it is gone");
  ZARRFS_TRY(const Bytes bytes, file->read_range({0, file->size()}));
  const std::string key = work_key(directory, target);
  const WorkPointer replaced = works_.find(key);
  WorkLock lock;
  if (replaced != nullptr) lock = WorkLock(replaced->mutex);
  ZARRFS_CHECK(take_bytes(directory, target, bytes, file->status().st_mtim, std::move(alone)));
  if (replaced != nullptr) unlink_work(replaced);
  if (keep) return {};
  ZARRFS_CHECK(remove_as_caller(*shared_.store, from));
  drop_empty_aside(*shared_.store, from);
  return {};
}

Result<void> StoreView::move_directory(const std::string& from, const Directory& directory,
                                       const Name& target) {
  if (target.kind != Name::Kind::kForeign || directory.state->kind == NodeState::Kind::kArray) {
    return refused(Fault::kInvalid, target.path, "a directory cannot be moved here");
  }
  ZARRFS_CHECK(check_deleting(from));
  ZARRFS_CHECK(check_caller({parent_path(from), from, directory.state->path}));
  ZARRFS_CHECK(shared_.writes->commit_below(from));  // most of it while chunks may still be put
  const auto moving = move_gate_.moving();
  ZARRFS_CHECK(editor_.move(from, target.store_path));
  shared_.spellings.moved(from, target.store_path);
  nodes_.moved_away(from);
  table_.moved(from, target.store_path);
  for (const WorkPointer& work : works_.below(from)) {
    const std::lock_guard lock(work->mutex);
    works_.moved(work, from, target.store_path);
  }
  session_.moved(from, target.store_path);
  plain_writers_.moved(from, target.store_path);
  return {};
}

Result<bool> StoreView::rename(NodeId parent, std::string_view name, NodeId new_parent,
                               std::string_view new_name, bool replace) {
  const auto answer = [&]() -> Result<bool> {
    auto making = plain_writers_.making();
    ZARRFS_TRY(NodeMaking alone, making_document(new_parent, new_name, making));
    auto putting = move_gate_.putting();
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    ZARRFS_TRY(const Name source, name_in(directory, std::string(name)));
    ZARRFS_TRY(const bool there, exists(directory, source));
    if (!there) return false;
    ZARRFS_TRY(const Directory new_directory, directory_of(new_parent));
    ZARRFS_TRY(const Name target, name_in(new_directory, std::string(new_name)));
    if (source.path == target.path) return true;
    const bool presented = source.kind == Name::Kind::kChunk ||
                           source.kind == Name::Kind::kPrefix ||
                           source.kind == Name::Kind::kDocument;
    if (presented) return refused(Fault::kCrossDevice, source.path, "copy it");
    if (target.kind == Name::Kind::kPrefix) {
      return refused(Fault::kExists, target.path, "it is a directory of chunks");
    }
    ZARRFS_TRY(const bool taken, exists(new_directory, target));
    if (taken && !replace) return refused(Fault::kExists, target.path, "it exists");
    if (taken && (target.kind == Name::Kind::kChunk || target.kind == Name::Kind::kDocument)) {
      ZARRFS_CHECK(check_deleting(target.path));
    }
    ZARRFS_CHECK(check_caller(new_directory, target));
    if (const WorkPointer work = works_.find(source.path)) {
      ZARRFS_CHECK(move_work(work, new_directory, target, false, std::move(alone)));
      return true;
    }
    ZARRFS_TRY(const auto status, shared_.store->status(source.store_path));
    if (!status) return false;
    if (S_ISDIR(status->st_mode)) {
      if (making.owns_lock()) making.unlock();  // it waits for changes of documents
      putting.unlock();
      ZARRFS_CHECK(move_directory(source.store_path, new_directory, target));
    } else {
      ZARRFS_CHECK(move_stored(source.store_path, new_directory, target, false, std::move(alone)));
    }
    return true;
  };
  return reported_unless_waiting(answer(), new_parent, new_name);
}

/// A second name of the same file.
Result<Found> StoreView::link_stored(const NamedNode& from, const Name& target) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  ZARRFS_TRY(const Fd file, shared_.store->open_plain(from.path, O_RDONLY, 0));
  struct stat status {};
  const bool same =
      file.valid() && ::fstat(file.get(), &status) == 0 && file_version(status) == from.version;
  if (!same) return refused(Fault::kStale, from.path, "it is another file now");
  ZARRFS_TRY(const Fd directory,
             shared_.store->open_plain(parent_path(target.store_path), O_RDONLY | O_DIRECTORY, 0));
  if (!directory.valid()) return refused(Fault::kStale, target.path, "its directory is gone");
  const std::string opened = "/proc/self/fd/" + std::to_string(file.get());
  if (::linkat(AT_FDCWD, opened.c_str(), directory.get(), base_name(target.store_path).c_str(),
               AT_SYMLINK_FOLLOW) != 0 ||
      ::fstat(file.get(), &status) != 0) {
    return fail(system_error(errno, "/" + target.path + ": linking /" + from.path + " to it"));
  }
  return foreign_found(from.path, status);  // the same node: the kernel learns its number of names
}

bool StoreView::must_wait(NodeId parent, std::string_view name) {
  const auto directory = directory_of(parent);
  if (!directory) return false;
  return plain_writers_.node_waits(directory->state->path) ||
         plain_writers_.node_waits_around(join_path(directory->path, std::string(name)));
}

Result<Found> StoreView::link(NodeId node, NodeId new_parent, std::string_view new_name) {
  const auto answer = [&]() -> Result<Found> {
    auto making = plain_writers_.making();
    ZARRFS_TRY(NodeMaking alone, making_document(new_parent, new_name, making));
    const auto putting = move_gate_.putting();
    ZARRFS_TRY(const Directory directory, directory_of(new_parent));
    ZARRFS_TRY(const Name target, name_in(directory, std::string(new_name)));
    ZARRFS_TRY(const bool taken, exists(directory, target));
    if (taken) return refused(Fault::kExists, target.path, "it exists");
    ZARRFS_CHECK(check_caller(directory, target));
    ZARRFS_TRY(const Target source, resolve(node));
    const bool written = source.named && source.named->kind == NamedNode::Kind::kWork;
    const bool stored = source.named && source.named->kind == NamedNode::Kind::kForeign;
    if (!written && !stored) return refused(Fault::kForbidden, target.path, "no links here");
    constexpr bool kKeep = true;
    if (stored && target.kind == Name::Kind::kForeign) {
      return link_stored(*source.named, target);
    }
    if (stored) {
      ZARRFS_CHECK(move_stored(source.named->path, directory, target, kKeep, std::move(alone)));
    } else {
      const WorkPointer work = works_.find(source.named->version);
      if (work == nullptr) return refused(Fault::kStale, source.named->path, "it is gone");
      ZARRFS_CHECK(move_work(work, directory, target, kKeep, std::move(alone)));
    }
    return found_again(new_parent, new_name);
  };
  return reported_unless_waiting(answer(), new_parent, new_name);
}

}  // namespace zarrfs
