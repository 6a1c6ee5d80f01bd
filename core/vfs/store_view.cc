#include "core/vfs/store_view.h"

#include <array>
#include <ctime>
#include <utility>

#include "core/base/hash.h"
#include "core/chunks/chunk_lister.h"
#include "core/codec/decoding_room.h"
#include "core/store/as_caller.h"
#include "core/vfs/open_files.h"
#include "core/vfs/view_directory.h"
#include "core/vfs/work_handle.h"

namespace zarrfs {

namespace {
/// The program's own open(2). Where this process may not act for others, the modes that are shown
/// have told the kernel what they may.
Result<std::shared_ptr<File>> open_for_reading(Store& store, const std::string& path) {
  if (!may_act_for_others()) return store.open(path);
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  return store.open(path);
}

Error stale(const std::string& path) {
  return {Fault::kStale, "/" + path + ": another version has taken its place"};
}
}  // namespace

StoreView::StoreView(std::shared_ptr<Store> store, const ViewOptions& options, Profile profile)
    : shared_(std::move(store), options, std::move(profile)),
      permissions_(shared_.store),
      decoded_(std::make_shared<DecodedChunks>(decoding_memory() / 2)),
      nodes_(shared_),
      chunks_(shared_),
      consolidation_(shared_, nodes_, permissions_),
      read_ahead_(options.read_ahead),
      works_(shared_.store, options.writing ? options.writing->write_buffer : 0),
      chunk_writer_(shared_),
      editor_(shared_, nodes_, consolidation_, session_),
      front_statistics_([] { return std::string("{}"); }) {
  ::clock_gettime(CLOCK_REALTIME, &started_);
}

StoreView::~StoreView() { shared_.writes.reset(); }  // its thread calls what goes next

Result<StoreView::Target> StoreView::resolve(NodeId node) {
  if (node >= kFirstChunkNode) return resolve_part(node);
  Target target;
  target.named = table_.find(node);
  if (!target.named) return fail(Fault::kStale, "node " + std::to_string(node) + " is not known");
  const NamedNode& named = *target.named;
  switch (named.kind) {
    case NamedNode::Kind::kBroken:
    case NamedNode::Kind::kDirectory: {
      ZARRFS_TRY(target.state, nodes_.get(named.path));
      if (!target.state->has_document() && session_.has_chunk_directory(named.path)) {
        return resolve_adopted(named);
      }
      const bool gone = target.state->kind == NodeState::Kind::kAbsent ||
                        target.state->kind == NodeState::Kind::kHidden;
      if (gone) return fail(stale(named.path));
      break;
    }
    case NamedNode::Kind::kDocument: {
      ZARRFS_TRY(target.state, nodes_.get(parent_path(named.path)));
      break;
    }
    default: break;
  }
  return target;
}

Result<StoreView::Target> StoreView::resolve_part(NodeId node) {
  const auto computed = shared_.numbers.find(node);
  if (!computed) return fail(Fault::kStale, "node " + std::to_string(node) + " is not known");
  Target target;
  ZARRFS_TRY(target.state, nodes_.get(computed->array_path));
  if (target.state->kind != NodeState::Kind::kArray) return fail(stale(computed->array_path));
  if (target.state->generation != computed->generation) {
    // A directory of chunks is the same one after the array was resized; programs may be in it.
    auto part = nodes_.earlier_part(computed->generation, computed->offset);
    const bool same = part && part->directory &&
                      part->coordinates.size() < target.state->shown.names.rank() &&
                      target.state->shown.names.nested();
    if (!same) return fail(stale(computed->array_path));
    target.part = std::move(*part);
    return target;
  }
  target.part = target.state->shown.names.part_of(computed->offset);
  target.version = computed->version;
  return target;
}

Result<StoreView::Target> StoreView::resolve_adopted(const NamedNode& directory) {
  std::vector<std::string> names;  // below the array, the last one first
  for (std::string path = directory.path; !path.empty();) {
    names.push_back(base_name(path));
    path = parent_path(path);
    Target target;
    ZARRFS_TRY(target.state, nodes_.get(path));
    if (!target.state->has_document()) continue;
    if (target.state->kind != NodeState::Kind::kArray) break;
    const ChunkNames& chunks = target.state->shown.names;
    std::optional<NamedPart> part = chunks.in_array(names.back());
    for (auto name = std::next(names.rbegin()); part && name != names.rend(); ++name) {
      part = part->directory ? chunks.in_prefix(part->coordinates, *name) : std::nullopt;
    }
    if (!part || !part->directory) break;
    target.part = std::move(*part);
    return target;
  }
  return fail(stale(directory.path));
}

Result<NodeId> StoreView::id_of(const NodeState& array, const NamedPart& part,
                                std::uint64_t version) {
  NodeId first = array.first_node;
  if (version != 0) {
    ZARRFS_TRY(first, shared_.numbers.range_of(array.path, array.generation, version,
                                               array.shown.names.nodes()));
  }
  return first + array.shown.names.number_of(part);
}

Found StoreView::found(NodeId id, const struct stat& status) const {
  return {.id = id, .status = status, .for_ever = shared_.options.immutable};
}

Result<ShownChunk> StoreView::current_chunk(const Target& target) {
  auto chunk = chunks_.find(target.state->shown, target.part.coordinates);
  // A chunk that cannot be read any more is another node too: see broken_chunk().
  const bool same = chunk && *chunk && (*chunk)->version == target.version;
  if (!same) return fail(stale(target.state->path));
  return std::move(**chunk);
}

WorkPointer StoreView::work_of(const Target& target) const {
  if (works_.empty()) return nullptr;
  return works_.find(chunk_key(*target.state, target.part.coordinates));
}

/// A file that is being written under the name now may have taken the place of the one that the
/// node stands for.
Result<void> StoreView::check_current(const Target& target) {
  const auto current = chunks_.find(target.state->shown, target.part.coordinates);
  const bool damaged = !current && current.error().fault == Fault::kDamaged;
  if (!current && !damaged) return fail(current.error());
  if (damaged || !*current || (*current)->version != target.version) {
    return fail(stale(target.state->path));
  }
  return {};
}

Result<WorkPointer> StoreView::current_work(const Target& target) {
  while (WorkPointer work = work_of(target)) {
    const std::lock_guard lock(work->mutex);  // what takes its place waits
    if (work_of(target) != work) continue;
    ZARRFS_CHECK(check_current(target));
    return work;
  }
  return nullptr;
}

NameMaking StoreView::not_while_nodes_are_made() {
  return writable() ? plain_writers_.making() : NameMaking();
}

Result<NodeMaking> StoreView::making_node(const std::string& path) {
  ZARRFS_TRY(const StatePtr state, nodes_.get(path));
  if (state->has_document()) return NodeMaking();
  return plain_writers_.making_node(path);
}

Result<NodeMaking> StoreView::making_document(NodeId parent, std::string_view name,
                                              NameMaking& making) {
  ZARRFS_TRY(const Directory directory, directory_of(parent));
  ZARRFS_TRY(const Name target, name_in(directory, std::string(name)));
  if (target.kind != Name::Kind::kDocument) return NodeMaking();
  making.unlock();  // this may make a node itself
  return making_node(directory.state->path);
}

Result<Found> StoreView::attributes(NodeId node) {
  const auto making = not_while_nodes_are_made();
  const auto answer = [&]() -> Result<Found> {
    ZARRFS_TRY(const Target target, resolve(node));
    if (target.named) return named_attributes(node, *target.named, target.state);
    const NodeState& array = *target.state;
    if (target.part.directory) {
      const std::uint64_t number = array.shown.names.number_of(target.part);
      return found(node, prefix_status(array, inode_of(array.path, number)));
    }
    ZARRFS_TRY(const WorkPointer work, current_work(target));
    if (work != nullptr) return work_found(work, node);
    ZARRFS_TRY(const ShownChunk chunk, current_chunk(target));
    return found(node, chunk_status(array, target.part, chunk));
  };
  return reported(answer());
}

Result<Found> StoreView::named_attributes(NodeId id, const NamedNode& node, const StatePtr& state) {
  switch (node.kind) {
    case NamedNode::Kind::kDirectory: return found(id, status_of(*state));
    case NamedNode::Kind::kDocument: {
      ZARRFS_TRY(const auto text, document_text(*state, base_name(node.path)));
      if (text == nullptr || digest_of(as_text(*text)) != node.version) {
        return fail(stale(node.path));
      }
      return found(id, document_status(*state, node.path, text->size()));
    }
    case NamedNode::Kind::kForeign: {
      ZARRFS_TRY(const auto status, shared_.store->status(node.path));
      if (status && file_version(*status) == node.version) {
        return foreign(id, *status, node.path);
      }
      return fail(stale(node.path));
    }
    case NamedNode::Kind::kBroken: {
      if (state->kind != NodeState::Kind::kArray || node.version >= state->shown.names.chunks()) {
        return fail(stale(node.path));
      }
      return broken_chunk(*state, state->shown.names.part_of(node.version), id);
    }
    case NamedNode::Kind::kWork: {
      const WorkPointer work = works_.find(node.version);
      if (work == nullptr) return fail(stale(node.path));
      return work_found(work, id);
    }
    case NamedNode::Kind::kOwnFolder:
    case NamedNode::Kind::kReport:
    case NamedNode::Kind::kStatistics: break;
  }
  const bool fleeting = node.kind != NamedNode::Kind::kOwnFolder;
  return Found{.id = id, .status = own_status(node), .fleeting = fleeting};
}

Result<std::shared_ptr<OpenFile>> StoreView::open_file(NodeId node) {
  const auto answer = [&]() -> Result<std::shared_ptr<OpenFile>> {
    ZARRFS_TRY(const Target target, resolve(node));
    if (target.named) return open_named(node, *target.named, target.state);
    if (target.part.directory) return fail(Fault::kInvalid, "a directory is not opened as a file");
    ZARRFS_TRY(WorkPointer work, current_work(target));
    if (work != nullptr) return read_work(*this, std::move(work), node);
    ZARRFS_TRY(const ShownChunk chunk, current_chunk(target));
    if (chunk.bytes) read_ahead_.opened(*chunk.bytes);
    ZARRFS_TRY(const auto file, open_chunk(target, chunk));
    file->remember(found(node, chunk_status(*target.state, target.part, chunk)));
    return file;
  };
  return reported(answer());
}

Result<std::shared_ptr<OpenFile>> StoreView::open_chunk(const Target& target,
                                                        const ShownChunk& chunk) {
  const StatePtr& array = target.state;
  const Coordinates& at = target.part.coordinates;
  const std::string called = ChunkFinder::describe(array->shown, at);
  const auto content = chunks_.content_of(array->shown, at, chunk);
  if (!content && content.error().fault == Fault::kStale) return fail(content.error());
  if (!content) return std::make_shared<BrokenFile>(content.error());
  if (content->file != nullptr || chunk.is_fill) {
    return open_content(*content, called, shared_.options.immutable);
  }
  const auto opened = std::make_shared<const ShownChunk>(chunk);
  const auto decode = [this, array, at, opened, called]() -> Result<DecodedChunks::Pointer> {
    if (!opened->bytes) {  // put together of several: they must still be those that were opened
      ZARRFS_TRY(const auto now, chunks_.find(array->shown, at));
      if (!now || now->version != opened->version) {
        return fail(Fault::kStale, called + ": it was changed while it was open");
      }
    }
    return chunks_.bytes_of(array->shown, at, *opened);
  };
  return std::make_shared<DecodedFile>(decoded_, content->bytes, decode);
}

Result<std::shared_ptr<OpenFile>> StoreView::open_named(NodeId id, const NamedNode& node,
                                                        const StatePtr& state) {
  const auto snapshot = [](const std::string& text) -> std::shared_ptr<OpenFile> {
    constexpr bool kDirect = true;
    return std::make_shared<BytesFile>(std::make_shared<const Bytes>(text.begin(), text.end()),
                                       kDirect);
  };
  switch (node.kind) {
    case NamedNode::Kind::kDocument: {
      ZARRFS_TRY(auto text, document_text(*state, base_name(node.path)));
      if (text == nullptr || digest_of(as_text(*text)) != node.version) {
        return fail(stale(node.path));
      }
      ZARRFS_TRY(const Found as_now, named_attributes(id, node, state));
      auto file = std::make_shared<BytesFile>(std::move(text));
      file->remember(as_now);
      return file;
    }
    case NamedNode::Kind::kForeign: {
      ZARRFS_TRY(auto file, open_for_reading(*shared_.store, node.path));
      if (file == nullptr || file_version(file->status()) != node.version) {
        return fail(stale(node.path));
      }
      return std::make_shared<ForeignFile>(std::move(file), shared_.options.immutable,
                                           shown_as_foreign(node.path));
    }
    case NamedNode::Kind::kWork: {
      auto work = works_.find(node.version);
      if (work == nullptr) return fail(stale(node.path));
      return read_work(*this, std::move(work), id);
    }
    case NamedNode::Kind::kBroken: return open_broken(node);
    case NamedNode::Kind::kReport:
    case NamedNode::Kind::kStatistics: return snapshot(own_text(node));
    case NamedNode::Kind::kDirectory:
    case NamedNode::Kind::kOwnFolder: break;
  }
  return fail(Fault::kInvalid, "a directory is not opened as a file");
}

Result<std::shared_ptr<OpenFile>> StoreView::open_broken(const NamedNode& node) {
  ZARRFS_TRY(const StatePtr array, nodes_.get(node.path));
  if (array->kind != NodeState::Kind::kArray || node.version >= array->shown.names.chunks()) {
    return fail(stale(node.path));
  }
  const auto chunk =
      chunks_.find(array->shown, array->shown.names.part_of(node.version).coordinates);
  if (chunk) return fail(stale(node.path));  // it has been mended
  return std::make_shared<BrokenFile>(chunk.error());
}

Result<std::shared_ptr<OpenDirectory>> StoreView::open_directory(NodeId node) {
  const auto making = not_while_nodes_are_made();
  const auto answer = [&]() -> Result<std::shared_ptr<OpenDirectory>> {
    ZARRFS_TRY(const Target target, resolve(node));
    if (!target.named) {
      if (!target.part.directory) return fail(Fault::kInvalid, "a chunk is not a directory");
      return std::make_shared<ViewDirectory>(*this, target.state, target.part.coordinates);
    }
    if (target.named->kind == NamedNode::Kind::kOwnFolder) {
      return std::make_shared<ViewDirectory>(*this);
    }
    if (target.named->kind != NamedNode::Kind::kDirectory) {
      return fail(Fault::kInvalid, "/" + target.named->path + " is not a directory");
    }
    return std::make_shared<ViewDirectory>(*this, target.state);
  };
  return reported(answer());
}

void StoreView::forget(NodeId node, std::uint64_t lookups) {
  if (node < kFirstChunkNode) table_.forget(node, lookups);
}

Result<std::vector<std::string>> StoreView::attribute_names(NodeId node) {
  ZARRFS_TRY(const Target target, resolve(node));
  std::vector<std::string> names;
  if (target.named) {
    if (target.state != nullptr && target.state->kind == NodeState::Kind::kArray &&
        target.named->kind == NamedNode::Kind::kDirectory) {
      names.emplace_back("user.zarrfs.presented");
    }
    return names;
  }
  if (target.part.directory) return names;
  names = {"user.zarrfs.chunk", "user.zarrfs.presented"};
  ZARRFS_TRY(const ShownChunk chunk, current_chunk(target));
  if (chunk.bytes) {
    names.insert(names.end(), {"user.zarrfs.shard", "user.zarrfs.offset", "user.zarrfs.nbytes"});
  }
  return names;
}

Result<std::string> StoreView::attribute(NodeId node, const std::string& name) {
  ZARRFS_TRY(const Target target, resolve(node));
  const auto none = fail(Fault::kNoData, "no attribute " + printable(name));
  const bool on_array = target.named && target.named->kind == NamedNode::Kind::kDirectory &&
                        target.state->kind == NodeState::Kind::kArray;
  const bool on_chunk = !target.named && !target.part.directory;
  if (!name.starts_with("user.zarrfs.") || (!on_array && !on_chunk)) return none;
  const NodeState& array = *target.state;
  if (name == "user.zarrfs.presented") {
    return std::string(name_of(shown_as(array.shown.presentation.rule)));
  }
  if (on_array) return none;
  if (name == "user.zarrfs.chunk") {
    return ChunkKeyEncoding{ChunkKeyEncoding::Kind::kV2, '.'}.key(target.part.coordinates);
  }
  ZARRFS_TRY(const ShownChunk chunk, current_chunk(target));
  if (!chunk.bytes) return none;
  if (name == "user.zarrfs.shard") {
    return array.shown.reader->cell_path(
        array.shown.reader->layout().place_of(target.part.coordinates).cell);
  }
  if (name == "user.zarrfs.offset") return std::to_string(chunk.bytes->range.offset);
  if (name == "user.zarrfs.nbytes") return std::to_string(chunk.bytes->range.length);
  return none;
}

Result<struct statvfs> StoreView::space() { return shared_.store->space(); }

}  // namespace zarrfs
