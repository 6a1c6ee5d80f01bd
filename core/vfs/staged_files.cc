#include "core/vfs/staged_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/json.h"
#include "core/log/ownership.h"
#include "core/log/whole_file.h"
#include "core/names/refusals.h"
#include "core/store/conditional_writer.h"
#include "core/store/with_umask.h"
#include "core/vfs/early_files.h"
#include "core/vfs/staged_handle.h"

namespace zarrfs {

namespace {
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
constexpr mode_t kFileMode = 0666;
constexpr mode_t kPermissionBits = 0777;
constexpr mode_t kOfOthers = 0077;

bool is_temporary_of(std::string_view name) {
  // "0.0.1f2e.partial", "0.0.__lock", ".zarray.1f2e.partial", "zarr.1f2e.partial": the unfinished
  // file of an atomic write.
  constexpr std::array<std::string_view, 3> kEnds = {".partial", ".__lock", ".tmp"};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [name](std::string_view end) { return name.ends_with(end); });
}

/// Whether it is in a directory of chunks, which the store does not have: only here it is found by
/// its name.
bool is_among_chunks(const StagedFile& file) {
  const std::size_t start = file.directory.empty() ? 0 : file.directory.size() + 1;
  return file.kind() == StagedFile::Kind::kTemporary &&
         file.path.find('/', start) != std::string::npos;
}

/// Larger documents are checked when they are closed.
constexpr std::size_t kMostChecked = std::size_t{1} << 20U;

bool ends_an_object(ByteView text) {
  const auto end = std::find_if(text.rbegin(), text.rend(), [](std::uint8_t character) {
    return std::isspace(character) == 0;
  });
  return end != text.rend() && *end == '}';
}

bool is_document(ByteView text) {
  const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
  return parse_first_json(characters, "document").has_value();
}

std::string stored_path_of(const StagedFile& file) {
  return stored_path(file.directory, file.path);
}

NameKind name_kind_of(StagedFile::Kind kind) {
  switch (kind) {
    case StagedFile::Kind::kChunk: return NameKind::kChunk;
    case StagedFile::Kind::kDocument: return NameKind::kDocument;
    case StagedFile::Kind::kTemporary: break;
  }
  return NameKind::kTemporary;
}
}  // namespace

StagedFile::Kind staged_kind_of(const Name& name) {
  if (name.kind == NameKind::kChunk) return StagedFile::Kind::kChunk;
  return name.kind == NameKind::kDocument ? StagedFile::Kind::kDocument
                                          : StagedFile::Kind::kTemporary;
}

std::string StagedFiles::key_of(const Directory& directory, const Name& name) {
  if (name.kind != NameKind::kChunk) return name.path;
  return chunk_key(*directory.state, directory.state->shown.names.number_of(name.part));
}

StagedFiles::Displaced StagedFiles::displace(const std::string& key, const StagedPointer& coming,
                                             Lock& lock) {
  for (;;) {
    StagedPointer there = parts_.staged.find_coming(key);
    Lock theirs;
    if (there == nullptr || there == coming) {
      lock.lock();
    } else {
      theirs = Lock(there->mutex, std::defer_lock);
      std::lock(lock, theirs);
    }
    if (auto reservation = parts_.staged.reserve(key, coming, there)) {
      if (there == coming) there = nullptr;
      return {std::move(there), std::move(theirs), std::move(reservation)};
    }
    lock.unlock();  // something else has come to stand there
  }
}

void StagedFiles::unlink(const StagedPointer& file) {
  file->unlink();
  parts_.staged.leave(file);
}

void StagedFiles::detach(const std::string& key) {
  const StagedPointer file = parts_.staged.find(key);
  if (file == nullptr) return;
  const std::lock_guard lock(file->mutex);
  unlink(file);
}

