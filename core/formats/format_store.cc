#include "core/formats/format_store.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <utility>

#include "core/base/json.h"
#include "core/base/lock_order.h"
#include "core/base/request.h"
#include "core/formats/format.h"
#include "core/formats/text_file.h"
#include "core/metadata/chunk_key.h"
#include "core/store/layer_store.h"
#include "core/store/part_file.h"
#include "core/store/store_links.h"
#include "core/store/store_users.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr std::string_view kDocumentName = "zarr.json";
constexpr std::size_t kMaxFormatDepth = 2;
constexpr OpenHint kMarkerHint{OpenHint::Part::kStart, std::uint64_t{1} << 16U};
constexpr std::size_t kIndexCacheBytes = std::size_t{128} << 20U;
/// Each is asked for, where a directory of chunks is listed.
constexpr std::uint64_t kMostAlongAxis = std::uint64_t{1} << 20U;

/// A volume that was met, or why it cannot be read.
struct Known {
  const Format* format = nullptr;
  std::string top;
  struct stat marker {};
  std::shared_ptr<const Volume> volume;  ///< Null where `error` says why.
  Error error;
};
using KnownPointer = std::shared_ptr<const Known>;

/// Where a path lies within a known volume.
struct Route {
  KnownPointer known;
  const VolumeNode* node = nullptr;  ///< Null: a directory on the way to a node.
  std::string node_path;             ///< In the store.
  std::string rest;                  ///< Below the node.
};

/// The status of a directory that the storage does not have. Its time is always now: what it lists
/// may change at any time.
struct stat made_directory(const Known& known, const std::string& path) {
  struct stat status = known.marker;
  status.st_mode = S_IFDIR | 0555U;
  status.st_ino = std::hash<std::string>{}(path);
  status.st_nlink = 2;
  status.st_size = 0;
  status.st_blocks = 0;
  ::clock_gettime(CLOCK_REALTIME, &status.st_mtim);
  status.st_ctim = status.st_mtim;
  return status;
}

/// The status of a node's zarr.json.
struct stat document_status(const Known& known, const std::string& text) {
  struct stat status = known.marker;
  status.st_size = static_cast<off_t>(text.size());
  status.st_blocks = static_cast<blkcnt_t>(divide_up(text.size(), 512));
  return status;
}

bool is_document(const std::string& path) {
  return path == kDocumentName || path.ends_with("/" + std::string(kDocumentName));
}

/// Whether the path is that of the file that marks the volume: its zarr.json stands for it.
bool is_marker(const Route& route) {
  return route.node != nullptr && route.node_path == route.known->top &&
         route.rest == route.known->format->marker;
}

/// Whether the file at `path` may be a volume of its own, by its name (the store's, at the root).
bool may_be_volume(const Format& format, const std::string& path, const std::string& store) {
  return format.is_file && (path.empty() ? store : path).ends_with(format.marker);
}

class FormatStore final : public LayerStore, public StoreUsers, public StoreLinks {
 public:
  explicit FormatStore(std::shared_ptr<Store> store)
      : LayerStore(std::move(store)), indexes_(std::make_shared<IndexCache>(kIndexCacheBytes)) {
    for (const Format& format : formats()) {
      if (format.is_file) file_markers_.push_back(format.marker);
    }
  }

  // Files of volumes are asked for as their format reads them.
  void expect(std::span<const std::string> paths, const OpenHint& hint) override {
    for (const Wanted& one : wanted_below(paths, hint)) below().expect(one.paths, one.hint);
  }
  void open_ahead(std::span<const std::string> paths, const OpenHint& hint) override {
    for (const Wanted& one : wanted_below(paths, hint)) below().open_ahead(one.paths, one.hint);
  }
  std::shared_ptr<File> open_seen(const std::string& path) override {
    return route_of(path) ? nullptr : below().open_seen(path);
  }
  /// The chunks of a volume are listed one by one.
  Result<void> list_below(const std::string& path, const std::string& needed) override {
    const auto route = route_of(path);
    const bool array = route && route->node != nullptr && route->node->chunks != nullptr;
    return array ? Result<void>{} : below().list_below(path, needed);
  }

