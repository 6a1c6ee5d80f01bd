#include "core/nodes/orphan_chunks.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/chunks/chunk_finder.h"
#include "core/chunks/chunk_names.h"
#include "core/log/whole_file.h"
#include "core/store/as_caller.h"

namespace zarrfs {

namespace {
constexpr const char* kParkingPlace = ".zarrfs-early";
constexpr std::size_t kMaxList = std::size_t{16} << 20U;
constexpr mode_t kListMode = 0600;
constexpr mode_t kPlaceMode = 0777;

/// The chunk of an array of `counts` chunks that `key` names, whatever the separator: "0/1", "0.1",
/// "c/0/1".
std::optional<Coordinates> chunk_of(std::string key, const std::vector<std::uint64_t>& counts) {
  std::replace(key.begin(), key.end(), '/', '.');
  if (counts.empty()) {
    return key == "c" || key == "0" ? std::optional(Coordinates()) : std::nullopt;
  }
  if (key.starts_with("c.")) key.erase(0, 2);
  const ChunkNames names(ChunkKeyEncoding{ChunkKeyEncoding::Kind::kV2, '.'}, counts);
  const auto part = names.in_array(key);
  if (!part || part->directory) return std::nullopt;
  return part->coordinates;
}
}  // namespace

std::string parking_place(const std::string& array) { return join_path(array, kParkingPlace); }

std::string parked_path(const std::string& array, const std::string& path) {
  return join_path(parking_place(array), path.substr(array.empty() ? 0 : array.size() + 1));
}

void drop_empty_parked(Store& store, std::string path) {
  const std::string within = std::string("/") + kParkingPlace + "/";
  while (("/" + path).find(within) != std::string::npos) {
    path = parent_path(path);
    if (!store.remove_directory(path)) return;
  }
}

Result<void> OrphanChunks::expect(const std::string& path) {
  const bool is_new = waiting_.insert(path).second;
  const auto make = [&]() -> Result<void> {
    if (is_new) ZARRFS_CHECK(list());
    ZARRFS_TRY(const auto there, shared_.store->status(parking_place(path)));
    if (there) return {};
    ZARRFS_TRY(const AsCaller as, AsCaller::begin());  // who is going to make files in it
    ZARRFS_CHECK(shared_.store->make_directory(parking_place(path), kPlaceMode));
    return shared_.store->sync_directory(path);
  };
  auto made = make();
  if (!made && is_new) {
    waiting_.erase(path);
    ZARRFS_CHECK(list());
  }
  return made;
}

Result<void> OrphanChunks::moved(const std::string& from, const std::string& to) {
  std::set<std::string> paths;
  for (const std::string& path : waiting_) paths.insert(moved_path(path, from, to));
  if (paths == waiting_) return {};
  waiting_ = std::move(paths);
  return list();
}

Result<void> OrphanChunks::removed(const std::string& path) {
  const auto count = std::erase_if(
      waiting_, [&](const std::string& waiting) { return is_at_or_below(waiting, path); });
  return count > 0 ? list() : Result<void>{};
}

Result<void> OrphanChunks::park(const std::string& path) {
  Store& store = *shared_.store;
  ZARRFS_TRY(auto entries, store.list(path));
  if (!entries) return {};
  const std::string parked = parking_place(path);
  ZARRFS_TRY(const auto there, store.status(parked));
  std::erase_if(*entries, [](const Entry& entry) {
    return entry.kind == EntryKind::kOther || !looks_like_chunk(entry.name);
  });
  if (entries->empty() && !there) return {};
  waiting_.insert(path);
  ZARRFS_CHECK(list());
  if (!there) ZARRFS_CHECK(store.make_directory(parked, kPlaceMode));
  for (const Entry& entry : *entries) {
    ZARRFS_CHECK(store.rename(join_path(path, entry.name), join_path(parked, entry.name)));
  }
  VisitLimit visits;
  ZARRFS_CHECK(keep_directories(parked, path, visits));
  return store.sync_directory(path);
}

/// Directories that were parked stay in sight: programs are in them.
Result<void> OrphanChunks::keep_directories(const std::string& from, const std::string& shown_as,
                                            VisitLimit& visits) {
  ZARRFS_CHECK(visits.enter(*shared_.store, from));
  ZARRFS_TRY(const auto entries, shared_.store->list(from));
  for (const Entry& entry : entries ? *entries : std::vector<Entry>{}) {
    if (entry.kind != EntryKind::kDirectory) continue;
    const std::string shown = join_path(shown_as, entry.name);
    overlay_.make_chunk_directory(shown);
    ZARRFS_CHECK(keep_directories(join_path(from, entry.name), shown, visits));
  }
  return {};
}

Result<void> OrphanChunks::place(const std::string& path) {
  if (!waiting_.contains(path)) return {};
  ZARRFS_TRY(const auto state, nodes_.get(path));
  if (state->kind == NodeState::Kind::kArray) {
    ZARRFS_TRY(const bool some_wait, adopt(*state));
    if (some_wait) return {};
  } else {
    ZARRFS_CHECK(restore(path));
  }
  waiting_.erase(path);
  return list();
}

Result<void> OrphanChunks::place_left() {
  ZARRFS_TRY(waiting_, listed());
  const std::set<std::string> paths = waiting_;
  Result<void> first;
  for (const std::string& path : paths) {  // one that cannot be placed holds up no other
    auto placed = place(path);
    if (placed && waiting_.contains(path)) {
      shared_.options.log(ViewOptions::Level::kError,
                          "array /" + path + ": chunks that lie outside it were written; they " +
                              "wait in " + parking_place(path) + " until it grows to them");
    }
    if (!placed && first) first = std::move(placed);
  }
  return first;
}

Result<bool> OrphanChunks::adopt(const NodeState& array) {
  Store& store = *shared_.store;
  const std::string parked = parking_place(array.path);
  Taken taken;
  ZARRFS_CHECK(take_files(array, parked, "", taken));
  for (const Coordinates& chunk : taken.chunks) {
    // The file may have been synced: the chunk must be durable before it goes.
    auto synced = chunks_.sync(array.shown, chunk);
    const Fault fault = synced ? Fault::kIo : synced.error().fault;
    const bool kept = fault == Fault::kInvalid || fault == Fault::kBusy;  // durable all the same
    if (!synced && !kept) return fail(std::move(synced.error()));
  }
  for (const std::string& path : taken.files) ZARRFS_CHECK(store.remove(path));
  for (const std::string& path : taken.directories) {
    static_cast<void>(store.remove_directory(path));  // unless it holds something else
  }
  auto removed = store.remove_directory(parked);
  if (removed) return false;
  if (removed.error().fault != Fault::kNotEmpty) return fail(std::move(removed.error()));
  if (taken.outside) return true;
  shared_.options.log(ViewOptions::Level::kInfo,
                      "array " + array.path + ": files that were written before its document are " +
                          "no chunks of it; they are kept in " + parked);
  return false;
}

Result<void> OrphanChunks::take_files(const NodeState& array, const std::string& directory,
                                      const std::string& key, Taken& taken) {
  ZARRFS_CHECK(taken.visits.enter(*shared_.store, directory));
  ZARRFS_TRY(const auto entries, shared_.store->list(directory));
  for (const Entry& entry : entries ? *entries : std::vector<Entry>{}) {
    const std::string path = join_path(directory, entry.name);
    const std::string entry_key = join_path(key, entry.name);
    if (entry.kind == EntryKind::kDirectory) {
      ZARRFS_CHECK(take_files(array, path, entry_key, taken));
      taken.directories.push_back(path);
      continue;
    }
    const auto chunk = chunk_of(entry_key, array.shown.names.counts());
    if (!chunk || entry.kind != EntryKind::kFile) {
      taken.outside = taken.outside || looks_like_chunk(entry.name);
      continue;
    }
    ZARRFS_CHECK(take_file(array, *chunk, path));
    taken.files.push_back(path);
    taken.chunks.push_back(*chunk);
  }
  return {};
}

Result<void> OrphanChunks::take_file(const NodeState& array, const Coordinates& chunk,
                                     const std::string& path) {
  ZARRFS_TRY(const auto newer, ChunkFinder(shared_).find(array.shown, chunk));
  if (newer && !newer->is_fill) return {};  // it was written since the array was made
  ZARRFS_TRY(const auto file, shared_.store->open(path));
  if (file == nullptr) return {};
  ZARRFS_TRY(const Bytes bytes, file->read_range({0, file->size()}));
  return chunks_.put(array.shown, chunk, bytes, file->status().st_mtim);
}

Result<void> OrphanChunks::restore(const std::string& path) {
  Store& store = *shared_.store;
  const std::string parked = parking_place(path);
  ZARRFS_TRY(const auto entries, store.list(parked));
  if (!entries) return {};
  for (const Entry& entry : *entries) {
    ZARRFS_CHECK(store.rename(join_path(parked, entry.name), join_path(path, entry.name)));
  }
  return store.remove_directory(parked);
}

Result<std::set<std::string>> OrphanChunks::listed() {
  std::set<std::string> paths;
  ZARRFS_TRY(const auto file, shared_.store->read_document(kEarlyPath, kMaxList));
  if (!file) return paths;
  ZARRFS_TRY(const Json list, parse_json(file->text, kEarlyPath));
  for (const Json& path : list) {
    if (!path.is_string()) {
      return fail(Fault::kDamaged,
                  std::string(kEarlyPath) + ": " + dump_json(path) + " is no path");
    }
    paths.insert(path.get<std::string>());
  }
  return paths;
}

Result<void> OrphanChunks::list() {
  Store& store = *shared_.store;
  if (waiting_.empty()) return store.remove(kEarlyPath);
  const std::string text = dump_document(Json(waiting_));
  ZARRFS_CHECK(replace_file(store, kEarlyPath, kListMode,
                            [&](NewFile& file) { return write_text(file, text); }));
  ZARRFS_CHECK(store.sync_directory(kLogDirectory));
  return store.sync_directory("");
}

}  // namespace zarrfs
