#include "core/vfs/opening.h"

#include <fcntl.h>

#include "core/codecs/decoding_room.h"
#include "core/files/open_files.h"
#include "core/names/directory_listing.h"
#include "core/names/refusals.h"

namespace zarrfs {

Opening::Opening(ViewParts& parts, Namespace& names, Documents& documents, Entries& entries,
                 Inodes& inodes, const Statuses& statuses, CallerRights& rights,
                 ControlFiles& control, StagedFiles& staged, PassThrough& pass_through)
    : parts_(parts),
      names_(names),
      documents_(documents),
      entries_(entries),
      inodes_(inodes),
      statuses_(statuses),
      rights_(rights),
      control_(control),
      staged_(staged),
      pass_through_(pass_through),
      read_ahead_(parts.shared.options.read_ahead),
      far_ahead_(parts.shared.options.read_ahead) {}

Result<std::shared_ptr<OpenFile>> Opening::open_file(NodeId node) {
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve_or_known(node));
  if (target.named) return open_named(node, *target.named, target.state);
  if (target.part.directory) return fail(Fault::kInvalid, "a directory is not opened as a file");
  ZARRFS_TRY(StagedPointer written, inodes_.current_staged(target));
  if (written != nullptr) return staged_.open_to_read(std::move(written), node);
  ZARRFS_TRY(const ShownChunk chunk, inodes_.current_chunk(target));
  ZARRFS_TRY(const auto file, open_shown(target, chunk));
  file->remember(entries_.of_chunk(node, *target.state, target.part.coordinates, target.place,
                                   chunk, std::nullopt));
  return file;
}

Result<std::optional<FoundAndOpened>> Opening::find_and_open(NodeId parent, std::string_view name) {
  FoundContent content;
  ZARRFS_TRY(const auto found, names_.find(parent, name, &content));
  if (!found) return std::nullopt;
  if (!S_ISREG(found->status.st_mode)) return FoundAndOpened{*found, nullptr};
  if (const auto& document = content.document) {
    auto file = std::make_shared<BytesFile>(document->text, document->written);
    file->remember(*found);
    return FoundAndOpened{*found, std::move(file)};
  }
  const auto& chunk = content.chunk;
  auto file = chunk ? open_shown(chunk->target, chunk->chunk) : open_file(found->id);
  if (!file) {
    if (!chunk) parts_.table.forget(found->id, 1);
    return fail(std::move(file.error()));
  }
  if (chunk) (*file)->remember(*found);
  return FoundAndOpened{*found, std::move(*file)};
}

Result<std::shared_ptr<OpenFile>> Opening::open_shown(const InodeTarget& target,
                                                      const ShownChunk& chunk) {
  if (chunk.bytes && chunk.bytes->file != nullptr) {
    const bool near = chunk.is_draft || chunk.bytes->file->descriptor() >= 0;
    if (near) {
      read_ahead_.opened(*chunk.bytes);
    } else {
      far_ahead_.opened(*target.state->shown.reader, *target.place.stored, *chunk.bytes);
    }
  }
  return open_chunk(target, chunk);
}

Result<std::shared_ptr<OpenFile>> Opening::open_chunk(const InodeTarget& target,
                                                      const ShownChunk& chunk) {
  const ArrayView& array = target.state->shown;
  const Coordinates& at = target.part.coordinates;
  const auto content = parts_.chunks.content_of(array, at, chunk);
  if (!content && says_nothing(content.error().fault)) return fail(content.error());
  if (!content) return std::make_shared<BrokenFile>(content.error());
  if (content->file != nullptr || chunk.is_fill) {
    const bool far = content->file != nullptr && content->file->descriptor() < 0;
    const std::uint64_t ahead =
        far ? std::min(parts_.shared.options.read_ahead, array.reader->store().room_ahead() / 2)
            : 0;
    const ViewOptions& options = parts_.shared.options;
    return open_content(*content, ChunkFinder::describe(array, at),
                        {options.immutable, ahead, options.direct_io && !far});
  }
  return open_decoded(target, chunk, content->bytes);
}

std::shared_ptr<OpenFile> Opening::open_decoded(const InodeTarget& target, const ShownChunk& chunk,
                                                const std::shared_ptr<const Bytes>& bytes) {
  const auto opened = std::make_shared<const ShownChunk>(chunk);
  const auto decode = [this, array = target.state, at = target.part.coordinates,
                       opened]() -> Result<DecodedChunks::Pointer> {
    if (!opened->bytes) {  // put together of several: they must still be those
                           // that were opened
      ZARRFS_TRY(const auto now, parts_.chunks.find(array->shown, at));
      if (!now || now->version != opened->version) {
        return fail(Fault::kStale,
                    ChunkFinder::describe(array->shown, at) + ": it was changed while it was open");
      }
    }
    return parts_.chunks.bytes_of(array->shown, at, *opened);
  };
  return std::make_shared<DecodedFile>(parts_.decoded, bytes, decode);
}

Result<std::shared_ptr<OpenFile>> Opening::open_named(NodeId id, const NamedNode& node,
                                                      const StatePtr& state) {
  switch (node.kind) {
    case NamedNode::Kind::kDocument: return open_document(id, node, *state);
    case NamedNode::Kind::kPassThrough: return pass_through_.open_to_read(node);
    case NamedNode::Kind::kStaged: {
      auto file = parts_.staged.find(node.version);
      if (file == nullptr) return stale(node.path);
      return staged_.open_to_read(std::move(file), id);
    }
    case NamedNode::Kind::kBroken: return open_broken(node);
    case NamedNode::Kind::kReport:
    case NamedNode::Kind::kStatistics: {
      const std::string text = control_.text(node);
      constexpr bool kDirect = true;
      return std::make_shared<BytesFile>(std::make_shared<const Bytes>(text.begin(), text.end()),
                                         kDirect);
    }
    case NamedNode::Kind::kLink:
    case NamedNode::Kind::kDirectory:
    case NamedNode::Kind::kOwnFolder: break;
  }
  return fail(Fault::kInvalid, "a directory is not opened as a file");
}