  StoreUsers* users() override { return below().users() == nullptr ? nullptr : this; }
  Result<std::optional<struct stat>> status(const std::string& path) override;
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override;
  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override;

  void serve_others() override { below().users()->serve_others(); }
  [[nodiscard]] bool serves_others() const override { return below().users()->serves_others(); }
  Result<void> may_write(const std::string& path) override {
    return below().users()->may_write(path);
  }
  /// What is made of a volume's files has the permissions that its status says.
  Result<std::optional<struct stat>> permissions(const std::string& path) override {
    ZARRFS_TRY(const auto stored, below().users()->permissions(path));
    return stored ? Result<std::optional<struct stat>>(stored) : status(path);
  }

  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().create(path, mode);
  }
  Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                         mode_t mode) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().clone(from, path, mode);
  }
  Result<std::unique_ptr<NewFile>> reopen(const std::string& path) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().reopen(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    ZARRFS_CHECK(check_known_changeable(from));
    ZARRFS_CHECK(check_known_changeable(to));
    return below().rename(from, to);
  }
  Result<void> remove(const std::string& path) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().remove(path);
  }
  Result<void> make_directory(const std::string& path, mode_t mode) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().make_directory(path, mode);
  }
  Result<void> remove_directory(const std::string& path) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().remove_directory(path);
  }
  StoreLinks* links() override { return below().links() == nullptr ? nullptr : this; }
  Result<std::optional<Link>> link_at(const std::string& path) override {
    return route_of(path) ? std::nullopt : below().links()->link_at(path);
  }
  Result<void> make_link(const std::string& path, const std::string& target) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().links()->make_link(path, target);
  }
  Result<void> change_link(const std::string& path, uid_t owner, gid_t group,
                           const struct timespec (&times)[2]) override {
    ZARRFS_CHECK(check_known_changeable(path));
    return below().links()->change_link(path, owner, group, times);
  }
  Result<NameStep> add_name(const std::string& from, const std::string& to) override {
    return below().links()->add_name(from, to);
  }
  Result<NameStep> move_name(const std::string& from, const std::string& to) override {
    return below().links()->move_name(from, to);
  }
  Result<Fd> open_plain(const std::string& path, int flags, mode_t mode) override {
    if ((flags & O_ACCMODE) != O_RDONLY) ZARRFS_CHECK(check_known_changeable(path));
    return below().open_plain(path, flags, mode);
  }
  [[nodiscard]] std::string format_of(const std::string& path) const override {
    const auto route = route_of(path);
    const bool of_node = route && route->node != nullptr && route->rest.empty();
    return of_node ? std::string(route->known->format->name) : "";
  }
  std::optional<std::string> why_read_only() override {
    const auto changeable = check_changeable("");
    return changeable ? below().why_read_only() : std::optional(changeable.error().message);
  }
  Result<void> check_changeable(const std::string& path) override {
    if (path.empty()) {
      const auto known = detect(path);
      if (known && *known) return fail(Fault::kReadOnly, refusal(**known));
    }
    return check_known_changeable(path);
  }

 private:
  [[nodiscard]] KnownPointer known_at(std::string_view top) const;
  [[nodiscard]] bool is_plain(const std::string& path) const;
  Result<KnownPointer> meet_file(const std::string& path);
  [[nodiscard]] std::optional<Route> route_of(const std::string& path) const;
  Result<KnownPointer> detect(const std::string& path);
  Result<std::optional<struct stat>> status_of_marker(const std::string& path);
  Result<std::size_t> ask_for_markers(std::span<const std::string> tops);
  void expect_files_of(const std::string& directory, std::span<const Entry> entries);
  Result<KnownPointer> look_for(const Format& format, const std::string& top);
  void forget(const std::string& top);
  Result<std::optional<Route>> route_of_document(const std::string& path);

  Result<std::optional<struct stat>> status_in(const Route& route, const std::string& path);
  Result<std::shared_ptr<File>> open_in(const Route& route, const std::string& path);
  Result<std::optional<std::vector<Entry>>> list_in(const Route& route, const std::string& path);
  /// Files that are asked for in one way.
  struct Wanted {
    std::vector<std::string> paths;
    OpenHint hint;
  };
  [[nodiscard]] std::vector<Wanted> wanted_below(std::span<const std::string> paths,
                                                 const OpenHint& hint) const;
  static Result<std::vector<Entry>> list_chunks(const Route& route,
                                                const std::vector<std::uint64_t>& prefix);

  static std::string refusal(const Known& known) {
    return "/" + known.top + " is a volume of " + std::string(known.format->name) +
           ", which is shown read-only";
  }
  /// Of volumes that were met.
  [[nodiscard]] Result<void> check_known_changeable(const std::string& path) const {
    const auto route = route_of(path);
    return route ? fail(Fault::kReadOnly, refusal(*route->known)) : Result<void>{};
  }

  std::shared_ptr<IndexCache> indexes_;
  std::vector<std::string_view> file_markers_;  ///< Ends of names of volumes in one file.
  std::atomic<bool> any_{false};  ///< Whether known_ holds anything: most stores have no volume.
  mutable Ranked<std::shared_mutex, LockRank::kTable> mutex_;
  std::map<std::string, KnownPointer, std::less<>> known_;  // by top
};