Result<std::shared_ptr<OpenFile>> StagedFiles::open(const Directory& directory, const Name& name,
                                                    NodeId node, int flags, StagedPointer* made) {
  ZARRFS_CHECK(check_opening(directory, name, flags));
  const std::string key = key_of(directory, name);
  const bool by_own_node =
      node >= kFirstChunkNode || (made == nullptr && name.kind == NameKind::kDocument);
  for (;;) {
    StagedPointer file = parts_.staged.find_coming(key);
    std::unique_lock<StagedMutex> lock;
    if (file == nullptr) {
      ZARRFS_TRY(file, make(directory, name));
      lock = std::unique_lock(file->mutex);
      if (parts_.staged.enter_new(key, file) != file) continue;
      if (by_own_node) file->node = node;
      ZARRFS_CHECK(fill(file, directory, name, flags));
    } else {
      lock = std::unique_lock(file->mutex);
    }
    if (parts_.staged.find(key) != file) {  // its last writer has just gone, or it was persisted
      if (name.kind == NameKind::kTemporary) {
        return refused(Fault::kStale, name.path, "it was stored");
      }
      continue;
    }
    // What has no node as a chunk or document yet: a temporary file that became one.
    const bool first = !file->written_by() && file->made_as == StagedFile::Kind::kTemporary;
    if (by_own_node && first) file->node = node;
    // By two nodes it would be two files to the kernel, and locks of the two would not exclude.
    if (made == nullptr && by_own_node && file->node != node) return stale(name.path);
    if (made != nullptr) *made = file;
    return one_more_writer(file, file->written_by().value_or(node), flags);
  }
}

/// Loads a file that was just entered: what other writers put there before is what it holds, and
/// later ones wait for its mutex, which the caller holds.
Result<void> StagedFiles::fill(const StagedPointer& file, const Directory& directory,
                               const Name& name, int flags) {
  if ((flags & O_TRUNC) == 0) {
    if (auto loaded = load(*file, directory, name, flags); !loaded) {
      unlink(file);
      return loaded;
    }
  }
  if ((flags & (O_TRUNC | O_CREAT)) != 0) file->wrote();
  return {};
}

Result<void> StagedFiles::check_opening(const Directory& directory, const Name& name, int flags) {
  const bool chunk = name.kind == NameKind::kChunk;
  if (chunk) ZARRFS_CHECK(ChunkWriter::check_writable(directory.state->shown));
  const bool stored = chunk || name.kind == NameKind::kDocument;
  if (!stored && (flags & O_CREAT) == 0) return {};
  return rights_.check_caller(directory, name);
}

Result<std::shared_ptr<OpenFile>> StagedFiles::one_more_writer(const StagedPointer& file,
                                                               NodeId node, int flags) {
  if ((flags & O_TRUNC) != 0 && file->bytes.size() > 0) {
    ZARRFS_CHECK(file->bytes.resize(0));
    file->wrote();
  }
  ++file->writers;
  constexpr bool kWriter = true;
  return std::make_shared<StagedHandle>(*this, entries_, file, node, kWriter, flags);
}

Result<std::shared_ptr<OpenFile>> StagedFiles::reopen(const NamedNode& named, NodeId node,
                                                      int flags) {
  const auto nameless = [&]() -> Result<std::shared_ptr<OpenFile>> {
    const StagedPointer left = parts_.staged.nameless(named.version);
    const bool empties = (flags & O_TRUNC) != 0;
    if (left == nullptr || (empties && !left->writable())) {
      return refused(Fault::kStale, named.path, "it is another file now");
    }
    left->path = named.path;  // nobody else knows it yet
    return one_more_writer(left, node, flags);
  };
  const StagedPointer file = parts_.staged.find(named.version);
  if (file == nullptr) return nameless();
  std::unique_lock lock(file->mutex);  // who renames it comes before this or after it
  if (parts_.staged.find(named.version) == nullptr) {
    lock.unlock();
    return nameless();
  }
  ZARRFS_TRY(const StatePtr state, parts_.nodes.get(file->directory));
  Name name;
  name.kind = name_kind_of(file->kind());
  name.path = file->path;
  name.part.coordinates = file->chunk;
  ZARRFS_CHECK(check_opening({state, std::nullopt}, name, flags));
  return one_more_writer(file, node, flags);
}

std::optional<mode_t> StagedFiles::mask_of(const StagedFile& file) {
  if (!file.umask) return std::nullopt;
  return *file.umask & kOfOthers;
}

