// Changes to the names of a view: create, remove, rename, link, directories.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/view/chunk_lister.h"
#include "core/view/view_directory.h"
#include "core/view/work_handle.h"

namespace zarrfs {

namespace {
constexpr int kMakeRounds = 5;
}  // namespace

Result<void> StoreView::check_writing() const {
  if (writable()) return {};
  return fail(Fault::kReadOnly, "the store is mounted read-only");
}

Result<void> StoreView::check_deleting(const std::string& path) const {
  if (shared_.options.writing->may_delete) return {};
  return refused(Fault::kForbidden, path, "the mount's option deletes=deny keeps it");
}

Result<StoreView::Directory> StoreView::directory_of(NodeId node) {
  ZARRFS_CHECK(check_writing());
  ZARRFS_TRY(Target target, resolve(node));
  if (!target.named) {
    if (!target.part.directory) return fail(Fault::kInvalid, "a chunk is not a directory");
    std::string path = part_path(*target.state, target.part);
    return Directory{target.state, target.part.coordinates, std::move(path)};
  }
  if (target.named->kind != NamedNode::Kind::kDirectory) {
    return refused(Fault::kForbidden, target.named->path, "nothing can be made here");
  }
  return Directory{target.state, std::nullopt, target.state->path};
}

/// Whether the directory belongs to a store of Zarr v2, which passes through as it is.
Result<bool> StoreView::belongs_to_v2(const NodeState& state) {
  std::string path = state.path;
  for (;;) {
    for (const char* document : {".zgroup", ".zarray"}) {
      ZARRFS_TRY(const auto status, shared_.store->status(join_path(path, document)));
      if (status) return true;
    }
    if (path.empty()) return false;
    path = parent_path(path);
    ZARRFS_TRY(const StatePtr above, nodes_.get(path));
    if (above->has_document()) return false;
  }
}

/// Whether the name is one that a chunk or a directory of chunks would have in a larger array.
bool StoreView::lies_outside(const Directory& directory, const std::string& name) {
  const NodeState& state = *directory.state;
  if (state.kind != NodeState::Kind::kArray || !looks_like_chunk(name)) return false;
  return directory.prefix ? !state.names.in_prefix(*directory.prefix, name)
                          : !state.names.in_array(name);
}

Result<StoreView::Name> StoreView::name_in(const Directory& directory, const std::string& name) {
  const NodeState& state = *directory.state;
  Name result;
  result.path = join_path(directory.path, name);
  result.store_path = join_path(state.path, name);
  const bool array = state.kind == NodeState::Kind::kArray;
  if (is_successor_name(name) || (directory.path.empty() && name == kOwnFolder)) {
    return refused(Fault::kForbidden, result.path,
                   "names that begin with .zarrfs are zarrfs's own");
  }
  if (!directory.prefix && is_document(name)) {
    if (state.kind == NodeState::Kind::kForeign) {
      // Kept until there is a node that they belong to.
      if (name == ".zattrs" || name == ".zmetadata") return result;
      ZARRFS_TRY(const bool v2, belongs_to_v2(state));
      if (v2) return result;
    }
    result.kind = Name::Kind::kDocument;
    return result;
  }
  if (array) {
    const auto part = directory.prefix ? state.names.in_prefix(*directory.prefix, name)
                                       : state.names.in_array(name);
    if (part) {
      result.kind = part->directory ? Name::Kind::kPrefix : Name::Kind::kChunk;
      result.part = *part;
      return result;
    }
    if (lies_outside(directory, name)) {
      return refused(Fault::kInvalid, result.path, "this chunk lies outside the array");
    }
  }
  if (state.kind == NodeState::Kind::kDamaged && looks_like_chunk(name)) return fail(state.error);
  if (is_concealed(state, name)) {
    return refused(Fault::kExists, result.path,
                   "the name is taken by what this view does not show");
  }
  result.kind = array ? Name::Kind::kScratch : Name::Kind::kForeign;
  if (directory.prefix) {
    ZARRFS_TRY(const auto aside, stored_aside(state, result.path));
    result.store_path = aside ? path_aside(state.path, result.path) : "";
  }
  return result;
}

/// A chunk that cannot be read is there: it can be replaced and removed.
Result<bool> StoreView::chunk_is_stored(const NodeState& array, const Coordinates& chunk) {
  const auto found = chunks_.find(array, chunk);
  if (!found && found.error().fault == Fault::kDamaged) return true;
  if (!found) return fail(found.error());
  return *found && !(*found)->is_fill;
}

Result<bool> StoreView::exists(const Directory& directory, const Name& name) {
  switch (name.kind) {
    case Name::Kind::kChunk: {
      if (works_.find(chunk_key(*directory.state, name.part.coordinates)) != nullptr) return true;
      return chunk_is_stored(*directory.state, name.part.coordinates);
    }
    case Name::Kind::kPrefix: {
      if (session_.has_chunk_directory(name.path)) return true;
      return ChunkLister(*directory.state, chunks_).prefix_exists(name.part.coordinates);
    }
    case Name::Kind::kDocument: {
      const auto shown = document_names(*directory.state);
      return std::find(shown.begin(), shown.end(), base_name(name.path)) != shown.end();
    }
    case Name::Kind::kScratch:
    case Name::Kind::kForeign: break;
  }
  if (works_.find(name.path) != nullptr) return true;
  if (name.store_path.empty()) return false;
  ZARRFS_TRY(const auto status, shared_.store->status(name.store_path));
  return status.has_value();
}

Result<Found> StoreView::found_again(NodeId parent, std::string_view name) {
  ZARRFS_TRY(const auto found, find_now(parent, name));
  if (!found) return fail(Fault::kStale, printable(name) + " is gone again");
  return *found;
}

Result<Created> StoreView::create(NodeId parent, std::string_view name, int flags, mode_t mode) {
  const auto try_once = [&]() -> Result<Created> {
    const auto making = plain_writers_.making();
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    ZARRFS_TRY(const Name target, name_in(directory, std::string(name)));
    if (target.kind == Name::Kind::kPrefix) {
      return refused(Fault::kExists, target.path, "it is a directory of chunks");
    }
    ZARRFS_TRY(const bool there, exists(directory, target));
    if (there && (flags & O_EXCL) != 0) return refused(Fault::kExists, target.path, "it exists");
    const bool stored =
        target.kind == Name::Kind::kForeign ||
        (target.kind == Name::Kind::kScratch && there && works_.find(target.path) == nullptr);
    if (stored) {
      ZARRFS_TRY(auto file, open_stored(target.store_path, flags | O_CREAT, mode));
      ZARRFS_TRY(const Found found, found_again(parent, name));
      return Created{found, std::move(file)};
    }
    WorkPointer work;
    ZARRFS_TRY(auto file, open_work(directory, target, flags | O_CREAT, &work));
    return Created{work_found(work, std::nullopt), std::move(file)};
  };
  auto created = try_once();
  for (int round = 1; round < kMakeRounds && !created; ++round) {
    if (created.error().fault != Fault::kStale) break;
    created = try_once();  // a file of this name has just been written out
  }
  return reported(std::move(created));
}

Result<Found> StoreView::make_directory(NodeId parent, std::string_view name, mode_t mode) {
  const auto answer = [&]() -> Result<Found> {
    const auto making = plain_writers_.making();
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    ZARRFS_TRY(const Name target, name_in(directory, std::string(name)));
    ZARRFS_TRY(const bool there, exists(directory, target));
    if (there) return refused(Fault::kExists, target.path, "it exists");
    switch (target.kind) {
      case Name::Kind::kPrefix: session_.make_chunk_directory(target.path); break;
      case Name::Kind::kChunk:
      case Name::Kind::kDocument:
        return refused(Fault::kInvalid, target.path, "a directory cannot have this name");
      case Name::Kind::kScratch:
      case Name::Kind::kForeign: {
        if (target.store_path.empty()) {
          return refused(Fault::kInvalid, target.path, "not a directory of chunks");
        }
        ZARRFS_CHECK(shared_.store->make_directory(target.store_path, mode));
        session_.make_directory(target.store_path);
        nodes_.forget();
        break;
      }
    }
    return found_again(parent, name);
  };
  return reported(answer());
}

void StoreView::detach(const std::string& key) {
  const WorkPointer work = works_.find(key);
  if (work == nullptr) return;
  const std::lock_guard lock(work->mutex);
  work->gone = true;
  works_.leave(work);
}

Result<void> StoreView::remove_shown_document(const Directory& directory, const std::string& name) {
  const std::string& path = directory.state->path;
  session_.remove_document(path, name);
  if (session_.is_condemned(path) || name != ".zattrs") return {};
  return editor_.clear_attributes(path);
}

/// The directories of a chunk stay when it goes: who removes a tree removes them next.
void StoreView::keep_directories(const Directory& directory) {
  const NodeState& array = *directory.state;
  if (!directory.prefix || !array.names.nested()) return;
  for (std::string path = directory.path; path != array.path; path = parent_path(path)) {
    session_.make_chunk_directory(path);
  }
}

Result<bool> StoreView::remove_file(NodeId parent, std::string_view name) {
  const auto answer = [&]() -> Result<bool> {
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    // The kernel asks for what it saw a moment ago: shrinking the array has removed it since.
    if (lies_outside(directory, std::string(name))) return true;
    ZARRFS_TRY(const Name target, name_in(directory, std::string(name)));
    switch (target.kind) {
      case Name::Kind::kChunk: {
        ZARRFS_CHECK(check_deleting(target.path));
        const std::string key = chunk_key(*directory.state, target.part.coordinates);
        const bool written = works_.find(key) != nullptr;
        const Coordinates& chunk = target.part.coordinates;
        ZARRFS_TRY(const bool stored, chunk_is_stored(*directory.state, chunk));
        const bool made_up = directory.state->presentation.materialise != Materialise::kOff;
        if (!stored && !written && !made_up) return false;
        detach(key);
        if (stored) ZARRFS_CHECK(chunk_writer_.remove(*directory.state, chunk));
        keep_directories(directory);
        return true;
      }
      case Name::Kind::kDocument: {
        ZARRFS_TRY(const bool there, exists(directory, target));
        if (!there) return false;
        ZARRFS_CHECK(check_deleting(target.path));
        detach(target.path);
        ZARRFS_CHECK(remove_shown_document(directory, base_name(target.path)));
        return true;
      }
      case Name::Kind::kPrefix: return refused(Fault::kForbidden, target.path, "it is a directory");
      case Name::Kind::kScratch:
      case Name::Kind::kForeign: break;
    }
    const bool written = works_.find(target.path) != nullptr;
    detach(target.path);
    if (target.store_path.empty()) return written;
    ZARRFS_TRY(const auto status, shared_.store->status(target.store_path));
    if (!status) return written;
    ZARRFS_CHECK(shared_.store->remove(target.store_path));
    drop_empty_aside(*shared_.store, target.store_path);
    return true;
  };
  return reported(answer());
}

Result<bool> StoreView::is_empty(const StatePtr& state, const std::optional<Coordinates>& prefix) {
  if (state->kind == NodeState::Kind::kArray) {
    constexpr bool kStoredOnly = true;
    ChunkLister lister(*state, chunks_, kStoredOnly);
    ZARRFS_TRY(const bool any, lister.any_below(prefix.value_or(Coordinates())));
    if (any) return false;
  }
  bool empty = true;
  // Documents and other names. Chunks that are only materialised do not count, nor directories of
  // chunks without any: where flat names are listed, nobody sees them while they hold a chunk.
  const auto directory = prefix ? std::make_shared<ViewDirectory>(*this, state, *prefix)
                                : std::make_shared<ViewDirectory>(*this, state);
  const std::string path = prefix ? part_path(*state, {true, *prefix}) : state->path;
  ZARRFS_CHECK(directory->list_names_only([&](const Listed& one) {
    empty = session_.has_chunk_directory(join_path(path, std::string(one.name)));
    return empty;
  }));
  return empty;
}

Result<bool> StoreView::remove_directory(NodeId parent, std::string_view name) {
  const auto answer = [&]() -> Result<bool> {
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    if (lies_outside(directory, std::string(name))) return true;  // as in remove_file
    ZARRFS_TRY(const Name target, name_in(directory, std::string(name)));
    ZARRFS_TRY(const bool there, exists(directory, target));
    // A directory that held no chunk was there for its shard, whose last chunk was removed since.
    if (!there) return target.kind == Name::Kind::kPrefix;
    const auto not_empty = [&] {
      return refused(Fault::kNotEmpty, target.path, "it is not empty");
    };
    if (target.kind == Name::Kind::kPrefix) {
      ZARRFS_TRY(const bool empty, is_empty(directory.state, target.part.coordinates));
      if (!empty) return not_empty();
      session_.forget(target.path);
      return true;
    }
    if (target.kind == Name::Kind::kChunk || target.kind == Name::Kind::kDocument) {
      return refused(Fault::kInvalid, target.path, "it is not a directory");
    }
    ZARRFS_TRY(const StatePtr state, nodes_.get(target.store_path));
    const bool plain = state->kind == NodeState::Kind::kForeign ||
                       state->kind == NodeState::Kind::kImplicitGroup ||
                       state->kind == NodeState::Kind::kAbsent;
    if (plain) {
      ZARRFS_CHECK(shared_.store->remove_directory(target.store_path));
    } else {
      ZARRFS_CHECK(check_deleting(target.path));
      if (state->kind == NodeState::Kind::kHidden) return not_empty();
      ZARRFS_TRY(const bool empty, is_empty(state, std::nullopt));
      if (!empty) return not_empty();
      ZARRFS_CHECK(editor_.remove_node(target.store_path));
    }
    nodes_.forget();
    session_.forget(target.path);
    table_.removed({NamedNode::Kind::kDirectory, target.store_path, 0});
    return true;
  };
  return reported(answer());
}

std::vector<std::string> StoreView::made_in(const NodeState& array,
                                            const std::optional<Coordinates>& prefix) {
  const std::string path = prefix ? part_path(array, {true, *prefix}) : array.path;
  std::vector<std::string> made = session_.chunk_directories_in(path);
  std::erase_if(made, [&](const std::string& name) {  // those that hold chunks are listed as such
    const auto part = prefix ? array.names.in_prefix(*prefix, name) : array.names.in_array(name);
    if (!part || !part->directory) return true;  // the array has shrunk since
    const auto listed = ChunkLister(array, chunks_).prefix_exists(part->coordinates);
    return listed && *listed;  // listed with the chunks
  });
  return made;
}

Result<void> StoreView::take_bytes(const Directory& directory, const Name& target, ByteView bytes,
                                   const struct timespec& modified, NodeMaking alone) {
  const NodeState& state = *directory.state;
  if (target.kind == Name::Kind::kChunk) {
    detach(chunk_key(state, target.part.coordinates));
    ZARRFS_CHECK(chunk_writer_.put(state, target.part.coordinates, bytes, modified));
    if (!shared_.options.writing->flush_at_close) return {};
    return chunk_writer_.publish(state, target.part.coordinates);
  }
  const std::string name = base_name(target.path);
  ZARRFS_CHECK(editor_.write(state.path, name, bytes, std::move(alone)));
  detach(target.path);
  return {};
}

Result<void> StoreView::move_work(const WorkPointer& work, const Directory& directory,
                                  const Name& target, bool keep, NodeMaking alone) {
  const std::lock_guard lock(work->mutex);
  const bool takes = target.kind == Name::Kind::kChunk || target.kind == Name::Kind::kDocument;
  if (takes) {
    ZARRFS_TRY(const Bytes bytes, work->bytes.read(0, work->bytes.size()));
    ZARRFS_CHECK(take_bytes(directory, target, bytes, work->modified, std::move(alone)));
    work->dirty = keep;
  }
  if (keep)
    return takes ? Result<void>{} : refused(Fault::kForbidden, target.path, "no links here");
  if (work->backed) {
    std::string name = work->path.substr(work->directory.empty() ? 0 : work->directory.size() + 1);
    std::replace(name.begin(), name.end(), '/', '.');
    ZARRFS_CHECK(shared_.store->remove(join_path(work->directory, name)));
    work->backed = false;
    work->dirty = !takes;
  }
  const std::string& home = directory.state->path;
  if (takes && work->writers == 0) {
    works_.leave(work);
  } else if (takes) {  // who still writes to it writes to the chunk
    const bool chunk = target.kind == Name::Kind::kChunk;
    work->path = target.path;
    work->chunk = target.part.coordinates;
    works_.enter(chunk ? chunk_key(*directory.state, work->chunk) : target.path, work,
                 chunk ? Work::Kind::kChunk : Work::Kind::kDocument, home);
  } else {
    work->path = target.path;
    if (target.kind == Name::Kind::kScratch && !target.store_path.empty()) {
      // A file of this name in the store is what this one replaces when it is written out.
      ZARRFS_TRY(const auto replaced, shared_.store->status(target.store_path));
      work->backed = replaced.has_value();
    }
    const WorkPointer before = works_.enter(target.path, work, Work::Kind::kScratch, home);
    if (before != nullptr) before->gone = true;
    if (target.kind == Name::Kind::kForeign) {
      work->dirty = true;
      ZARRFS_CHECK(write_out(*work));
      if (work->writers == 0) works_.leave(work);
    }
  }
  return {};
}

Result<void> StoreView::move_stored(const std::string& from, const Directory& directory,
                                    const Name& target, bool keep, NodeMaking alone) {
  const bool takes = target.kind == Name::Kind::kChunk || target.kind == Name::Kind::kDocument;
  if (!takes && !keep) {
    if (target.store_path.empty()) return refused(Fault::kCrossDevice, target.path, "copy it");
    detach(target.path);
    ZARRFS_CHECK(shared_.store->rename(from, target.store_path));
    drop_empty_aside(*shared_.store, from);
    return {};
  }
  ZARRFS_TRY(const auto file, shared_.store->open(from));
  if (file == nullptr) return refused(Fault::kStale, from, "it is gone");
  if (!takes) {  // a program that links a new file to its name removes the first name next
    if (target.kind != Name::Kind::kForeign)
      return refused(Fault::kForbidden, target.path, "no links here");
    return write_file(target.store_path, file->size(), [&](std::uint64_t at, std::uint64_t most) {
      return file->read_range({at, std::min(most, file->size() - at)});
    });
  }
  ZARRFS_TRY(const Bytes bytes, file->read_range({0, file->size()}));
  ZARRFS_CHECK(take_bytes(directory, target, bytes, file->status().st_mtim, std::move(alone)));
  if (keep) return {};
  ZARRFS_CHECK(shared_.store->remove(from));
  drop_empty_aside(*shared_.store, from);
  return {};
}

Result<void> StoreView::move_directory(const std::string& from, const Directory& directory,
                                       const Name& target) {
  if (target.kind != Name::Kind::kForeign || directory.state->kind == NodeState::Kind::kArray) {
    return refused(Fault::kInvalid, target.path, "a directory cannot be moved here");
  }
  ZARRFS_CHECK(check_deleting(from));
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
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    ZARRFS_TRY(const Name source, name_in(directory, std::string(name)));
    ZARRFS_TRY(const bool there, exists(directory, source));
    if (!there) return false;
    ZARRFS_TRY(const Directory new_directory, directory_of(new_parent));
    ZARRFS_TRY(const Name target, name_in(new_directory, std::string(new_name)));
    if (source.path == target.path) return true;
    NodeMaking alone;
    if (target.kind == Name::Kind::kDocument) {
      making.unlock();  // this may make a node itself
      ZARRFS_TRY(alone, making_node(new_directory.state->path));
    }
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
    if (const WorkPointer work = works_.find(source.path)) {
      ZARRFS_CHECK(move_work(work, new_directory, target, false, std::move(alone)));
      return true;
    }
    ZARRFS_TRY(const auto status, shared_.store->status(source.store_path));
    if (!status) return false;
    if (S_ISDIR(status->st_mode)) {
      if (making.owns_lock()) making.unlock();  // it waits for changes of documents
      ZARRFS_CHECK(move_directory(source.store_path, new_directory, target));
    } else {
      ZARRFS_CHECK(move_stored(source.store_path, new_directory, target, false, std::move(alone)));
    }
    return true;
  };
  return reported(answer());
}

