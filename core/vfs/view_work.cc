// Files that programs write: from open to close, and where their bytes go.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>

#include "core/chunks/chunk_lister.h"
#include "core/store/as_caller.h"
#include "core/vfs/open_files.h"
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

/// The program's own open(2): the kernel decides whether its user may.
Result<Fd> open_as_caller(Store& store, const std::string& path, int flags, mode_t mode) {
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.open_plain(path, flags, mode);
}

struct timespec now() {
  struct timespec time {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}
}  // namespace

Result<void> WorkHandle::check(std::uint64_t size) const {
  if (!writer_) return fail(Fault::kReadOnly, "it is open for reading");
  if (work_->limit == 0 || size <= work_->limit) return {};
  return fail(Fault::kTooBig, "/" + work_->path + ": " + std::to_string(size) +
                                  " bytes are more than a chunk of the array can have");
}

Result<ReadPlan> WorkHandle::read(std::uint64_t offset, std::uint64_t length) {
  const std::lock_guard lock(work_->mutex);
  ZARRFS_TRY(Bytes bytes, work_->bytes.read(offset, length));
  ReadPlan plan;
  plan.own = std::make_shared<const Bytes>(std::move(bytes));
  plan.bytes = *plan.own;
  return plan;
}

Result<void> WorkHandle::write(std::uint64_t offset, ByteView bytes) {
  const std::lock_guard lock(work_->mutex);
  const auto end = checked_add(offset, bytes.size());
  ZARRFS_CHECK(check(end.value_or(~std::uint64_t{0})));
  ZARRFS_CHECK(work_->bytes.write(offset, bytes));
  work_->dirty = true;
  work_->modified = now();
  return {};
}

Result<void> WorkHandle::resize(std::uint64_t size) {
  const std::lock_guard lock(work_->mutex);
  ZARRFS_CHECK(check(size));
  ZARRFS_CHECK(work_->bytes.resize(size));
  work_->dirty = true;
  work_->modified = now();
  return {};
}

Result<void> WorkHandle::flush() {
  if (!writer_) return {};
  ZARRFS_TRY(auto alone, view_.making_node_of(*work_));
  const auto putting = view_.move_gate_.putting();
  const std::lock_guard lock(work_->mutex);
  return view_.reported(view_.hand_on(*work_, std::move(alone)));
}

Result<void> WorkHandle::sync() {
  if (!writer_) return {};
  ZARRFS_TRY(auto alone, view_.making_node_of(*work_));
  const auto putting = view_.move_gate_.putting();
  const std::lock_guard lock(work_->mutex);
  return view_.reported(view_.sync_work(*work_, std::move(alone)));
}

void WorkHandle::closed() {
  if (writer_) view_.closed(work_);
}

Result<std::optional<Found>> WorkHandle::attributes() { return view_.work_found(work_, node_); }

bool WorkHandle::must_wait() const {
  const std::lock_guard lock(work_->mutex);
  return writer_ && work_->dirty && !work_->gone && work_->kind == Work::Kind::kDocument &&
         view_.plain_writers_.node_waits(work_->directory);
}

std::shared_ptr<OpenFile> read_work(StoreView& view, WorkPointer work, NodeId node) {
  constexpr bool kWriter = false;
  return std::make_shared<WorkHandle>(view, std::move(work), node, kWriter);
}

Result<struct stat> StoredFile::status() const {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) == 0) return status;
  return fail(system_error(errno, name_ + ": reading its status"));
}

Result<std::optional<Found>> StoredFile::attributes() {
  ZARRFS_TRY(const struct stat now, status());
  return show_(now);
}

Result<ReadPlan> StoredFile::read(std::uint64_t offset, std::uint64_t length) {
  ZARRFS_TRY(const struct stat now, status());
  ReadPlan plan;
  plan.descriptor = descriptor_.get();
  plan.range = clamp_read(offset, length, static_cast<std::uint64_t>(now.st_size));
  return plan;
}

Result<void> StoredFile::write(std::uint64_t offset, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t done =
        ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return fail(system_error(errno, name_ + ": writing"));
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

Result<void> StoredFile::resize(std::uint64_t size) {
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(size)) == 0) return {};
  return fail(system_error(errno, name_ + ": truncating"));
}

Result<bool> StoredFile::change(const AttributeChange& change) {
  ZARRFS_CHECK(change_opened(descriptor_.get(), name_, change));
  return true;
}

Result<void> StoredFile::sync() {
  if (::fsync(descriptor_.get()) == 0) return {};
  return fail(system_error(errno, name_ + ": syncing"));
}