KnownPointer FormatStore::known_at(std::string_view top) const {
  const std::shared_lock lock(mutex_);
  const auto found = known_.find(top);
  return found == known_.end() ? nullptr : found->second;
}

void FormatStore::forget(const std::string& top) {
  const std::unique_lock lock(mutex_);
  known_.erase(top);
}

/// What is opened is known at a server, with its bytes: a document is read next.
Result<std::optional<struct stat>> FormatStore::status_of_marker(const std::string& path) {
  if (below().traits().directories) return below().status(path);
  ZARRFS_TRY(const auto file, below().open_for(path, kMarkerHint));
  if (file == nullptr) return std::nullopt;
  return file->status();
}

/// At a server, all markers that detect() looks for at once; the first of `tops` that may have one:
/// nothing is below a prefix that does not exist.
Result<std::size_t> FormatStore::ask_for_markers(std::span<const std::string> tops) {
  std::size_t first = 0;
  if (below().traits().lists) {
    ZARRFS_TRY(const auto status, below().status(tops.front()));
    if (!status) first = 1;
  }
  std::vector<std::string> paths;
  for (std::size_t up = first; up < tops.size(); ++up) {
    for (const Format& format : formats()) {
      if (format.is_file || format.depth < up) continue;
      paths.push_back(join_path(tops[up], std::string(format.marker)));
    }
  }
  below().expect(paths, kMarkerHint);
  ZARRFS_CHECK(check_wanted());
  return first;
}

/// The known volume of the format whose marker stands in `top`: as known, or read now; null where
/// there is none.
Result<KnownPointer> FormatStore::look_for(const Format& format, const std::string& top) {
  if (format.is_file && !may_be_volume(format, top, name())) return nullptr;
  const std::string path = format.is_file ? top : join_path(top, std::string(format.marker));
  const KnownPointer before = known_at(top);
  const bool is_before = before != nullptr && before->format == &format;
  ZARRFS_TRY(const auto status, status_of_marker(path));
  if (!status || !S_ISREG(status->st_mode)) {
    if (is_before) forget(top);
    return nullptr;
  }
  if (is_before && identity_of(before->marker) == identity_of(*status)) return before;
  std::optional<Document> document = Document{{}, *status};
  if (!format.is_file) {
    ZARRFS_TRY(document, below().read_document(path, kMaxMarker));
  }
  if (!document) return nullptr;
  auto known = std::make_shared<Known>();
  known->format = &format;
  known->top = top;
  known->marker = document->status;
  auto volume = format.open({shared_below(), top, indexes_}, *document);
  if (volume && *volume == nullptr) return nullptr;
  // Any other error may have passed when the volume is asked for next.
  const bool is_of_content = !volume && (volume.error().fault == Fault::kDamaged ||
                                         volume.error().fault == Fault::kUnsupported);
  if (!volume && !is_of_content) return fail(std::move(volume.error()));
  if (volume) {
    known->volume = std::move(*volume);
  } else {
    known->error = std::move(volume.error());
  }
  const std::unique_lock lock(mutex_);
  known_[top] = known;
  any_ = true;
  return known;
}