Result<Found> StoreView::link(NodeId node, NodeId new_parent, std::string_view new_name) {
  const auto answer = [&]() -> Result<Found> {
    auto making = plain_writers_.making();
    ZARRFS_TRY(const Directory directory, directory_of(new_parent));
    ZARRFS_TRY(const Name target, name_in(directory, std::string(new_name)));
    NodeMaking alone;
    if (target.kind == Name::Kind::kDocument) {
      making.unlock();  // this may make a node itself
      ZARRFS_TRY(alone, making_node(directory.state->path));
    }
    ZARRFS_TRY(const bool taken, exists(directory, target));
    if (taken) return refused(Fault::kExists, target.path, "it exists");
    ZARRFS_TRY(const Target source, resolve(node));
    const bool written = source.named && source.named->kind == NamedNode::Kind::kWork;
    const bool stored = source.named && source.named->kind == NamedNode::Kind::kForeign;
    if (!written && !stored) return refused(Fault::kForbidden, target.path, "no links here");
    constexpr bool kKeep = true;
    if (stored) {
      ZARRFS_CHECK(move_stored(source.named->path, directory, target, kKeep, std::move(alone)));
    } else {
      const WorkPointer work = works_.find(source.named->version);
      if (work == nullptr) return refused(Fault::kStale, source.named->path, "it is gone");
      ZARRFS_CHECK(move_work(work, directory, target, kKeep, std::move(alone)));
    }
    return found_again(new_parent, new_name);
  };
  return reported(answer());
}

}  // namespace zarrfs
