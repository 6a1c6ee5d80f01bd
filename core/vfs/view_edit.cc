// Changes to the names of a view: create, remove, rename, link, directories.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/chunks/chunk_lister.h"
#include "core/store/as_caller.h"
#include "core/store/store_users.h"
#include "core/vfs/stored_as_caller.h"
#include "core/vfs/view_directory.h"
#include "core/vfs/work_handle.h"

namespace zarrfs {

namespace {
constexpr int kMakeRounds = 5;
}  // namespace

Result<void> StoreView::check_caller(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    ZARRFS_CHECK(check_caller_may_write(*shared_.store, path));
  }
  return {};
}

Result<void> StoreView::check_caller(const Directory& directory, const Name& name) {
  if (foreign_caller() == nullptr) return {};
  const NodeState& state = *directory.state;
  switch (name.kind) {
    case Name::Kind::kChunk:
      return check_caller({ChunkWriter::shard_of(state.shown, name.part.coordinates)});
    case Name::Kind::kDocument: return check_caller({join_path(state.path, kStoredDocument)});
    case Name::Kind::kPrefix:
    case Name::Kind::kScratch:
    case Name::Kind::kForeign: return check_caller({state.path});
  }
  return {};
}

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
    std::string path = part_path(target.state->shown, target.part);
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
  return directory.prefix ? !state.shown.names.in_prefix(*directory.prefix, name)
                          : !state.shown.names.in_array(name);
}

Result<StoreView::Name> StoreView::name_in(const Directory& directory, const std::string& name) {
  const NodeState& state = *directory.state;
  const auto stored = state.levels.stored(name);
  Name result;
  result.path = join_path(directory.path, stored.value_or(name));
  result.store_path = join_path(state.path, stored.value_or(name));
  if (!stored) return refused(Fault::kExists, result.path, "a level has this name in the store");
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
    const auto part = directory.prefix ? state.shown.names.in_prefix(*directory.prefix, name)
                                       : state.shown.names.in_array(name);
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
  const auto found = chunks_.find(array.shown, chunk);
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
      return ChunkLister(directory.state->shown, chunks_).prefix_exists(name.part.coordinates);
    }
    case Name::Kind::kDocument: {
      if (works_.find(name.path) != nullptr) return true;
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
    ZARRFS_TRY(Name target, name_in(directory, std::string(name)));
    target.mode = mode;
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
    ZARRFS_TRY(auto file, open_work(directory, target, kRootNode, flags | O_CREAT, &work));
    return Created{work_found(work, std::nullopt), std::move(file)};
  };
  auto created = try_once();
  for (int round = 1; round < kMakeRounds && !created; ++round) {
    if (created.error().fault != Fault::kStale) break;
    created = try_once();  // a file of this name has just been written out
  }
  return reported_unless_waiting(std::move(created), parent, name);
}

Result<Found> StoreView::make_directory(NodeId parent, std::string_view name, mode_t mode) {
  const auto answer = [&]() -> Result<Found> {
    const auto making = plain_writers_.making();
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    ZARRFS_TRY(const Name target, name_in(directory, std::string(name)));
    ZARRFS_TRY(const bool there, exists(directory, target));
    if (there) return refused(Fault::kExists, target.path, "it exists");
    switch (target.kind) {
      case Name::Kind::kPrefix:
        ZARRFS_CHECK(check_caller(directory, target));
        session_.make_chunk_directory(target.path);
        break;
      case Name::Kind::kChunk:
      case Name::Kind::kDocument:
        return refused(Fault::kInvalid, target.path, "a directory cannot have this name");
      case Name::Kind::kScratch:
      case Name::Kind::kForeign: {
        if (target.store_path.empty()) {
          return refused(Fault::kInvalid, target.path, "not a directory of chunks");
        }
        ZARRFS_CHECK(make_as_caller(*shared_.store, target.store_path, mode));
        session_.make_directory(target.store_path);
        nodes_.forget();
        break;
      }
    }
    return found_again(parent, name);
  };
  return reported(answer());
}

std::string StoreView::work_key(const Directory& directory, const Name& name) {
  return name.kind == Name::Kind::kChunk ? chunk_key(*directory.state, name.part.coordinates)
                                         : name.path;
}

StoreView::Displaced StoreView::displaced(const std::string& key, WorkLock& with) {
  for (;;) {
    WorkPointer work = works_.find(key);
    if (work == nullptr || &work->mutex == with.mutex()) {
      with.lock();
      return {};
    }
    WorkLock lock(work->mutex, std::defer_lock);
    std::lock(with, lock);
    if (works_.find(key) == work) return {std::move(work), std::move(lock)};
    with.unlock();
  }
}

void StoreView::unlink_work(const WorkPointer& work) {
  work->gone = true;
  works_.leave(work);
}