/// At a server, the files in a directory that may be volumes of their own, at once.
void FormatStore::expect_files_of(const std::string& directory, std::span<const Entry> entries) {
  if (below().traits().directories) return;
  std::vector<std::string> paths;
  for (const Entry& entry : entries) {
    const bool may_be = std::any_of(formats().begin(), formats().end(), [&](const Format& format) {
      return may_be_volume(format, entry.name, name());
    });
    if (may_be) paths.push_back(join_path(directory, entry.name));
  }
  if (!paths.empty()) below().expect(paths, kMarkerHint);
}

/// The volume that the file at `path` is; null where it is none. Every other function of a path
/// asks this before the storage, which has a file where an array is shown.
Result<KnownPointer> FormatStore::meet_file(const std::string& path) {
  for (const Format& format : formats()) {
    if (!may_be_volume(format, path, name())) continue;
    ZARRFS_TRY(const KnownPointer known, look_for(format, path));
    if (known != nullptr) return known;
  }
  return nullptr;
}

/// The volume that has a node at `path`, or whose marker stands there and cannot be used. A volume
/// whose marker lies further up says more of the node.
Result<KnownPointer> FormatStore::detect(const std::string& path) {
  std::vector<std::string> tops{path};
  for (std::size_t up = 0; up < kMaxFormatDepth && !tops.back().empty(); ++up) {
    tops.push_back(parent_path(tops.back()));
  }
  std::size_t first = 0;
  if (!below().traits().directories) {
    ZARRFS_TRY(first, ask_for_markers(tops));
  }
  for (std::size_t up = tops.size(); up-- > first;) {
    for (const Format& format : formats()) {
      if (format.depth < up) continue;
      ZARRFS_TRY(const KnownPointer known, look_for(format, tops[up]));
      if (known == nullptr) continue;
      const bool readable = known->volume != nullptr;
      if (readable ? known->volume->contains(path_below(path, tops[up])) : up == 0) return known;
    }
  }
  return nullptr;
}

std::optional<Route> FormatStore::route_of(const std::string& path) const {
  if (!any_) return std::nullopt;
  for (std::string top = path;; top = parent_path(top)) {
    const KnownPointer known = known_at(top);
    if (known != nullptr && known->volume != nullptr) {
      const std::string inner = path_below(path, top);
      for (std::string at = inner;; at = parent_path(at)) {
        const auto node = known->volume->find(at);
        if (node != known->volume->end()) {
          return Route{known, &node->second, at.empty() ? top : join_path(top, at),
                       path_below(inner, at)};
        }
        const auto next = known->volume->lower_bound(at + "/");
        if (at == inner && next != known->volume->end() && next->first.starts_with(at + "/")) {
          return Route{known, nullptr, path, {}};
        }
        if (at.empty()) break;
      }
    }
    if (top.empty()) return std::nullopt;
  }
}

/// The route of a node's zarr.json that the storage does not have; nothing where no format knows
/// the node. An error is that of the node's marker.
Result<std::optional<Route>> FormatStore::route_of_document(const std::string& path) {
  const std::string node = parent_path(path);
  ZARRFS_TRY(const KnownPointer known, detect(node));
  if (known == nullptr) return std::nullopt;
  if (known->volume == nullptr) return fail(known->error);
  const auto found = known->volume->find(path_below(node, known->top));
  if (found->second.error) return fail(*found->second.error);
  return Route{known, &found->second, node, std::string(kDocumentName)};
}

/// The files below that have what is at `paths`.
std::vector<FormatStore::Wanted> FormatStore::wanted_below(std::span<const std::string> paths,
                                                           const OpenHint& hint) const {
  std::vector<Wanted> wanted(1);
  wanted.front().hint = hint;
  std::set<std::string> asked;
  for (const std::string& path : paths) {
    const auto route = route_of(path);
    const bool array = route && route->node != nullptr && route->node->chunks != nullptr;
    const auto chunk = array ? coordinates_below(route->rest, route->node->counts) : std::nullopt;
    if (!array) wanted.front().paths.push_back(path);
    if (!chunk || chunk->size() < route->node->counts.size()) continue;
    ChunkSource::Asked file = route->node->chunks->asked_for(*chunk);
    if (!asked.insert(file.path).second) continue;
    if (wanted.size() == 1 || !(wanted.back().hint == file.hint)) wanted.push_back({{}, file.hint});
    wanted.back().paths.push_back(std::move(file.path));
  }
  return wanted;
}

