#include "core/names/inodes.h"

#include <utility>

#include "core/base/hash.h"
#include "core/names/refusals.h"

namespace zarrfs {

namespace {
/// Not 0, whatever bits of it a number has room for.
std::uint64_t tag_of_older(std::uint64_t node) { return node | 1U; }
}  // namespace

Result<InodeTarget> Inodes::resolve(NodeId node) { return resolve_by(node, &NodeCache::get); }

Result<InodeTarget> Inodes::resolve_or_known(NodeId node) {
  ZARRFS_TRY(InodeTarget target, resolve_by(node, &NodeCache::get_or_known));
  const bool chunk = !target.named && !target.part.directory;
  if (chunk && target.state->unread) return stale(target.state->path);
  return target;
}

Result<InodeTarget> Inodes::resolve_by(NodeId node, Get get) {
  if (node >= kFirstChunkNode) return resolve_part(node, get);
  InodeTarget target;
  target.id = node;
  target.named = parts_.table.find(node);
  if (!target.named) return fail(Fault::kStale, "node " + std::to_string(node) + " is not known");
  const NamedNode& named = *target.named;
  switch (named.kind) {
    case NamedNode::Kind::kBroken:
    case NamedNode::Kind::kDirectory: {
      ZARRFS_TRY(target.state, (parts_.nodes.*get)(named.path));
      if (!target.state->has_document() && parts_.overlay.has_chunk_directory(named.path)) {
        return resolve_adopted(named);
      }
      const bool gone = target.state->kind == NodeState::Kind::kAbsent ||
                        target.state->kind == NodeState::Kind::kHidden;
      if (gone) return stale(named.path);
      break;
    }
    case NamedNode::Kind::kDocument: {
      ZARRFS_TRY(target.state, parts_.nodes.get(parent_path(named.path)));
      break;
    }
    default: break;
  }
  return target;
}

Result<InodeTarget> Inodes::resolve_part(NodeId node, Get get) {
  const auto computed = parts_.shared.numbers.find(node);
  if (!computed) return fail(Fault::kStale, "node " + std::to_string(node) + " is not known");
  InodeTarget target;
  target.id = node;
  target.tag = computed->tag;
  ZARRFS_TRY(target.state, (parts_.nodes.*get)(computed->array_path));
  if (target.state->kind != NodeState::Kind::kArray) return stale(computed->array_path);
  if (target.state->generation != computed->generation) {
    // A directory of chunks is the same one after the array was resized; programs may be in it.
    auto part = parts_.nodes.earlier_part(computed->generation, computed->offset);
    const bool same = part && part->directory &&
                      part->coordinates.size() < target.state->shown.names.rank() &&
                      target.state->shown.names.nested();
    if (!same) return stale(computed->array_path);
    target.part = std::move(*part);
    target.tag = tag_of_older(mix_numbers(computed->generation, computed->tag));
    return target;
  }
  target.part = target.state->shown.names.part_of(computed->offset);
  if (!target.part.directory) {
    target.place = shown_place(target.state->shown, target.part.coordinates);
  }
  return target;
}

Result<InodeTarget> Inodes::resolve_adopted(const NamedNode& directory) {
  std::vector<std::string> names;  // below the array, the last one first
  for (std::string path = directory.path; !path.empty();) {
    names.push_back(last_name(path));
    path = parent_path(path);
    InodeTarget target;
    ZARRFS_TRY(target.state, parts_.nodes.get(path));
    if (!target.state->has_document()) continue;
    if (target.state->kind != NodeState::Kind::kArray) break;
    const ChunkNames& chunks = target.state->shown.names;
    std::optional<ChunkOrPrefix> part = chunks.in_array(names.back());
    for (auto name = std::next(names.rbegin()); part && name != names.rend(); ++name) {
      part = part->directory ? chunks.in_prefix(part->coordinates, *name) : std::nullopt;
    }
    if (!part || !part->directory) break;
    target.part = std::move(*part);
    target.tag = tag_of_older(digest_of(directory.path));
    return target;
  }
  return stale(directory.path);
}

/// Whether the number stands for this version of the chunk.
bool Inodes::is_of(const InodeTarget& target, const ShownChunk& chunk) {
  return target.state->numbers->tag_of(chunk.version) == target.tag;
}

Result<ShownChunk> Inodes::current_chunk(const InodeTarget& target) {
  auto chunk = parts_.chunks.find_at(target.state->shown, target.part.coordinates, target.place);
  // A chunk that cannot be read any more is another node too: see Entries::of_broken_chunk().
  const bool same = chunk && *chunk && is_of(target, **chunk);
  if (!same) return stale(target.state->path);
  return std::move(**chunk);
}

StagedPointer Inodes::staged_of(const InodeTarget& target) const {
  if (parts_.staged.empty()) return nullptr;
  return parts_.staged.find(chunk_key(*target.state, target.place.number));
}

/// A file that is being written under the name now may have taken the place of the one that the
/// node stands for.
Result<void> Inodes::check_current(const InodeTarget& target) {
  const auto current =
      parts_.chunks.find_at(target.state->shown, target.part.coordinates, target.place);
  const bool damaged = !current && current.error().fault == Fault::kDamaged;
  if (!current && !damaged) return fail(current.error());
  if (damaged || !*current || !is_of(target, **current)) {
    return stale(target.state->path);
  }
  return {};
}

Result<StagedPointer> Inodes::current_staged(const InodeTarget& target) {
  while (StagedPointer file = staged_of(target)) {
    const std::lock_guard lock(file->mutex);  // what takes its place waits
    if (staged_of(target) != file) continue;
    if (file->node != target.id) ZARRFS_CHECK(check_current(target));
    return file;
  }
  return nullptr;
}

Result<void> Inodes::check_opened(const InodeTarget& target) {
  ZARRFS_TRY(const StagedPointer written, current_staged(target));
  return written != nullptr ? Result<void>{} : check_current(target);
}

}  // namespace zarrfs
