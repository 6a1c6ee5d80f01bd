#include "core/vfs/staged_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/vfs/errors.h"
#include "core/vfs/work_handle.h"
#include "core/write/ownership.h"
#include "core/write/whole_file.h"

namespace zarrfs {

namespace {
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
constexpr mode_t kFileMode = 0666;
constexpr mode_t kPermissionBits = 0777;

bool is_temporary_of(std::string_view name) {
  // "0.0.1f2e.partial", "0.0.__lock", ".zarray.1f2e.partial", "zarr.1f2e.partial": the unfinished
  // file of an atomic write.
  constexpr std::array<std::string_view, 3> kEnds = {".partial", ".__lock", ".tmp"};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [name](std::string_view end) { return name.ends_with(end); });
}

/// Whether it stands in a directory of chunks, which is none in the store: only here it is found by
/// its name.
bool is_scratch_among_chunks(const Work& work) {
  const std::size_t start = work.directory.empty() ? 0 : work.directory.size() + 1;
  return work.kind == Work::Kind::kScratch && work.path.find('/', start) != std::string::npos;
}

/// Where a scratch file is put in the store.
std::string stored_path_of(const Work& work) {
  std::string name = work.path.substr(work.directory.empty() ? 0 : work.directory.size() + 1);
  std::replace(name.begin(), name.end(), '/', '.');
  return join_path(work.directory, name);
}

NameKind name_kind_of(Work::Kind kind) {
  switch (kind) {
    case Work::Kind::kChunk: return NameKind::kChunk;
    case Work::Kind::kDocument: return NameKind::kDocument;
    case Work::Kind::kScratch: break;
  }
  return NameKind::kScratch;
}

Work::Kind work_kind_of(const Name& name) {
  if (name.kind == NameKind::kChunk) return Work::Kind::kChunk;
  return name.kind == NameKind::kDocument ? Work::Kind::kDocument : Work::Kind::kScratch;
}
}  // namespace

std::string StagedFiles::key_of(const Directory& directory, const Name& name) {
  return name.kind == NameKind::kChunk ? chunk_key(*directory.state, name.part.coordinates)
                                       : name.path;
}

StagedFiles::Displaced StagedFiles::displaced(const std::string& key, WorkLock& with) {
  for (;;) {
    WorkPointer work = parts_.works.find(key);
    if (work == nullptr || &work->mutex == with.mutex()) {
      with.lock();
      return {};
    }
    WorkLock lock(work->mutex, std::defer_lock);
    std::lock(with, lock);
    if (parts_.works.find(key) == work) return {std::move(work), std::move(lock)};
    with.unlock();
  }
}

void StagedFiles::unlink(const WorkPointer& work) {
  work->gone = true;
  parts_.works.leave(work);
}

void StagedFiles::detach(const std::string& key) {
  const WorkPointer work = parts_.works.find(key);
  if (work == nullptr) return;
  const std::lock_guard lock(work->mutex);
  unlink(work);
}

Result<std::shared_ptr<OpenFile>> StagedFiles::open(const Directory& directory, const Name& name,
                                                    NodeId node, int flags, WorkPointer* made) {
  ZARRFS_CHECK(check_opening(directory, name, flags));
  const std::string key = key_of(directory, name);
  for (;;) {
    WorkPointer work = parts_.works.find(key);
    if (work == nullptr) {
      ZARRFS_TRY(work, make_work(directory, name, flags));
      work = parts_.works.enter_new(key, work);
    }
    const std::lock_guard lock(work->mutex);
    if (parts_.works.find(key) != work) {  // its last writer has just gone, or it was written out
      if (name.kind == NameKind::kScratch)
        return refused(Fault::kStale, name.path, "it was stored");
      continue;
    }
    if (made != nullptr) *made = work;
    return one_more_writer(work, node, flags);
  }
}

