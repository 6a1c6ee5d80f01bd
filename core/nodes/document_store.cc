#include "core/nodes/document_store.h"

#include <vector>

#include "core/base/json.h"
#include "core/base/json_numbers.h"
#include "core/log/ownership.h"
#include "core/log/whole_file.h"
#include "core/metadata/v2_note.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr const char* kNodeDocument = "zarr.json";
constexpr mode_t kFileMode = 0666;
}  // namespace

Result<void> DocumentStore::put(const std::string& path, const Json& document,
                                const FileIdentity& before) {
  const HeldLock lock(mutex_);
  return put_locked(path, document, before);
}

Result<void> DocumentStore::put_locked(const std::string& path, const Json& document,
                                       const FileIdentity& before) {
  ZARRFS_CHECK(drop_consolidated_above(path));
  return replace(path, document, before);
}

Result<void> DocumentStore::edit_array(const std::string& path,
                                       const std::function<void(Json&)>& change) {
  const HeldLock lock(mutex_);
  return again_where_stale([&]() ZARRFS_REQUIRES(mutex_) -> Result<void> {
    ZARRFS_TRY(const Node node, load_node(store_, path));
    if (node.array == nullptr) return fail(Fault::kStale, "/" + path + " is no array any more");
    Json document = node.array->document;
    change(document);
    return put_locked(path, document, node.document);
  });
}

Result<void> DocumentStore::remove(const std::string& path) {
  const HeldLock lock(mutex_);
  ZARRFS_CHECK(drop_consolidated_above(path));
  ZARRFS_CHECK(store_.remove(join_path(path, kNodeDocument)));
  return store_.sync_directory(path);
}

Result<void> DocumentStore::remove_node(const std::string& path) {
  const HeldLock lock(mutex_);
  ZARRFS_CHECK(drop_consolidated_above(path));
  // The document goes first: what a crash leaves is no array with holes.
  ZARRFS_CHECK(store_.remove(join_path(path, kNodeDocument)));
  ZARRFS_CHECK(remove_tree(path));
  return store_.sync_directory(parent_path(path));
}

Result<void> DocumentStore::move(const std::string& from, const std::string& to,
                                 const std::function<Result<void>()>& rename) {
  const HeldLock lock(mutex_);
  ZARRFS_CHECK(drop_consolidated_above(from));
  ZARRFS_CHECK(drop_consolidated_above(to));
  ZARRFS_CHECK(rename());
  ZARRFS_CHECK(store_.sync_directory(parent_path(to)));
  return store_.sync_directory(parent_path(from));
}

Result<void> DocumentStore::drop_consolidated_above(const std::string& path) {
  for (std::string at = path; !at.empty();) {
    at = parent_path(at);
    ZARRFS_TRY(const Node node, load_node(store_, at));
    if (node.group == nullptr || !node.group->consolidated) continue;
    Json document = node.group->document;
    document.erase("consolidated_metadata");
    ZARRFS_CHECK(replace(at, document, node.document));
  }
  return {};
}

Result<void> DocumentStore::replace(const std::string& path, const Json& document,
                                    const FileIdentity& expected) {
  const std::string file_path = join_path(path, kNodeDocument);
  ZARRFS_TRY(const auto stored, store_.read_document(file_path, kMaxDocument));
  const bool bare = stored && quote_bare_numbers(stored->text) != stored->text;
  const std::string text = bare ? bare_document_text(document) : dump_document(document);
  // What cannot be read again loses the node, or with the root's document the whole store.
  if (const auto read = parse_node(text, path); !read) {
    return fail(Fault::kInvalid, "/" + read.error().message);
  }
  if (stored) {  // written anew as a whole: nothing else in it may change
    const std::string called = "/" + file_path + " of the store cannot be changed";
    ZARRFS_CHECK(check_integers(stored->text, "attributes", called));
  }
  ZARRFS_TRY(const auto before, store_.open(file_path));
  const auto fill = [&](NewFile& file) -> Result<void> {
    ZARRFS_CHECK(write_text(file, text));
    return before == nullptr ? give_to_caller(store_, file, path) : keep_ownership(file, *before);
  };
  ZARRFS_CHECK(replace_known_file(store_, file_path, kFileMode, expected, fill));
  return store_.sync_directory(path);
}

Result<void> DocumentStore::remove_tree(const std::string& path) {
  ZARRFS_TRY(const auto entries, store_.list(path));
  for (const Entry& entry : entries ? *entries : std::vector<Entry>{}) {
    const std::string below = join_path(path, entry.name);
    if (entry.kind == EntryKind::kDirectory) {
      ZARRFS_CHECK(remove_tree(below));
    } else {
      ZARRFS_CHECK(store_.remove(below));
    }
  }
  return store_.remove_directory(path);
}

}  // namespace zarrfs
