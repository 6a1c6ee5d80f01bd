#include "core/names/entries.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/hash.h"

namespace zarrfs {

InodeEntry Entries::of(NodeId id, const struct stat& status) const {
  return {.id = id, .status = status, .immutable = parts_.shared.options.immutable};
}

InodeEntry Entries::of_chunk(NodeId id, const NodeState& array, const Coordinates& at,
                             const ShownPlace& place, const ShownChunk& chunk,
                             const std::optional<NameLoans::Offer>& offer) {
  InodeEntry answer = of(id, statuses_.of_chunk(array, at, place, chunk));
  answer.version = mix_numbers(chunk.version, array.generation);
  answer.described = array.node.status.st_mtim;
  const bool in_shard = chunk.bytes && !chunk.is_draft;
  if (offer && in_shard && parts_.loans.lend(*offer, array, place, id)) {
    answer.lent = NameLoans::kLent;
  }
  return answer;
}

InodeEntry Entries::of_broken_chunk(const NodeState& array, const ChunkOrPrefix& part,
                                    std::optional<NodeId> id) {
  // zarr-python 2 and GDAL take a file that cannot be looked up or opened for a missing chunk, and
  // so for the fill value. Only a read that fails is an error to them.
  const std::uint64_t number = array.shown.names.number_of(part);
  const std::uint64_t size = std::max<std::uint64_t>(array.shown.presentation.fixed_size, 1);
  InodeEntry answer =
      of(0, statuses_.file_status(array.node.status, inode_of(array.path, number), size));
  statuses_.permit_chunk(answer.status, array.shown, part.coordinates, nullptr);
  answer.immutable = false;
  answer.uncached = true;
  answer.id = id ? *id : parts_.table.look_up({NamedNode::Kind::kBroken, array.path, number});
  return answer;
}

InodeEntry Entries::of_document(NodeId id, const struct stat& status, bool written) const {
  InodeEntry answer = of(id, status);
  answer.immutable = answer.immutable && !written;
  answer.uncached = written;
  return answer;
}

InodeEntry Entries::of_staged(const StagedPointer& file, std::optional<NodeId> id) {
  InodeEntry answer;
  std::string path;  // a rename changes it
  {
    const std::lock_guard lock(file->mutex);
    path = file->path;
    struct stat like {};
    std::uint64_t inode = inode_of(path);
    like.st_uid = ::getuid();
    like.st_gid = ::getgid();
    if (const StatePtr home = parts_.nodes.last_known(file->directory)) {
      like = home->node.status;
      if (file->kind() == StagedFile::Kind::kChunk && home->kind == NodeState::Kind::kArray) {
        inode = inode_of(home->path, home->shown.names.number_of({false, file->chunk}));
      }
    }
    // By the name of a chunk it is the chunk; by its own number what it was made as.
    const bool by_chunk = id && *id >= kFirstChunkNode;
    if (file->made_as == StagedFile::Kind::kTemporary && !by_chunk)
      inode = inode_of_temporary(file->number);
    like.st_mtim = file->modified;
    answer = of(0, statuses_.file_status(like, inode, file->bytes.size()));
    if (file->permissions) statuses_.permit(answer.status, *file->permissions);
  }
  answer.uncached = true;
  answer.id = id ? *id : parts_.table.look_up({NamedNode::Kind::kStaged, path, file->number});
  return answer;
}

InodeEntry Entries::of_pass_through(NodeId id, const struct stat& status,
                                    const std::string& path) const {
  return of(id, statuses_.of_pass_through(status, path));
}

InodeEntry Entries::look_up_pass_through(const std::string& path, const struct stat& status) {
  const NodeId id =
      parts_.table.look_up({NamedNode::Kind::kPassThrough, path, file_version(status)});
  return of_pass_through(id, status, path);
}

InodeEntry Entries::of_link(NodeId id, const struct stat& status) const {
  return of(id, statuses_.of_link(status));
}

InodeEntry Entries::look_up_link(const std::string& path, const struct stat& status) {
  return of_link(parts_.table.look_up({NamedNode::Kind::kLink, path, file_version(status)}),
                 status);
}

std::function<InodeEntry(const struct stat&)> Entries::shown_as_pass_through(
    const std::string& path) const {
  return [this, path](const struct stat& status) {
    return of(0, statuses_.of_pass_through(status, path));
  };
}

NodeId Entries::id_of(const NodeState& array, std::uint64_t number, std::uint64_t version) {
  NodeNumbers::give(*array.numbers);
  return array.numbers->node(version, number);
}

std::uint64_t file_version(const struct stat& status) {
  return mix_numbers(status.st_dev, status.st_ino);
}

std::uint64_t document_version(const Bytes& text) {
  return digest_of({reinterpret_cast<const char*>(text.data()), text.size()});
}

}  // namespace zarrfs