void StoreView::detach(const std::string& key) {
  const WorkPointer work = works_.find(key);
  if (work == nullptr) return;
  const std::lock_guard lock(work->mutex);
  unlink_work(work);
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
  if (!directory.prefix || !array.shown.names.nested()) return;
  for (std::string path = directory.path; path != array.path; path = parent_path(path)) {
    session_.make_chunk_directory(path);
  }
}

Result<bool> StoreView::remove_file(NodeId parent, std::string_view name) {
  const auto answer = [&]() -> Result<bool> {
    const auto putting = move_gate_.putting();
    ZARRFS_TRY(const Directory directory, directory_of(parent));
    // The kernel asks for what it saw a moment ago: shrinking the array has removed it since.
    if (lies_outside(directory, std::string(name))) return true;
    ZARRFS_TRY(const Name target, name_in(directory, std::string(name)));
    switch (target.kind) {
      case Name::Kind::kChunk: {
        ZARRFS_CHECK(check_deleting(target.path));
        ZARRFS_CHECK(check_caller(directory, target));
        const std::string key = chunk_key(*directory.state, target.part.coordinates);
        const bool written = works_.find(key) != nullptr;
        const Coordinates& chunk = target.part.coordinates;
        ZARRFS_TRY(const bool stored, chunk_is_stored(*directory.state, chunk));
        const bool made_up = directory.state->shown.presentation.materialise != Materialise::kOff;
        if (!stored && !written && !made_up) return false;
        detach(key);
        if (stored) ZARRFS_CHECK(chunk_writer_.remove(directory.state->shown, chunk));
        keep_directories(directory);
        return true;
      }
      case Name::Kind::kDocument: {
        ZARRFS_TRY(const bool there, exists(directory, target));
        if (!there) return false;
        ZARRFS_CHECK(check_deleting(target.path));
        ZARRFS_CHECK(check_caller(directory, target));
        detach(target.path);
        ZARRFS_TRY(const bool stored, exists(directory, target));
        if (stored) ZARRFS_CHECK(remove_shown_document(directory, base_name(target.path)));
        return true;
      }
      case Name::Kind::kPrefix: return refused(Fault::kForbidden, target.path, "it is a directory");
      case Name::Kind::kScratch:
      case Name::Kind::kForeign: break;
    }
    const bool written = works_.find(target.path) != nullptr;
    if (written) ZARRFS_CHECK(check_caller(directory, target));
    detach(target.path);
    if (target.store_path.empty()) return written;
    ZARRFS_TRY(const auto status, shared_.store->status(target.store_path));
    if (!status) return written;
    ZARRFS_CHECK(remove_as_caller(*shared_.store, target.store_path));
    drop_empty_aside(*shared_.store, target.store_path);
    return true;
  };
  return reported(answer());
}

Result<bool> StoreView::is_empty(const StatePtr& state, const std::optional<Coordinates>& prefix) {
  if (state->kind == NodeState::Kind::kArray) {
    constexpr bool kStoredOnly = true;
    ChunkLister lister(state->shown, chunks_, kStoredOnly);
    ZARRFS_TRY(const bool any, lister.any_below(prefix.value_or(Coordinates())));
    if (any) return false;
  }
  bool empty = true;
  // Documents and other names. Chunks that are only materialised do not count, nor directories of
  // chunks without any: where flat names are listed, nobody sees them while they hold a chunk.
  const auto directory = prefix ? std::make_shared<ViewDirectory>(*this, state, *prefix)
                                : std::make_shared<ViewDirectory>(*this, state);
  const std::string path = prefix ? part_path(state->shown, {true, *prefix}) : state->path;
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
      ZARRFS_CHECK(check_caller(directory, target));
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
      ZARRFS_CHECK(remove_directory_as_caller(*shared_.store, target.store_path));
    } else {
      ZARRFS_CHECK(check_deleting(target.path));
      ZARRFS_CHECK(check_caller({directory.state->path, target.store_path}));
      if (state->kind == NodeState::Kind::kHidden) return not_empty();
      const auto moving = move_gate_.moving();  // no chunk is put from here on
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
  const std::string path = prefix ? part_path(array.shown, {true, *prefix}) : array.path;
  std::vector<std::string> made = session_.chunk_directories_in(path);
  std::erase_if(made, [&](const std::string& name) {  // those that hold chunks are listed as such
    const auto part =
        prefix ? array.shown.names.in_prefix(*prefix, name) : array.shown.names.in_array(name);
    if (!part || !part->directory) return true;  // the array has shrunk since
    const auto listed = ChunkLister(array.shown, chunks_).prefix_exists(part->coordinates);
    return listed && *listed;  // listed with the chunks
  });
  return made;
}

}  // namespace zarrfs