/// Whether it is the store's below, as nearly all is that requests ask for: no volume has been met,
/// and the name is neither a document's nor that of a volume in one file.
bool FormatStore::is_plain(const std::string& path) const {
  if (any_ || path.empty() || path.ends_with(kDocumentName)) return false;
  for (const std::string_view marker : file_markers_) {
    if (path.ends_with(marker)) return false;
  }
  return true;
}

Result<std::optional<struct stat>> FormatStore::status(const std::string& path) {
  if (is_plain(path)) return below().status(path);
  ZARRFS_TRY(const KnownPointer file, meet_file(is_document(path) ? parent_path(path) : path));
  if (file != nullptr && !is_document(path)) return made_directory(*file, path);
  if (!is_document(path)) {
    if (const auto route = route_of(path)) return status_in(*route, path);
    return below().status(path);
  }
  if (file == nullptr) {
    ZARRFS_TRY(auto stored, below().status(path));
    if (stored) return stored;
  }
  ZARRFS_TRY(const auto route, route_of_document(path));
  if (!route) return std::nullopt;
  return document_status(*route->known, dump_document(route->node->document));
}

Result<std::optional<struct stat>> FormatStore::status_in(const Route& route,
                                                          const std::string& path) {
  if (is_marker(route)) return std::nullopt;
  const bool array = route.node != nullptr && route.node->chunks != nullptr;
  if (array && !route.rest.empty()) {
    const auto chunk = coordinates_below(route.rest, route.node->counts);
    if (!chunk) return std::nullopt;
    if (chunk->size() < route.node->counts.size()) return made_directory(*route.known, path);
    ZARRFS_TRY(const auto file, route.node->chunks->find(*chunk));
    if (file == nullptr) return std::nullopt;
    return file->status();
  }
  if (!route.rest.empty()) return below().status(path);
  // Of a node's directory at a server there is nothing to know.
  ZARRFS_TRY(auto stored, below().traits().directories
                              ? below().status(path)
                              : Result<std::optional<struct stat>>(std::nullopt));
  if (stored) return stored;
  return made_directory(*route.known, path);
}

Result<std::shared_ptr<File>> FormatStore::open_for(const std::string& path, const OpenHint& hint) {
  if (is_plain(path)) return below().open_for(path, hint);
  ZARRFS_TRY(const KnownPointer file, meet_file(is_document(path) ? parent_path(path) : path));
  if (!is_document(path)) {
    if (const auto route = route_of(path)) return open_in(*route, path);
    return below().open_for(path, hint);
  }
  if (file == nullptr) {
    ZARRFS_TRY(auto stored, below().open_for(path, hint));
    if (stored) return stored;
  }
  ZARRFS_TRY(const auto route, route_of_document(path));
  if (!route) return nullptr;
  std::string text = dump_document(route->node->document);
  const struct stat status = document_status(*route->known, text);
  return std::make_shared<TextFile>(std::move(text), status, path);
}

Result<std::shared_ptr<File>> FormatStore::open_in(const Route& route, const std::string& path) {
  if (is_marker(route)) return nullptr;
  if (route.node == nullptr || route.node->chunks == nullptr) return below().open(path);
  const auto chunk = coordinates_below(route.rest, route.node->counts);
  if (!chunk && !route.rest.empty()) return nullptr;
  if (!chunk || chunk->size() < route.node->counts.size()) {
    return fail(Fault::kInvalid, path + ": is a directory");
  }
  return route.node->chunks->find(*chunk);
}

