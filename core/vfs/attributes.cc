#include "core/vfs/attributes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/printable.h"
#include "core/names/refusals.h"
#include "core/store/store_links.h"

namespace zarrfs {

Result<InodeEntry> Attributes::get(NodeId node, Version version) {
  const auto creation = parts_.shared_creation();
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve_or_known(node));
  if (target.named) {
    auto own = get_named(node, *target.named, target.state);
    const bool replaced = !own && own.error().fault == Fault::kStale;
    return replaced && version == Version::kByNow ? get_named_by_now(node, *target.named) : own;
  }
  const NodeState& array = *target.state;
  if (target.part.directory) {
    const std::uint64_t number = array.shown.names.number_of(target.part);
    return entries_.of(node, statuses_.of_prefix(array, inode_of(array.path, number)));
  }
  if (version == Version::kByNow) return get_chunk_by_now(node, target);
  ZARRFS_TRY(const StagedPointer file, inodes_.current_staged(target));
  if (file != nullptr) return entries_.of_staged(file, node);
  const auto offer = parts_.offer(target.place);
  ZARRFS_TRY(const ShownChunk chunk, inodes_.current_chunk(target));
  return entries_.of_chunk(node, array, target.part.coordinates, target.place, chunk, offer);
}

Result<InodeEntry> Attributes::get_chunk_by_now(NodeId id, const InodeTarget& target) {
  const NodeState& array = *target.state;
  const StagedPointer file = inodes_.staged_of(target);
  if (file != nullptr && file->has_name()) return entries_.of_staged(file, id);
  const auto found = parts_.chunks.find_at(array.shown, target.part.coordinates, target.place);
  if (!found || !*found) return stale(array.path);
  InodeEntry answer =
      entries_.of_chunk(id, array, target.part.coordinates, target.place, **found, std::nullopt);
  answer.uncached = true;
  return answer;
}

/// Those of the file that has the name by now.
Result<InodeEntry> Attributes::get_named_by_now(NodeId id, const NamedNode& node) {
  const bool file = node.kind == NamedNode::Kind::kDocument || node.by_version();
  if (!file) return stale(node.path);
  ZARRFS_TRY(const StatePtr directory, parts_.nodes.get(parent_path(node.path)));
  ZARRFS_TRY(auto found, names_.find_in({directory, std::nullopt}, last_name(node.path)));
  if (!found) return stale(node.path);
  parts_.table.forget(found->id, 1);
  if (!S_ISREG(found->status.st_mode)) return stale(node.path);
  found->id = id;
  found->uncached = true;
  return *found;
}

Result<InodeEntry> Attributes::get_named(NodeId id, const NamedNode& node, const StatePtr& state) {
  switch (node.kind) {
    case NamedNode::Kind::kDirectory: return entries_.of(id, statuses_.of_directory(*state));
    case NamedNode::Kind::kDocument: {
      ZARRFS_TRY(const DocumentText document, documents_.text(*state, last_name(node.path)));
      if (document.text == nullptr) return stale(node.path);
      const bool written = inodes_.is_written_by(node.path, id);
      if (!written && document_version(*document.text) != node.version) return stale(node.path);
      const struct stat status = statuses_.of_document(*state, node.path, document);
      return entries_.of_document(id, status, written);
    }
    case NamedNode::Kind::kPassThrough: {
      ZARRFS_TRY(const auto status, parts_.shared.store->status(node.path));
      if (status && !S_ISDIR(status->st_mode) && file_version(*status) == node.version) {
        return entries_.of_pass_through(id, *status, node.path);
      }
      return stale(node.path);
    }
    case NamedNode::Kind::kLink: {
      ZARRFS_TRY(const auto link, link_at(*parts_.shared.store, node.path));
      if (link && file_version(link->status) == node.version)
        return entries_.of_link(id, link->status);
      return stale(node.path);
    }
    case NamedNode::Kind::kBroken: {
      if (state->kind != NodeState::Kind::kArray || node.version >= state->shown.names.chunks()) {
        return stale(node.path);
      }
      return entries_.of_broken_chunk(*state, state->shown.names.part_of(node.version), id);
    }
    case NamedNode::Kind::kStaged: {
      const StagedPointer file = parts_.staged.find(node.version);
      if (file == nullptr) return stale(node.path);
      return entries_.of_staged(file, id);
    }
    case NamedNode::Kind::kOwnFolder:
    case NamedNode::Kind::kReport:
    case NamedNode::Kind::kStatistics: break;
  }
  const bool uncached = node.kind != NamedNode::Kind::kOwnFolder;
  return InodeEntry{.id = id, .status = control_.status(node), .uncached = uncached};
}

Result<std::string> Attributes::link_target(NodeId node) {
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  if (!target.named || target.named->kind != NamedNode::Kind::kLink) {
    return fail(Fault::kInvalid, "it is no symbolic link");
  }
  ZARRFS_TRY(const auto link, link_at(*parts_.shared.store, target.named->path));
  if (link && file_version(link->status) == target.named->version) return link->target;
  return stale(target.named->path);
}