ShowStatus StoreView::shown_as_foreign(const std::string& path) const {
  return [this, path](const struct stat& status) { return found(0, foreign_status(status, path)); };
}

Result<std::shared_ptr<OpenFile>> StoreView::open_stored(const std::string& path, int flags,
                                                         mode_t mode) {
  // The kernel places the bytes of O_APPEND itself.
  ZARRFS_TRY(const std::uint64_t number, plain_writers_.opened(path, (flags & O_CREAT) != 0));
  const auto closed = [this, number] { plain_writers_.closed(number); };
  auto descriptor = open_as_caller(*shared_.store, path, flags & ~O_APPEND, mode);
  if (!descriptor || !descriptor->valid()) {
    closed();
    return descriptor ? fail(Fault::kStale, "/" + path + " is gone") : fail(descriptor.error());
  }
  return std::make_shared<StoredFile>(std::move(*descriptor), "/" + path, shown_as_foreign(path),
                                      closed);
}

Result<std::shared_ptr<OpenFile>> StoreView::open_for_writing(NodeId node, int flags) {
  const auto answer = [&]() -> Result<std::shared_ptr<OpenFile>> {
    ZARRFS_CHECK(check_writing());
    ZARRFS_TRY(const Target target, resolve(node));
    if (!target.named) {
      if (target.part.directory) return fail(Fault::kInvalid, "a directory is not opened to write");
      const Directory directory{target.state, std::nullopt, target.state->path};
      Name name;
      name.kind = Name::Kind::kChunk;
      name.part = target.part;
      name.path = join_path(
          target.state->path,
          ChunkKeyEncoding{ChunkKeyEncoding::Kind::kV2, '.'}.key(target.part.coordinates));
      ZARRFS_CHECK(check_current(target));
      return open_work(directory, name, node, flags, nullptr);
    }
    const NamedNode& named = *target.named;
    switch (named.kind) {
      case NamedNode::Kind::kForeign: return open_stored(named.path, flags, 0);
      case NamedNode::Kind::kBroken: {
        const NodeState& array = *target.state;
        if (array.kind != NodeState::Kind::kArray || named.version >= array.shown.names.chunks()) {
          return refused(Fault::kStale, named.path, "it is another array now");
        }
        Name name;
        name.kind = Name::Kind::kChunk;
        name.part = array.shown.names.part_of(named.version);
        name.path = join_path(named.path, ChunkKeyEncoding{ChunkKeyEncoding::Kind::kV2, '.'}.key(
                                              name.part.coordinates));
        return open_work({target.state, std::nullopt, named.path}, name, node, flags, nullptr);
      }
      case NamedNode::Kind::kDocument: {
        Name name;
        name.kind = Name::Kind::kDocument;
        name.path = named.path;
        return open_work({target.state, std::nullopt, target.state->path}, name, node, flags,
                         nullptr);
      }
      case NamedNode::Kind::kWork: return reopen_work(named, node, flags);
      default: return refused(Fault::kForbidden, named.path, "it cannot be written");
    }
  };
  return reported(answer());
}

Result<std::shared_ptr<OpenFile>> StoreView::open_work(const Directory& directory, const Name& name,
                                                       NodeId node, int flags, WorkPointer* made) {
  ZARRFS_CHECK(check_opening(directory, name, flags));
  const std::string key = work_key(directory, name);
  for (;;) {
    WorkPointer work = works_.find(key);
    if (work == nullptr) {
      ZARRFS_TRY(work, make_work(directory, name, flags));
      work = works_.enter_new(key, work);
    }
    const std::lock_guard lock(work->mutex);
    if (works_.find(key) != work) {  // its last writer has just gone, or it was written out
      if (name.kind == Name::Kind::kScratch)
        return refused(Fault::kStale, name.path, "it was stored");
      continue;
    }
    if (made != nullptr) *made = work;
    return one_more_writer(work, node, flags);
  }
}

Result<void> StoreView::check_opening(const Directory& directory, const Name& name, int flags) {
  const bool chunk = name.kind == Name::Kind::kChunk;
  if (chunk) ZARRFS_CHECK(ChunkWriter::check_writable(directory.state->shown));
  const bool stored = chunk || name.kind == Name::Kind::kDocument;
  if (!stored && (flags & O_CREAT) == 0) return {};
  return check_caller(directory, name);
}

Result<std::shared_ptr<OpenFile>> StoreView::one_more_writer(const WorkPointer& work, NodeId node,
                                                             int flags) {
  if ((flags & O_TRUNC) != 0 && work->bytes.size() > 0) {
    ZARRFS_CHECK(work->bytes.resize(0));
    work->dirty = true;
  }
  ++work->writers;
  constexpr bool kWriter = true;
  return std::make_shared<WorkHandle>(*this, work, node, kWriter);
}