Result<std::optional<std::vector<Entry>>> FormatStore::list(const std::string& path) {
  ZARRFS_TRY(const KnownPointer file, meet_file(path));
  if (const auto route = route_of(path)) return list_in(*route, path);
  if (file != nullptr) return std::vector<Entry>{{std::string(kDocumentName), EntryKind::kFile}};
  ZARRFS_TRY(auto entries, below().list(path));
  if (!entries) return entries;
  expect_files_of(path, *entries);
  bool marked = false;
  bool zarr = false;
  for (Entry& entry : *entries) {
    zarr = zarr || entry.name == kDocumentName;
    marked = marked || std::any_of(formats().begin(), formats().end(), [&](const Format& format) {
               return entry.name == format.marker;
             });
    const auto inner = meet_file(join_path(path, entry.name));
    if (inner && *inner != nullptr) entry.kind = EntryKind::kDirectory;
  }
  if (zarr) return entries;
  if (!marked) return entries;
  ZARRFS_TRY(const KnownPointer known, detect(path));
  if (known == nullptr) return entries;
  if (const auto route = route_of(path)) return list_in(*route, path);
  entries->push_back({std::string(kDocumentName), EntryKind::kFile});  // damaged: asking tells why
  return entries;
}

Result<std::optional<std::vector<Entry>>> FormatStore::list_in(const Route& route,
                                                               const std::string& path) {
  const bool array = route.node != nullptr && route.node->chunks != nullptr;
  if (array && route.rest.empty()) {
    const bool scalar = route.node->counts.empty();
    return std::vector<Entry>{{std::string(kDocumentName), EntryKind::kFile},
                              {"c", scalar ? EntryKind::kFile : EntryKind::kDirectory}};
  }
  if (array) {
    const auto prefix = coordinates_below(route.rest, route.node->counts);
    if (!prefix || prefix->size() == route.node->counts.size()) return std::nullopt;
    ZARRFS_TRY(auto chunks, list_chunks(route, *prefix));
    return chunks;
  }
  // Where no server tells the names, the volume knows its own.
  std::optional<std::vector<Entry>> stored;
  if (below().traits().lists) {
    ZARRFS_TRY(stored, below().list(path));
  }
  if (!stored && !route.rest.empty()) return std::nullopt;
  std::vector<Entry> entries = stored ? std::move(*stored) : std::vector<Entry>{};
  if (!route.rest.empty()) return entries;
  std::erase_if(entries, [&](const Entry& entry) {
    return path == route.known->top && entry.name == route.known->format->marker;
  });
  std::set<std::string> names;
  for (const Entry& entry : entries) names.insert(entry.name);
  if (route.node != nullptr && names.insert(std::string(kDocumentName)).second) {
    entries.push_back({std::string(kDocumentName), EntryKind::kFile});
  }
  const std::string inner = path_below(path, route.known->top);
  for (const auto& [node_path, node] : *route.known->volume) {
    if (node_path.size() <= inner.size() || !is_at_or_below(node_path, inner)) continue;
    const std::string deeper = path_below(node_path, inner);
    std::string child = deeper.substr(0, deeper.find('/'));
    if (names.insert(child).second) entries.push_back({std::move(child), EntryKind::kDirectory});
  }
  return entries;
}

/// The chunks that are there (a damaged one is: asking for it tells why), or directories of them.
Result<std::vector<Entry>> FormatStore::list_chunks(const Route& route,
                                                    const std::vector<std::uint64_t>& prefix) {
  std::vector<Entry> entries;
  const std::vector<std::uint64_t>& counts = route.node->counts;
  if (counts[prefix.size()] > kMostAlongAxis) {
    return fail(Fault::kTooBig, route.node_path + ": " + std::string(route.known->format->marker) +
                                    " tells of " + std::to_string(counts[prefix.size()]) +
                                    " chunks along axis " + std::to_string(prefix.size()) +
                                    ", and more than " + std::to_string(kMostAlongAxis) +
                                    " are not listed; those that are asked for are found");
  }
  const bool last = prefix.size() + 1 == counts.size();
  std::vector<bool> there;
  if (last) {
    ZARRFS_TRY(there, route.node->chunks->present(prefix, counts[prefix.size()]));
  }
  for (std::uint64_t at = 0; at < counts[prefix.size()]; ++at) {
    ZARRFS_CHECK(check_wanted());
    if (last && !there[at]) continue;
    entries.push_back({std::to_string(at), last ? EntryKind::kFile : EntryKind::kDirectory});
  }
  return entries;
}

}  // namespace

std::shared_ptr<Store> with_formats(std::shared_ptr<Store> store) {
  return std::make_shared<FormatStore>(std::move(store));
}

}  // namespace zarrfs
