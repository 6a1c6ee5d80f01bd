#include "core/vfs/early_files.h"

#include "core/chunks/chunk_names.h"
#include "core/names/entries.h"
#include "core/nodes/orphan_chunks.h"
#include "core/zarr/visit_limit.h"

namespace zarrfs {
namespace {

Result<void> disown_below(ViewParts& parts, const std::string& directory, VisitLimit& visits) {
  Store& store = *parts.shared.store;
  ZARRFS_CHECK(visits.enter(store, directory));
  ZARRFS_TRY(const auto entries, store.list(directory));
  for (const Entry& entry : entries ? *entries : std::vector<Entry>{}) {
    if (!looks_like_chunk(entry.name)) continue;
    const std::string path = join_path(directory, entry.name);
    if (entry.kind == EntryKind::kDirectory) {
      ZARRFS_CHECK(disown_below(parts, path, visits));
      continue;
    }
    ZARRFS_TRY(const auto status, store.status(path));
    if (!status) continue;
    parts.table.became({NamedNode::Kind::kPassThrough, path, file_version(*status)}, path);
  }
  return {};
}

Result<void> disown_documents(ViewParts& parts, const std::string& directory) {
  for (const char* name : {".zattrs", ".zmetadata"}) {
    const std::string path = join_path(directory, name);
    ZARRFS_TRY(const auto status, parts.shared.store->status(path));
    if (!status) continue;
    parts.table.became({NamedNode::Kind::kPassThrough, path, file_version(*status)}, path);
  }
  return {};
}

}  // namespace

Result<void> disown_early_files(ViewParts& parts, const std::string& directory,
                                const std::string& document) {
  const bool array = document == ".zarray" || document == "zarr.json";
  if (!array && document != ".zgroup") return {};
  ZARRFS_TRY(const StatePtr state, parts.nodes.get(directory));
  VisitLimit visits;
  if (state->has_document()) {
    if (!array || !parts.editor.expects_early(directory)) return {};
    return disown_below(parts, parking_place(directory), visits);
  }
  ZARRFS_CHECK(disown_documents(parts, directory));
  if (!array) return {};
  return disown_below(parts, directory, visits);
}

}  // namespace zarrfs