Result<InodeEntry> Attributes::change(NodeId node, const AttributeChange& change, OpenFile* file) {
  ZARRFS_CHECK(rights_.check_writing());
  std::shared_ptr<OpenFile> truncated;  // its node may stand for the version before
  if (change.size && file != nullptr) {
    ZARRFS_CHECK(file->resize(*change.size));
  } else if (change.size) {
    ZARRFS_TRY(truncated, truncate(node, *change.size));
  }
  ZARRFS_TRY(const bool stored, change_stored(node, change, file));
  if (stored && file == nullptr) return get(node);
  ZARRFS_CHECK(check_mode_kept(node, change, file));
  if (OpenFile* changed = truncated != nullptr ? truncated.get() : file) {
    ZARRFS_TRY(auto own, changed->attributes());
    if (own) {
      own->id = node;
      return *own;
    }
  }
  return get(node);
}

Result<bool> Attributes::change_stored(NodeId node, const AttributeChange& change, OpenFile* file) {
  if (!change.mode && !change.owner && !change.group && !change.accessed && !change.modified) {
    return false;
  }
  if (file != nullptr) {
    ZARRFS_TRY(const bool stored, file->change(change));
    if (stored) parts_.nodes.forget();
    return stored;
  }
  if (node >= kFirstChunkNode) return false;
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  if (!target.named) return false;
  if (target.named->kind == NamedNode::Kind::kLink) {
    ZARRFS_CHECK(pass_through_.change_link(*target.named, change));
    return true;
  }
  const bool directory = target.named->kind == NamedNode::Kind::kDirectory &&
                         target.state->kind == NodeState::Kind::kPassThrough;
  if (!directory && target.named->kind != NamedNode::Kind::kPassThrough) return false;
  ZARRFS_CHECK(pass_through_.change(*target.named, change));
  return true;
}

Result<std::shared_ptr<OpenFile>> Attributes::truncate(NodeId node, std::uint64_t size) {
  ZARRFS_TRY(auto file, opening_.open_for_writing(node, O_WRONLY | (size == 0 ? O_TRUNC : 0)));
  auto done = file->resize(size);
  if (done) done = file->flush();
  file->closed();
  ZARRFS_CHECK(done);
  return file;
}

Result<void> Attributes::check_mode_kept(NodeId node, const AttributeChange& change,
                                         OpenFile* file) {
  if (!parts_.permissions.wanted() || !change.mode) return {};
  mode_t shown = 0;
  if (file != nullptr) {
    ZARRFS_TRY(const auto own, file->attributes());
    if (own) shown = own->status.st_mode;
  }
  if (shown == 0) {
    ZARRFS_TRY(const InodeEntry now, get(node));
    shown = now.status.st_mode;
  }
  if ((shown & ~*change.mode & ACCESSPERMS) == 0) return {};
  return fail(Fault::kForbidden,
              "the permissions of what is presented are "
              "those of the stored files: change those");
}

Result<std::vector<std::string>> Attributes::extended_names(NodeId node) {
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  std::vector<std::string> names;
  if (target.named) {
    if (target.named->kind != NamedNode::Kind::kDirectory) return names;
    if (target.state != nullptr && target.state->kind == NodeState::Kind::kArray) {
      names.emplace_back("user.zarrfs.presented");
    }
    if (!parts_.shared.refusals.text(target.named->path).empty()) {
      names.emplace_back(kRefusedAttribute);
    }
    return names;
  }
  if (target.part.directory) return names;
  names = {"user.zarrfs.chunk", "user.zarrfs.presented"};
  // Of whatever version: their names are the same, and programs ask of files that they have open.
  const auto chunk =
      parts_.chunks.find_at(target.state->shown, target.part.coordinates, target.place);
  if (chunk && *chunk && (*chunk)->bytes) {
    names.insert(names.end(), {"user.zarrfs.shard", "user.zarrfs.offset", "user.zarrfs.nbytes"});
  }
  return names;
}

Result<std::string> Attributes::extended(NodeId node, const std::string& name) {
  const auto none = fail(Fault::kNoData, "no attribute " + printable(name));
  const auto refused_in = [&](const std::string& directory) -> Result<std::string> {
    std::string lines = parts_.shared.refusals.text(directory);
    if (lines.empty()) return none;
    return lines;
  };
  // Of the whole mount it is told also where the store does not answer.
  if (node == kRootNode && name == kRefusedAttribute) return refused_in("");
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  if (target.named && target.named->kind == NamedNode::Kind::kDirectory &&
      name == kRefusedAttribute) {
    return refused_in(target.named->path);
  }
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
  ZARRFS_TRY(const ShownChunk chunk, inodes_.current_chunk(target));
  if (!chunk.bytes) return none;
  if (name == "user.zarrfs.shard") return target.place.stored->path;
  if (name == "user.zarrfs.offset") return std::to_string(chunk.bytes->range.offset);
  if (name == "user.zarrfs.nbytes") return std::to_string(chunk.bytes->range.length);
  return none;
}

}  // namespace zarrfs