Result<std::shared_ptr<OpenFile>> StoreView::reopen_work(const NamedNode& named, NodeId node,
                                                         int flags) {
  const auto nameless = [&]() -> Result<std::shared_ptr<OpenFile>> {
    const WorkPointer left = works_.nameless(named.version);
    if (left == nullptr) return refused(Fault::kStale, named.path, "it is another file now");
    left->path = named.path;  // nobody else knows it yet
    return one_more_writer(left, node, flags);
  };
  const WorkPointer work = works_.find(named.version);
  if (work == nullptr) return nameless();
  std::unique_lock lock(work->mutex);  // who renames it comes before this or after it
  if (works_.find(named.version) == nullptr) {
    lock.unlock();
    return nameless();
  }
  ZARRFS_TRY(const StatePtr state, nodes_.get(work->directory));
  Name name;
  name.kind = work->kind == Work::Kind::kChunk      ? Name::Kind::kChunk
              : work->kind == Work::Kind::kDocument ? Name::Kind::kDocument
                                                    : Name::Kind::kScratch;
  name.path = work->path;
  name.part.coordinates = work->chunk;
  ZARRFS_CHECK(check_opening({state, std::nullopt, state->path}, name, flags));
  return one_more_writer(work, node, flags);
}

Result<WorkPointer> StoreView::make_work(const Directory& directory, const Name& name, int flags) {
  const NodeState& state = *directory.state;
  const bool chunk = name.kind == Name::Kind::kChunk;
  const auto kind = chunk                                ? Work::Kind::kChunk
                    : name.kind == Name::Kind::kDocument ? Work::Kind::kDocument
                                                         : Work::Kind::kScratch;
  if (kind == Work::Kind::kScratch && !name.store_path.empty()) {
    ZARRFS_TRY(const auto stored, shared_.store->status(name.store_path));
    if (stored) return refused(Fault::kStale, name.path, "it was stored");
  }
  WorkPointer work = works_.make(kind);
  work->path = name.path;
  work->directory = state.path;
  work->chunk = name.part.coordinates;
  if (const Caller* caller = foreign_caller()) {
    ZARRFS_TRY(work->caller, with_groups(*caller));
  }
  if (permissions_.wanted()) {
    ZARRFS_TRY(work->permissions, permissions_of_work(*work, state, name));
  }
  if (chunk) work->limit = ChunkWriter::most_bytes(state.shown);
  if ((flags & O_TRUNC) == 0) ZARRFS_CHECK(load(*work, directory, name));
  work->dirty = (flags & (O_TRUNC | O_CREAT)) != 0;
  return work;
}

/// Those of what is stored, or of the file that its user makes.
Result<Permissions> StoreView::permissions_of_work(const Work& work, const NodeState& state,
                                                   const Name& name) const {
  std::string stored;
  if (work.kind == Work::Kind::kChunk) stored = ChunkWriter::shard_of(state.shown, work.chunk);
  if (work.kind == Work::Kind::kDocument) stored = join_path(state.path, kStoredDocument);
  if (!stored.empty()) {
    ZARRFS_TRY(const auto present, permissions_.of(stored, state.path));
    if (present) return *present;
  }
  const uid_t owner = work.caller ? work.caller->user : ::geteuid();
  const gid_t group = work.caller ? work.caller->group : ::getegid();
  return Permissions{owner, group, name.mode & kPermissionBits};
}

/// What the file holds before it is written.
Result<void> StoreView::load(Work& work, const Directory& directory, const Name& name) {
  const NodeState& state = *directory.state;
  std::shared_ptr<const Bytes> bytes;
  if (name.kind == Name::Kind::kChunk) {
    ZARRFS_TRY(const auto found, chunks_.find(state.shown, name.part.coordinates));
    if (found) {
      ZARRFS_TRY(bytes, chunks_.bytes_of(state.shown, name.part.coordinates, *found));
    }
  } else if (name.kind == Name::Kind::kDocument) {
    ZARRFS_TRY(bytes, document_text(state, base_name(name.path)));
  }
  return bytes == nullptr ? Result<void>{} : work.bytes.write(0, *bytes);
}

