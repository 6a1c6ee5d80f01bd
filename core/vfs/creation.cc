#include "core/vfs/creation.h"

#include <fcntl.h>

#include "core/chunks/chunk_writer.h"
#include "core/names/refusals.h"
#include "core/nodes/orphan_chunks.h"
#include "core/vfs/stored_as_caller.h"

namespace zarrfs {

namespace {
constexpr int kMakeRounds = 5;
}  // namespace

Result<Created> Creation::create(NodeId parent, std::string_view name, int flags, mode_t mode) {
  auto created = try_create(parent, name, flags, mode);
  for (int round = 1; round < kMakeRounds && !created; ++round) {
    if (created.error().fault != Fault::kStale) break;
    created = try_create(parent, name, flags,
                         mode);  // one of this name has just been persisted
  }
  return created;
}

Result<Created> Creation::try_create(NodeId parent, std::string_view name, int flags, mode_t mode) {
  const auto creation = parts_.creation_gate.shared();
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  if (names_.keeps_early(directory, std::string(name))) {
    return create_early(parent, directory, std::string(name), flags, mode);
  }
  ZARRFS_TRY(Name target, names_.claim(directory, std::string(name)));
  target.mode = mode;
  if (target.kind == NameKind::kPrefix) {
    return refused(Fault::kExists, target.path, "it is a directory of chunks");
  }
  const bool exclusive = (flags & O_EXCL) != 0;
  bool there = false;  // asked for where the answer counts: the kernel has just looked it up
  if (exclusive || target.kind == NameKind::kTemporary) {
    ZARRFS_TRY(there, names_.exists(directory, target));
  }
  if (there && exclusive) return refused(Fault::kExists, target.path, "it exists");
  const bool stored =
      target.kind == NameKind::kPassThrough ||
      (target.kind == NameKind::kTemporary && there && parts_.staged.find(target.path) == nullptr);
  if (stored) {
    ZARRFS_TRY(auto file, pass_through_.create(target.store_path, flags, mode));
    ZARRFS_TRY(const InodeEntry found, names_.found_again(parent, name));
    return Created{found, std::move(file)};
  }
  StagedPointer made;
  ZARRFS_TRY(auto file, staged_.open(directory, target, kRootNode, flags | O_CREAT, &made));
  auto node = made->written_by();  // of one that another program made, and has open by now
  const bool counted = node && *node < kFirstChunkNode;
  if (counted && !parts_.table.look_up_again(*node)) node.reset();
  return Created{entries_.of_staged(made, node), std::move(file)};
}

/// A chunk outside the array: a file of the store until the array has grown to it.
Result<Created> Creation::create_early(NodeId parent, const Directory& directory,
                                       const std::string& name, int flags, mode_t mode) {
  const NodeState& array = *directory.state;
  const std::string path = join_path(array.path, name);
  ZARRFS_CHECK(ChunkWriter::check_writable(array.shown));
  ZARRFS_CHECK(rights_.check_caller(directory, {NameKind::kTemporary, path, "", {}, mode}));
  ZARRFS_CHECK(parts_.editor.expect_early(array.path));
  const std::string parked = parked_path(array.path, path);
  ZARRFS_TRY(auto file, pass_through_.create(parked, flags, mode));
  auto found = names_.found_again(parent, name);
  if (found && found->id < kFirstChunkNode) return Created{*found, std::move(file)};
  file->closed();
  static_cast<void>(remove_as_caller(*parts_.shared.store, parked));
  return refused(Fault::kStale, path, "the array has grown to it meanwhile");
}

Result<InodeEntry> Creation::make_directory(NodeId parent, std::string_view name, mode_t mode) {
  const auto creation = parts_.creation_gate.shared();
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  ZARRFS_TRY(const Name target, names_.claim(directory, std::string(name)));
  ZARRFS_TRY(const bool there, names_.exists(directory, target));
  if (there) return refused(Fault::kExists, target.path, "it exists");
  if (target.takes_bytes()) {
    return refused(Fault::kInvalid, target.path, "a directory cannot have this name");
  }
  if (target.kind == NameKind::kPrefix) {
    ZARRFS_CHECK(rights_.check_caller(directory, target));
    parts_.overlay.make_chunk_directory(target.path);
  } else if (target.store_path.empty()) {
    return refused(Fault::kInvalid, target.path, "not a directory of chunks");
  } else {
    ZARRFS_CHECK(make_as_caller(*parts_.shared.store, target.store_path, mode));
    parts_.overlay.make_directory(target.store_path);
    parts_.nodes.forget();
  }
  return names_.found_again(parent, name);
}

Result<InodeEntry> Creation::make_link(NodeId parent, std::string_view name,
                                       const std::string& target) {
  const auto creation = parts_.creation_gate.shared();
  ZARRFS_TRY(const Directory directory, names_.directory_of(parent));
  ZARRFS_TRY(const Name made, names_.claim(directory, std::string(name)));
  ZARRFS_TRY(const bool there, names_.exists(directory, made));
  if (there) return refused(Fault::kExists, made.path, "it exists");
  ZARRFS_TRY(const bool shown, names_.may_show_link(*directory.state, last_name(made.path)));
  if (!shown || made.kind != NameKind::kPassThrough) {
    return refused(Fault::kForbidden, made.path, "no links are made in nodes, nor among chunks");
  }
  ZARRFS_CHECK(make_link_as_caller(*parts_.shared.store, made.store_path, target));
  parts_.nodes.forget();
  return names_.found_again(parent, name);
}

}  // namespace zarrfs