Result<StagedPointer> StagedFiles::make(const Directory& directory, const Name& name) {
  const NodeState& state = *directory.state;
  const StagedFile::Kind kind = staged_kind_of(name);
  if (kind == StagedFile::Kind::kTemporary && !name.store_path.empty()) {
    ZARRFS_TRY(const auto stored, status_of_temporary(*parts_.shared.store, name.store_path));
    if (stored) return refused(Fault::kStale, name.path, "it was stored");
  }
  if (kind == StagedFile::Kind::kTemporary && !is_temporary_of(name.path)) {
    ZARRFS_CHECK(check_kept_name(state.path, name.path, nullptr));
  }
  StagedPointer file = parts_.staged.make(kind);
  file->path = name.path;
  file->directory = state.path;
  file->chunk = name.part.coordinates;
  file->umask = WithUmask::current();
  if (const Caller* caller = foreign_caller()) {
    ZARRFS_TRY(file->caller, with_groups(*caller));
  }
  if (parts_.permissions.wanted()) {
    ZARRFS_TRY(file->permissions, permissions_of(*file, state, name));
  }
  if (kind == StagedFile::Kind::kChunk) file->limit = ChunkWriter::most_bytes(state.shown);
  return file;
}

/// Those of what is stored, or of the file that its user makes.
Result<Permissions> StagedFiles::permissions_of(const StagedFile& file, const NodeState& state,
                                                const Name& name) const {
  std::string stored;
  if (file.kind() == StagedFile::Kind::kChunk)
    stored = ChunkWriter::shard_of(state.shown, file.chunk);
  if (file.kind() == StagedFile::Kind::kDocument) stored = join_path(state.path, kStoredDocument);
  if (!stored.empty()) {
    ZARRFS_TRY(const auto present, parts_.permissions.of(stored, state.path));
    if (present) return *present;
  }
  const uid_t owner = file.caller ? file.caller->user : ::geteuid();
  const gid_t group = file.caller ? file.caller->group : ::getegid();
  return Permissions{owner, group, name.mode & kPermissionBits & ~file.umask.value_or(0)};
}

/// What the file holds before it is written.
Result<void> StagedFiles::load(StagedFile& file, const Directory& directory, const Name& name,
                               int flags) {
  const NodeState& state = *directory.state;
  std::shared_ptr<const Bytes> bytes;
  if (name.kind == NameKind::kChunk) {
    ZARRFS_TRY(const auto found, parts_.chunks.find(state.shown, name.part.coordinates));
    if (found) {
      ZARRFS_TRY(bytes, parts_.chunks.bytes_of(state.shown, name.part.coordinates, *found));
    }
  } else if (name.kind == NameKind::kDocument) {
    ZARRFS_TRY(const StatePtr now, parts_.nodes.get(state.path));  // `directory` may be older
    ZARRFS_TRY(const DocumentText document, documents_.text(*now, last_name(name.path)));
    bytes = document.text;
    if (bytes == nullptr && (flags & O_CREAT) == 0) return stale(name.path);
  }
  return bytes == nullptr ? Result<void>{} : file.bytes.write(0, *bytes);
}

Result<ExclusiveCreation> StagedFiles::exclusive_creation_for(StagedFile& file) {
  std::string directory;
  {
    const std::lock_guard lock(file.mutex);
    if (!file.dirty() || file.kind() != StagedFile::Kind::kDocument) return ExclusiveCreation();
    directory = file.directory;
  }
  return parts_.exclusive_creation(directory);
}

Result<void> StagedFiles::submit(StagedFile& file, ExclusiveCreation alone) {
  if (!file.dirty() || file.kind() == StagedFile::Kind::kTemporary) return {};
  const RequestScope as_opened(file.caller);  // whoever closes it last may be anybody
  const WithUmask as_made(mask_of(file));
  ZARRFS_TRY(const WholeBytes whole, file.bytes.whole());
  const ByteView bytes = whole.view();
  if (file.kind() == StagedFile::Kind::kDocument) {
    ZARRFS_CHECK(disown_early_files(parts_, file.directory, last_name(file.path)));
    ZARRFS_CHECK(
        parts_.editor.write(file.directory, last_name(file.path), bytes, std::move(alone)));
  } else {
    ZARRFS_CHECK(put_chunk(file, bytes));
  }
  file.submitted();
  return {};
}

Result<void> StagedFiles::check_document(StagedFile& file, std::uint64_t offset, ByteView bytes) {
  const bool completes = file.kind() == StagedFile::Kind::kDocument && !file.unlinked() &&
                         ends_an_object(bytes) && offset <= file.bytes.size() &&
                         offset + bytes.size() <= kMostChecked && file.bytes.size() <= kMostChecked;
  if (!completes) return {};
  ZARRFS_TRY(const Bytes before, file.bytes.read(0, file.bytes.size()));
  Bytes after = before;
  after.resize(std::max<std::size_t>(before.size(), offset + bytes.size()));
  std::copy(bytes.begin(), bytes.end(), after.begin() + static_cast<std::ptrdiff_t>(offset));
  auto checked = parts_.reported(parts_.editor.check(file.directory, last_name(file.path), after));
  // Who closes it now has been told; a whole document of before stays to be submitted.
  if (!checked && !is_document(before)) file.dropped();
  return checked;
}