Found StoreView::work_found(const WorkPointer& work, std::optional<NodeId> id) {
  Found answer;
  {
    const std::lock_guard lock(work->mutex);
    struct stat like {};
    std::uint64_t inode = inode_of(work->path);
    like.st_uid = ::getuid();
    like.st_gid = ::getgid();
    if (const StatePtr home = nodes_.last_known(work->directory)) {
      like = home->node.status;
      if (work->kind == Work::Kind::kChunk && home->kind == NodeState::Kind::kArray) {
        inode = inode_of(home->path, home->shown.names.number_of({false, work->chunk}));
      }
    }
    // By the name of a chunk it is the chunk; by its own number what it was made as.
    const bool by_chunk = id && *id >= kFirstChunkNode;
    if (work->was_scratch && !by_chunk) inode = inode_of_temporary(work->number);
    like.st_mtim = work->modified;
    answer = found(0, file_status(like, inode, work->bytes.size()));
    if (work->permissions) permit(answer.status, *work->permissions);
  }
  answer.fleeting = true;
  answer.id = id ? *id : table_.look_up({NamedNode::Kind::kWork, work->path, work->number});
  return answer;
}

Result<NodeMaking> StoreView::making_node_of(Work& work) {
  std::string directory;
  {
    const std::lock_guard lock(work.mutex);
    if (!work.dirty || work.gone || work.kind != Work::Kind::kDocument) return NodeMaking();
    directory = work.directory;
  }
  return making_node(directory);
}

Result<void> StoreView::hand_on(Work& work, NodeMaking alone) {
  if (!work.dirty || work.gone || work.kind == Work::Kind::kScratch) return {};
  const RequestScope as_opened(work.caller);  // whoever closes it last may be anybody
  Bytes memory;
  ZARRFS_TRY(const ByteView bytes, work.bytes.whole(memory));
  if (work.kind == Work::Kind::kDocument) {
    ZARRFS_CHECK(editor_.write(work.directory, base_name(work.path), bytes, std::move(alone)));
  } else {
    ZARRFS_TRY(const StatePtr array, nodes_.get(work.directory));
    if (array->kind != NodeState::Kind::kArray || work.chunk.size() != array->shown.names.rank()) {
      return fail(Fault::kStale, "/" + work.directory + " is no such array any more");
    }
    for (std::size_t axis = 0; axis < work.chunk.size(); ++axis) {
      if (work.chunk[axis] < array->shown.names.counts()[axis]) continue;
      return fail(Fault::kStale, ChunkFinder::describe(array->shown, work.chunk) +
                                     " lies outside the array since it was resized");
    }
    ZARRFS_CHECK(chunk_writer_.put(array->shown, work.chunk, bytes, work.modified));
    if (shared_.options.writing->flush_at_close) {
      ZARRFS_CHECK(chunk_writer_.publish(array->shown, work.chunk));
    }
  }
  work.dirty = false;
  return {};
}

Result<void> StoreView::sync_work(Work& work, NodeMaking alone) {
  ZARRFS_CHECK(hand_on(work, std::move(alone)));
  if (work.gone) return {};
  if (work.kind == Work::Kind::kScratch) {
    // The unfinished file of an atomic write need not survive: its rename makes it a chunk.
    return is_temporary_of(work.path) ? Result<void>{} : write_out(work);
  }
  if (work.kind == Work::Kind::kDocument) return {};
  ZARRFS_TRY(const StatePtr array, nodes_.get(work.directory));
  return chunk_writer_.sync(array->shown, work.chunk);
}

void StoreView::closed(const WorkPointer& work) {
  auto alone = reported(making_node_of(*work));
  const auto putting = move_gate_.putting();
  const std::lock_guard lock(work->mutex);
  const RequestScope as_opened(work->caller);
  if (--work->writers > 0) return;
  work->idle_since = std::chrono::steady_clock::now();
  if (!alone || !reported(hand_on(*work, std::move(*alone)))) {
    work->dirty = false;  // whoever closed it was told; what it had stays as it was
  }
  if (work->gone || work->kind != Work::Kind::kScratch) works_.leave(work);
}

Result<void> StoreView::write_out(Work& work) {
  if (!work.dirty) return {};
  const RequestScope as_opened(work.caller);
  std::string name = work.path.substr(work.directory.empty() ? 0 : work.directory.size() + 1);
  std::replace(name.begin(), name.end(), '/', '.');
  ZARRFS_CHECK(
      write_file(join_path(work.directory, name), work.bytes.size(),
                 [&](std::uint64_t at, std::uint64_t most) { return work.bytes.read(at, most); }));
  work.dirty = false;
  work.backed = true;
  return shared_.store->sync_directory(work.directory);
}