Result<void> StagedFiles::check_opening(const Directory& directory, const Name& name, int flags) {
  const bool chunk = name.kind == NameKind::kChunk;
  if (chunk) ZARRFS_CHECK(ChunkWriter::check_writable(directory.state->shown));
  const bool stored = chunk || name.kind == NameKind::kDocument;
  if (!stored && (flags & O_CREAT) == 0) return {};
  return rights_.check_caller(directory, name);
}

Result<std::shared_ptr<OpenFile>> StagedFiles::one_more_writer(const WorkPointer& work, NodeId node,
                                                               int flags) {
  if ((flags & O_TRUNC) != 0 && work->bytes.size() > 0) {
    ZARRFS_CHECK(work->bytes.resize(0));
    work->dirty = true;
  }
  ++work->writers;
  constexpr bool kWriter = true;
  return std::make_shared<WorkHandle>(*this, entries_, work, node, kWriter);
}

Result<std::shared_ptr<OpenFile>> StagedFiles::reopen(const NamedNode& named, NodeId node,
                                                      int flags) {
  const auto nameless = [&]() -> Result<std::shared_ptr<OpenFile>> {
    const WorkPointer left = parts_.works.nameless(named.version);
    if (left == nullptr) return refused(Fault::kStale, named.path, "it is another file now");
    left->path = named.path;  // nobody else knows it yet
    return one_more_writer(left, node, flags);
  };
  const WorkPointer work = parts_.works.find(named.version);
  if (work == nullptr) return nameless();
  std::unique_lock lock(work->mutex);  // who renames it comes before this or after it
  if (parts_.works.find(named.version) == nullptr) {
    lock.unlock();
    return nameless();
  }
  ZARRFS_TRY(const StatePtr state, parts_.nodes.get(work->directory));
  Name name;
  name.kind = name_kind_of(work->kind);
  name.path = work->path;
  name.part.coordinates = work->chunk;
  ZARRFS_CHECK(check_opening({state, std::nullopt}, name, flags));
  return one_more_writer(work, node, flags);
}

Result<WorkPointer> StagedFiles::make_work(const Directory& directory, const Name& name,
                                           int flags) {
  const NodeState& state = *directory.state;
  const Work::Kind kind = work_kind_of(name);
  if (kind == Work::Kind::kScratch && !name.store_path.empty()) {
    ZARRFS_TRY(const auto stored, parts_.shared.store->status(name.store_path));
    if (stored) return refused(Fault::kStale, name.path, "it was stored");
  }
  WorkPointer work = parts_.works.make(kind);
  work->path = name.path;
  work->directory = state.path;
  work->chunk = name.part.coordinates;
  if (const Caller* caller = foreign_caller()) {
    ZARRFS_TRY(work->caller, with_groups(*caller));
  }
  if (parts_.permissions.wanted()) {
    ZARRFS_TRY(work->permissions, permissions_of_work(*work, state, name));
  }
  if (kind == Work::Kind::kChunk) work->limit = ChunkWriter::most_bytes(state.shown);
  if ((flags & O_TRUNC) == 0) ZARRFS_CHECK(load(*work, directory, name));
  work->dirty = (flags & (O_TRUNC | O_CREAT)) != 0;
  return work;
}

/// Those of what is stored, or of the file that its user makes.
Result<Permissions> StagedFiles::permissions_of_work(const Work& work, const NodeState& state,
                                                     const Name& name) const {
  std::string stored;
  if (work.kind == Work::Kind::kChunk) stored = ChunkWriter::shard_of(state.shown, work.chunk);
  if (work.kind == Work::Kind::kDocument) stored = join_path(state.path, kStoredDocument);
  if (!stored.empty()) {
    ZARRFS_TRY(const auto present, parts_.permissions.of(stored, state.path));
    if (present) return *present;
  }
  const uid_t owner = work.caller ? work.caller->user : ::geteuid();
  const gid_t group = work.caller ? work.caller->group : ::getegid();
  return Permissions{owner, group, name.mode & kPermissionBits};
}

