#include "core/names/caller_rights.h"

#include "core/base/request.h"
#include "core/chunks/chunk_writer.h"
#include "core/names/documents.h"
#include "core/names/refusals.h"
#include "core/shared/shared_store.h"
#include "core/store/store_users.h"

namespace zarrfs {

Result<void> CallerRights::check_writing() const {
  if (parts_.writable()) return {};
  return fail(Fault::kReadOnly, "the store is mounted read-only");
}

Result<void> CallerRights::check_deleting(const std::string& path) const {
  if (parts_.shared.options.writing->may_delete) return {};
  return refused(Fault::kForbidden, path, "the mount's option deletes=deny keeps it");
}

Result<void> CallerRights::check_deleting_node(const std::string& path) const {
  ZARRFS_CHECK(check_deleting(path));
  if (shared_of(*parts_.shared.store) == nullptr) return {};
  return refused(Fault::kReadOnly, path,
                 "nodes are not removed while several mounts write to the store (-o shared)");
}

Result<void> CallerRights::check_caller(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    ZARRFS_CHECK(check_caller_may_write(*parts_.shared.store, path));
  }
  return {};
}

Result<void> CallerRights::check_caller(const Directory& directory, const Name& name) {
  if (foreign_caller() == nullptr) return {};
  const NodeState& state = *directory.state;
  switch (name.kind) {
    case NameKind::kChunk:
      return check_caller({ChunkWriter::shard_of(state.shown, name.part.coordinates)});
    case NameKind::kDocument: return check_caller({join_path(state.path, kStoredDocument)});
    case NameKind::kPrefix:
    case NameKind::kTemporary:
    case NameKind::kPassThrough: return check_caller({state.path});
    default: return {};  // no program may take such a name
  }
}

}  // namespace zarrfs