Result<void> StoreView::write_file(
    const std::string& path, std::uint64_t size,
    const std::function<Result<Bytes>(std::uint64_t at, std::uint64_t most)>& read) {
  Store& store = *shared_.store;
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

Result<void> StoreView::write_out_idle(std::chrono::milliseconds idle) {
  Result<void> first;
  if (works_.empty()) return first;
  const auto now = std::chrono::steady_clock::now();
  for (const WorkPointer& work : works_.below("")) {
    const std::lock_guard lock(work->mutex);
    const bool rests = work->kind == Work::Kind::kScratch && work->writers == 0 && !work->gone;
    if (!rests || is_scratch_among_chunks(*work) || now - work->idle_since < idle) continue;
    auto written = reported(write_out(*work));
    if (written) works_.leave(work);
    if (!written && first) first = std::move(written);
  }
  return first;
}

Result<void> StoreView::begin_writing() {
  const Writing& chosen = *shared_.options.writing;
  WriteOptions options;
  options.flush_after = chosen.flush_after;
  options.write_buffer = chosen.write_buffer;
  options.changed = [this](const ChunkChanges& changes) { return editor_.chunks_changed(changes); };
  const auto tell_versions = [this](const auto& told, const std::string& array_path,
                                    const Coordinates& cell, const FileIdentity& before,
                                    const FileIdentity& after) {
    const StatePtr array = nodes_.last_known(array_path);
    if (array == nullptr || array->shown.versions == nullptr) return;
    std::invoke(told, *array->shown.versions,
                linear_of(cell, array->shown.reader->layout().grid().counts()), digest_of(before),
                digest_of(after));
  };
  options.replacing = [tell_versions](const std::string& array_path, const Coordinates& cell,
                                      const FileIdentity& before, const FileIdentity& after) {
    tell_versions(&ShardVersions::replacing, array_path, cell, before, after);
  };
  options.committed = [tell_versions](const std::string& array_path, const Coordinates& cell,
                                      const CommitOutcome& outcome) {
    tell_versions(&ShardVersions::republished, array_path, cell, outcome.before, outcome.after);
  };
  options.tick = [this, idle = chosen.flush_after] {
    static_cast<void>(write_out_idle(idle));  // reported, and tried again
  };
  options.log = [this](bool error, const std::string& line) {
    shared_.options.log(error ? ViewOptions::Level::kError : ViewOptions::Level::kInfo, line);
  };
  ZARRFS_TRY(shared_.writes, WriteBuffer::open(shared_.store, std::move(options)));
  static_cast<void>(reported(editor_.resume()));  // what it could not do is kept
  return {};
}

Result<void> StoreView::remove_condemned() {
  Result<void> first;
  for (const std::string& path : session_.take_condemned()) {
    const auto moving = move_gate_.moving();
    auto done = reported(editor_.remove_document(path));
    if (!done && first) first = std::move(done);
  }
  return first;
}

Result<void> StoreView::sync(NodeId node) {
  if (!writable()) return {};
  const auto answer = [&]() -> Result<void> {
    ZARRFS_TRY(const Target target, resolve(node));
    if (!target.named) {
      return target.part.directory
                 ? shared_.writes->sync_below(target.state->path)
                 : chunk_writer_.sync(target.state->shown, target.part.coordinates);
    }
    if (target.named->kind != NamedNode::Kind::kDirectory) return {};
    ZARRFS_CHECK(shared_.writes->sync_below(target.named->path));
    return shared_.store->sync_directory(target.named->path);
  };
  return reported(answer());
}

Result<void> StoreView::publish() {
  if (!writable()) return {};
  Result<void> first = write_out_idle(std::chrono::milliseconds(0));
  auto committed = shared_.writes->commit_below("");
  if (!committed && first) first = std::move(committed);
  auto condemned = remove_condemned();
  if (!condemned && first) first = std::move(condemned);
  return first;
}

Result<void> StoreView::close() {
  if (!writable()) return {};
  Result<void> first;
  for (const WorkPointer& work : works_.below("")) {
    const auto putting = move_gate_.putting();
    const std::lock_guard lock(work->mutex);
    static_cast<void>(reported(hand_on(*work, NodeMaking())));  // its writer is gone
    work->writers = 0;
    if (work->gone || !is_scratch_among_chunks(*work)) continue;
    auto written = reported(write_out(*work));
    if (!written && first) first = std::move(written);
  }
  auto published = publish();
  if (!published && first) first = std::move(published);
  auto closed = shared_.writes->close();
  return first ? closed : first;
}

std::vector<Unpublished> StoreView::unpublished() {
  std::vector<Unpublished> list;
  if (!writable()) return list;
  const ChunkKeyEncoding dotted{ChunkKeyEncoding::Kind::kV2, '.'};
  for (const LeftDraft& draft : shared_.writes->left()) {
    list.push_back({"/" + draft.array_path + " chunk " + dotted.key(draft.chunk), draft.reason});
  }
  return list;
}

}  // namespace zarrfs