/// Null where it is no such array any more.
Result<StatePtr> StagedFiles::array_of(const StagedFile& file) const {
  ZARRFS_TRY(StatePtr array, parts_.nodes.get(file.directory));
  const bool same =
      array->kind == NodeState::Kind::kArray && file.chunk.size() == array->shown.names.rank();
  return same ? array : nullptr;
}

Result<void> StagedFiles::put_chunk(const StagedFile& file, ByteView bytes) {
  ZARRFS_TRY(const StatePtr array, array_of(file));
  if (array == nullptr) {
    return refused(Fault::kStale, file.directory, "it is no such array any more");
  }
  for (std::size_t axis = 0; axis < file.chunk.size(); ++axis) {
    if (file.chunk[axis] < array->shown.names.counts()[axis]) continue;
    return fail(Fault::kStale, ChunkFinder::describe(array->shown, file.chunk) +
                                   " lies outside the array since it was resized");
  }
  return parts_.put_chunk(*array, file.chunk, bytes, file.modified);
}

/// Puts what was submitted into its shard, if each close has to. The chunk is not put again for
/// that: one that is held would count as decided.
Result<void> StagedFiles::publish_chunk(const StagedFile& file) {
  const bool submitted =
      file.state() == StagedFile::State::kSubmitted && file.kind() == StagedFile::Kind::kChunk;
  if (!submitted || !parts_.shared.options.writing->flush_at_close) return {};
  ZARRFS_TRY(const StatePtr array, array_of(file));
  if (array == nullptr) return {};  // it went with its chunks
  return parts_.chunk_writer.publish(array->shown, file.chunk);
}

/// Whether others are writing it, and what it holds meanwhile is no document: theirs will be.
Result<bool> StagedFiles::is_left_to_others(const StagedFile& file) {
  const bool may_be = file.kind() == StagedFile::Kind::kDocument && file.unfinished > 0;
  if (!may_be || !file.dirty()) return false;
  ZARRFS_TRY(const WholeBytes whole, file.bytes.whole());
  return !is_document(whole.view());
}

Result<void> StagedFiles::flush(StagedFile& file) {
  ZARRFS_TRY(auto alone, exclusive_creation_for(file));
  const auto putting = parts_.move_gate.putting();
  const std::lock_guard lock(file.mutex);
  ZARRFS_TRY(const bool left, is_left_to_others(file));
  if (left) return {};
  auto submitted = submit(file, std::move(alone));
  if (submitted) submitted = publish_chunk(file);
  return parts_.reported(std::move(submitted));
}

Result<void> StagedFiles::sync(StagedFile& file) {
  ZARRFS_TRY(auto alone, exclusive_creation_for(file));
  const auto putting = parts_.move_gate.putting();
  const std::lock_guard lock(file.mutex);
  return parts_.reported(sync_staged(file, std::move(alone)));
}

bool StagedFiles::must_wait(const StagedFile& file) const {
  const std::lock_guard lock(file.mutex);
  return file.dirty() && file.kind() == StagedFile::Kind::kDocument &&
         parts_.creation_gate.node_waits(file.directory);
}

std::shared_ptr<OpenFile> StagedFiles::open_to_read(StagedPointer file, NodeId node) {
  constexpr bool kWriter = false;
  return std::make_shared<StagedHandle>(*this, entries_, std::move(file), node, kWriter);
}

Result<void> StagedFiles::sync_staged(StagedFile& file, ExclusiveCreation alone) {
  ZARRFS_CHECK(submit(file, std::move(alone)));
  if (file.unlinked()) return {};
  if (file.kind() == StagedFile::Kind::kTemporary) {
    // The unfinished file of an atomic write need not survive: its rename makes it a chunk.
    return is_temporary_of(file.path) ? Result<void>{} : persist(file);
  }
  if (file.kind() == StagedFile::Kind::kDocument) return {};
  ZARRFS_CHECK(publish_chunk(file));
  ZARRFS_TRY(const StatePtr array, array_of(file));
  if (array == nullptr) return {};  // it went with its chunks
  return parts_.chunk_writer.sync(array->shown, file.chunk);
}