/// What the file holds before it is written.
Result<void> StagedFiles::load(Work& work, const Directory& directory, const Name& name) {
  const NodeState& state = *directory.state;
  std::shared_ptr<const Bytes> bytes;
  if (name.kind == NameKind::kChunk) {
    ZARRFS_TRY(const auto found, parts_.chunks.find(state.shown, name.part.coordinates));
    if (found) {
      ZARRFS_TRY(bytes, parts_.chunks.bytes_of(state.shown, name.part.coordinates, *found));
    }
  } else if (name.kind == NameKind::kDocument) {
    ZARRFS_TRY(bytes, documents_.text(state, base_name(name.path)));
  }
  return bytes == nullptr ? Result<void>{} : work.bytes.write(0, *bytes);
}

Result<NodeMaking> StagedFiles::making_node_of(Work& work) {
  std::string directory;
  {
    const std::lock_guard lock(work.mutex);
    if (!work.dirty || work.gone || work.kind != Work::Kind::kDocument) return NodeMaking();
    directory = work.directory;
  }
  return parts_.making_node(directory);
}

Result<void> StagedFiles::hand_on(Work& work, NodeMaking alone) {
  if (!work.dirty || work.gone || work.kind == Work::Kind::kScratch) return {};
  const RequestScope as_opened(work.caller);  // whoever closes it last may be anybody
  Bytes memory;
  ZARRFS_TRY(const ByteView bytes, work.bytes.whole(memory));
  if (work.kind == Work::Kind::kDocument) {
    ZARRFS_CHECK(
        parts_.editor.write(work.directory, base_name(work.path), bytes, std::move(alone)));
  } else {
    ZARRFS_CHECK(put_chunk(work, bytes));
  }
  work.dirty = false;
  return {};
}

Result<void> StagedFiles::put_chunk(const Work& work, ByteView bytes) {
  ZARRFS_TRY(const StatePtr array, parts_.nodes.get(work.directory));
  if (array->kind != NodeState::Kind::kArray || work.chunk.size() != array->shown.names.rank()) {
    return refused(Fault::kStale, work.directory, "it is no such array any more");
  }
  for (std::size_t axis = 0; axis < work.chunk.size(); ++axis) {
    if (work.chunk[axis] < array->shown.names.counts()[axis]) continue;
    return fail(Fault::kStale, ChunkFinder::describe(array->shown, work.chunk) +
                                   " lies outside the array since it was resized");
  }
  ZARRFS_CHECK(parts_.chunk_writer.put(array->shown, work.chunk, bytes, work.modified));
  if (!parts_.shared.options.writing->flush_at_close) return {};
  return parts_.chunk_writer.publish(array->shown, work.chunk);
}

Result<void> StagedFiles::flush(Work& work) {
  ZARRFS_TRY(auto alone, making_node_of(work));
  const auto putting = parts_.move_gate.putting();
  const std::lock_guard lock(work.mutex);
  return parts_.reported(hand_on(work, std::move(alone)));
}

Result<void> StagedFiles::sync(Work& work) {
  ZARRFS_TRY(auto alone, making_node_of(work));
  const auto putting = parts_.move_gate.putting();
  const std::lock_guard lock(work.mutex);
  return parts_.reported(sync_work(work, std::move(alone)));
}

bool StagedFiles::must_wait(const Work& work) const {
  const std::lock_guard lock(work.mutex);
  return work.dirty && !work.gone && work.kind == Work::Kind::kDocument &&
         parts_.plain_writers.node_waits(work.directory);
}

std::shared_ptr<OpenFile> StagedFiles::open_to_read(WorkPointer work, NodeId node) {
  constexpr bool kWriter = false;
  return std::make_shared<WorkHandle>(*this, entries_, std::move(work), node, kWriter);
}