Result<std::shared_ptr<OpenFile>> Opening::open_document(NodeId id, const NamedNode& node,
                                                         const NodeState& state) {
  ZARRFS_TRY(const DocumentText document, documents_.text(state, last_name(node.path)));
  if (document.text == nullptr) return stale(node.path);
  const bool written = inodes_.is_written_by(node.path, id);
  if (!written && document_version(*document.text) != node.version) return stale(node.path);
  const struct stat status = statuses_.of_document(state, node.path, document);
  auto file = std::make_shared<BytesFile>(document.text, written);
  file->remember(entries_.of_document(id, status, written));
  return file;
}

Result<std::shared_ptr<OpenFile>> Opening::open_broken(const NamedNode& node) {
  ZARRFS_TRY(const StatePtr array, parts_.nodes.get_or_known(node.path));
  if (array->unread) return std::make_shared<BrokenFile>(*array->unread);
  if (array->kind != NodeState::Kind::kArray || node.version >= array->shown.names.chunks()) {
    return stale(node.path);
  }
  const auto chunk =
      parts_.chunks.find(array->shown, array->shown.names.part_of(node.version).coordinates);
  if (chunk) return stale(node.path);  // it has been mended
  if (says_nothing(chunk.error().fault)) return fail(chunk.error());
  return std::make_shared<BrokenFile>(chunk.error());
}

Result<std::shared_ptr<OpenDirectory>> Opening::open_directory(NodeId node) {
  const auto creation = parts_.shared_creation();
  const auto list = [this](Directory directory) {
    return std::make_shared<DirectoryListing>(parts_, names_, documents_, std::move(directory));
  };
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  if (!target.named) {
    if (!target.part.directory) return fail(Fault::kInvalid, "a chunk is not a directory");
    return list({target.state, target.part.coordinates});
  }
  if (target.named->kind == NamedNode::Kind::kOwnFolder) {
    return std::make_shared<ControlListing>();
  }
  if (target.named->kind != NamedNode::Kind::kDirectory) {
    return fail(Fault::kInvalid, "/" + target.named->path + " is not a directory");
  }
  return list({target.state, std::nullopt});
}

namespace {
Name chunk_called(const std::string& array_path, const ChunkOrPrefix& part) {
  const ChunkKeyEncoding dotted{ChunkKeyEncoding::Kind::kV2, '.'};
  Name name;
  name.kind = NameKind::kChunk;
  name.part = part;
  name.path = join_path(array_path, dotted.key(part.coordinates));
  return name;
}
}  // namespace

Result<std::shared_ptr<OpenFile>> Opening::open_for_writing(NodeId node, int flags) {
  ZARRFS_CHECK(rights_.check_writing());
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  if (target.named) return write_named(node, *target.named, target.state, flags);
  if (target.part.directory) return fail(Fault::kInvalid, "a directory is not opened to write");
  ZARRFS_CHECK(inodes_.check_opened(target));
  return staged_.open({target.state, std::nullopt}, chunk_called(target.state->path, target.part),
                      node, flags, nullptr);
}

Result<std::optional<FoundAndOpened>> Opening::find_and_open_to_write(NodeId parent,
                                                                      std::string_view name,
                                                                      int flags) {
  ZARRFS_TRY(const auto found, names_.find(parent, name));
  if (!found) return std::nullopt;
  if (!S_ISREG(found->status.st_mode)) return FoundAndOpened{*found, nullptr};
  if (found->id >= kFirstChunkNode) return open_found_chunk(found->id, flags);
  auto file = open_for_writing(found->id, flags);
  if (file) return FoundAndOpened{*found, std::move(*file)};
  parts_.table.forget(found->id, 1);
  return fail(std::move(file.error()));
}

/// By `node`, or by the one by which it is being written already.
Result<std::optional<FoundAndOpened>> Opening::open_found_chunk(NodeId node, int flags) {
  ZARRFS_CHECK(rights_.check_writing());
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  StagedPointer written;
  ZARRFS_TRY(auto file,
             staged_.open({target.state, std::nullopt},
                          chunk_called(target.state->path, target.part), node, flags, &written));
  return FoundAndOpened{entries_.of_staged(written, written->written_by()), std::move(file)};
}

Result<std::shared_ptr<OpenFile>> Opening::write_named(NodeId id, const NamedNode& node,
                                                       const StatePtr& state, int flags) {
  switch (node.kind) {
    case NamedNode::Kind::kPassThrough: return pass_through_.open_to_write(node, flags);
    case NamedNode::Kind::kStaged: return staged_.reopen(node, id, flags);
    case NamedNode::Kind::kBroken: {
      if (state->kind != NodeState::Kind::kArray || node.version >= state->shown.names.chunks()) {
        return refused(Fault::kStale, node.path, "it is another array now");
      }
      const Name name = chunk_called(node.path, state->shown.names.part_of(node.version));
      return staged_.open({state, std::nullopt}, name, id, flags, nullptr);
    }
    case NamedNode::Kind::kDocument: {
      Name name;
      name.kind = NameKind::kDocument;
      name.path = node.path;
      return staged_.open({state, std::nullopt}, name, id, flags, nullptr);
    }
    default: return refused(Fault::kForbidden, node.path, "it cannot be written");
  }
}

}  // namespace zarrfs