void StagedFiles::closed(const StagedPointer& file) {
  auto alone = parts_.reported(exclusive_creation_for(*file));
  const auto putting = parts_.move_gate.putting();
  const std::lock_guard lock(file->mutex);
  const RequestScope as_opened(file->caller);
  if (--file->writers > 0) return;
  file->idle_since = std::chrono::steady_clock::now();
  const bool late = file->dirty();  // written after the close, by way of a mapping
  if (!alone || !parts_.reported(submit(*file, std::move(*alone)))) {
    file->dropped();
  } else if (late) {
    static_cast<void>(parts_.reported(publish_chunk(*file)));
  }
  if (file->unlinked() || file->kind() != StagedFile::Kind::kTemporary) parts_.staged.leave(file);
}

Result<void> StagedFiles::sync_temporary(StagedFile& file) {
  const auto putting = parts_.move_gate.putting();
  const std::lock_guard lock(file.mutex);
  const bool waits =
      file.kind() != StagedFile::Kind::kTemporary || file.unlinked() || is_temporary_of(file.path);
  return waits ? Result<void>{} : parts_.reported(persist(file));
}

Result<void> StagedFiles::sync_temporaries(const std::string& directory) {
  if (parts_.staged.empty()) return {};
  for (const StagedPointer& file : parts_.staged.temporaries_below(directory)) {
    ZARRFS_CHECK(sync_temporary(*file));
  }
  return {};
}

Result<void> StagedFiles::check_kept_name(const std::string& directory, const std::string& path,
                                          const StagedFile* file) const {
  const std::string kept = stored_path(directory, path);
  bool taken = parts_.staged.keeps_at(kept, path, file);
  if (!taken && kept != path && (file != nullptr || parts_.staged.find(path) == nullptr)) {
    ZARRFS_TRY(const auto stored, status_of_temporary(*parts_.shared.store, kept));
    taken = stored.has_value();
  }
  if (!taken) return {};
  return refused(Fault::kExists, path,
                 "it would be kept in the store as " + kept + ", which is another file");
}

Result<void> StagedFiles::persist(StagedFile& file) {
  if (!file.dirty()) return {};
  if (!file.stored()) ZARRFS_CHECK(check_kept_name(file.directory, file.path, &file));
  const RequestScope as_opened(file.caller);
  const WithUmask as_made(mask_of(file));
  ZARRFS_CHECK(
      write_file(stored_path_of(file), file.bytes.size(),
                 [&](std::uint64_t at, std::uint64_t most) { return file.bytes.read(at, most); }));
  file.persisted();
  return parts_.shared.store->sync_directory(file.directory);
}

Result<void> StagedFiles::withdraw(StagedFile& file) {
  if (!file.stored()) return {};
  ZARRFS_CHECK(parts_.shared.store->remove(stored_path_of(file)));
  file.withdrawn();
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

Result<void> StagedFiles::persist_idle(std::chrono::milliseconds idle) {
  Result<void> first;
  if (parts_.staged.empty()) return first;
  const auto now = std::chrono::steady_clock::now();
  for (const StagedPointer& file : parts_.staged.temporaries_below("")) {
    const std::lock_guard lock(file->mutex);
    const bool rests =
        file->kind() == StagedFile::Kind::kTemporary && file->writers == 0 && !file->unlinked();
    if (!rests || is_among_chunks(*file) || now - file->idle_since < idle) continue;
    auto written = parts_.reported(persist(*file));
    if (written) parts_.staged.leave(file);
    if (!written && first) first = std::move(written);
  }
  return first;
}

Result<void> StagedFiles::submit_all() {
  Result<void> first;
  for (const StagedPointer& file : parts_.staged.below("")) {
    const auto putting = parts_.move_gate.putting();
    const std::lock_guard lock(file->mutex);
    static_cast<void>(parts_.reported(submit(*file, ExclusiveCreation())));
    file->writers = 0;  // its writer is gone
    if (file->unlinked() || !is_among_chunks(*file)) continue;
    auto written = parts_.reported(persist(*file));
    if (!written && first) first = std::move(written);
  }
  return first;
}

}  // namespace zarrfs