Result<void> StagedFiles::sync_work(Work& work, NodeMaking alone) {
  ZARRFS_CHECK(hand_on(work, std::move(alone)));
  if (work.gone) return {};
  if (work.kind == Work::Kind::kScratch) {
    // The unfinished file of an atomic write need not survive: its rename makes it a chunk.
    return is_temporary_of(work.path) ? Result<void>{} : write_out(work);
  }
  if (work.kind == Work::Kind::kDocument) return {};
  ZARRFS_TRY(const StatePtr array, parts_.nodes.get(work.directory));
  return parts_.chunk_writer.sync(array->shown, work.chunk);
}

void StagedFiles::closed(const WorkPointer& work) {
  auto alone = parts_.reported(making_node_of(*work));
  const auto putting = parts_.move_gate.putting();
  const std::lock_guard lock(work->mutex);
  const RequestScope as_opened(work->caller);
  if (--work->writers > 0) return;
  work->idle_since = std::chrono::steady_clock::now();
  if (!alone || !parts_.reported(hand_on(*work, std::move(*alone)))) {
    work->dirty = false;  // whoever closed it was told; what it had stays as it was
  }
  if (work->gone || work->kind != Work::Kind::kScratch) parts_.works.leave(work);
}

Result<void> StagedFiles::write_out(Work& work) {
  if (!work.dirty) return {};
  const RequestScope as_opened(work.caller);
  ZARRFS_CHECK(
      write_file(stored_path_of(work), work.bytes.size(),
                 [&](std::uint64_t at, std::uint64_t most) { return work.bytes.read(at, most); }));
  work.dirty = false;
  work.backed = true;
  return parts_.shared.store->sync_directory(work.directory);
}

Result<void> StagedFiles::remove_written_out(Work& work) {
  if (!work.backed) return {};
  ZARRFS_CHECK(parts_.shared.store->remove(stored_path_of(work)));
  work.backed = false;
  work.dirty = true;
  return {};
}

Result<void> StagedFiles::write_file(
    const std::string& path, std::uint64_t size,
    const std::function<Result<Bytes>(std::uint64_t at, std::uint64_t most)>& read) {
  Store& store = *parts_.shared.store;
  ZARRFS_TRY(const auto before, store.open(path));
  return replace_file(store, path, kFileMode, [&](NewFile& file) -> Result<void> {
    for (std::uint64_t at = 0; at < size; at += kPiece) {
      ZARRFS_TRY(const Bytes piece, read(at, kPiece));
      ZARRFS_CHECK(file.write_at(at, piece));
    }
    return before == nullptr ? give_to_caller(store, file, parent_path(path))
                             : keep_ownership(file, *before);
  });
}

Result<void> StagedFiles::write_out_idle(std::chrono::milliseconds idle) {
  Result<void> first;
  if (parts_.works.empty()) return first;
  const auto now = std::chrono::steady_clock::now();
  for (const WorkPointer& work : parts_.works.below("")) {
    const std::lock_guard lock(work->mutex);
    const bool rests = work->kind == Work::Kind::kScratch && work->writers == 0 && !work->gone;
    if (!rests || is_scratch_among_chunks(*work) || now - work->idle_since < idle) continue;
    auto written = parts_.reported(write_out(*work));
    if (written) parts_.works.leave(work);
    if (!written && first) first = std::move(written);
  }
  return first;
}

Result<void> StagedFiles::write_out_all() {
  Result<void> first;
  for (const WorkPointer& work : parts_.works.below("")) {
    const auto putting = parts_.move_gate.putting();
    const std::lock_guard lock(work->mutex);
    static_cast<void>(parts_.reported(hand_on(*work, NodeMaking())));
    work->writers = 0;  // its writer is gone
    if (work->gone || !is_scratch_among_chunks(*work)) continue;
    auto written = parts_.reported(write_out(*work));
    if (!written && first) first = std::move(written);
  }
  return first;
}

}  // namespace zarrfs
