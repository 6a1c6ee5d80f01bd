#include "core/formats/icechunk/icechunk_store.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/coordinates.h"
#include "core/base/json.h"
#include "core/base/lock_order.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/formats/chunks_elsewhere.h"
#include "core/formats/icechunk/icechunk_files.h"
#include "core/formats/icechunk/icechunk_refs.h"
#include "core/formats/part_cache.h"
#include "core/formats/text_file.h"
#include "core/store/object_status.h"
#include "core/store/part_file.h"

namespace zarrfs {
namespace {

constexpr std::string_view kDocumentName = "zarr.json";
constexpr std::string_view kChunks = "c";
constexpr const char* kChunkFiles = "chunks/";
constexpr std::int64_t kPerMicrosecond = 1000;

using Coordinates = std::vector<std::uint32_t>;
using SnapshotPointer = std::shared_ptr<const IcechunkSnapshot>;
using ManifestPointer = PartCache<IcechunkManifest>::Pointer;

/// Numbers between slashes, as keys of chunks have them.
std::optional<Coordinates> parse_coordinates(std::string_view text) {
  Coordinates numbers;
  for (const std::string& word : path_names(text)) {
    const auto number = parse_coordinate(word, std::uint64_t{UINT32_MAX} + 1);
    if (!number) return std::nullopt;
    numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  return numbers;
}

/// Whether the chunks of the array have the keys by which Icechunk knows them: "c/0/1". Those of
/// others would be absent.
Result<void> check_keys(const std::string& text, const std::string& path) {
  ZARRFS_TRY(const Json document, parse_first_json(text, path));
  if (!document.is_object() || !document.contains("chunk_key_encoding")) return {};
  const Json& encoding = document["chunk_key_encoding"];
  const bool named = encoding.is_object() && encoding.contains("name");
  const Json name = named ? encoding["name"] : encoding;
  const bool configured = encoding.is_object() && encoding.contains("configuration") &&
                          encoding["configuration"].is_object();
  const std::string separator =
      configured ? dump_json(encoding["configuration"].value("separator", Json("/"))) : "\"/\"";
  if (name == Json("default") && separator == "\"/\"") return {};
  return fail(Fault::kUnsupported, path + ": chunk_key_encoding is " +
                                       printable(dump_json(encoding)) +
                                       "; Icechunk keeps chunks by default keys with \"/\" only");
}

VirtualTargets::Part virtual_part(const IcechunkReference& reference) {
  return {reference.url, reference.range, reference.tag, reference.unchanged_since};
}

class IcechunkStore final : public Store, public ChunksElsewhere {
 public:
  IcechunkStore(std::shared_ptr<Store> place, Revision revision, int specification,
                std::size_t manifests, std::shared_ptr<const VirtualTargets> targets)
      : place_(std::move(place)),
        targets_(std::move(targets)),
        revision_(std::move(revision)),
        specification_(specification),
        manifests_(manifests, [this](const std::string& name) { return read_manifest(name); }) {}

  Result<void> load() {
    ZARRFS_TRY(const IcechunkTip tip, find_icechunk_tip(*place_, revision_, specification_));
    return take(tip);
  }

  [[nodiscard]] const std::string& name() const override { return place_->name(); }
  [[nodiscard]] StoreTraits traits() const override {
    return {.near = place_->traits().near && targets_->near(), .manifests = true};
  }
  [[nodiscard]] bool shows_what_was_seen() const override {
    return place_->shows_what_was_seen() || targets_->shows_what_was_seen();
  }
  [[nodiscard]] std::string statistics() const override { return targets_->statistics(*place_); }
  Result<struct statvfs> space() override { return place_->space(); }
  std::optional<std::string> why_read_only() override {
    return name() + ": is an Icechunk repository, which is only read";
  }

  Result<std::optional<struct stat>> status(const std::string& path) override;
  Result<std::shared_ptr<File>> open(const std::string& path) override {
    return open_for(path, {});
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override;
  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override;
  void expect(std::span<const std::string> paths, const OpenHint& hint) override {
    place_->expect(stored_files(paths, hint), hint);
  }
  void open_ahead(std::span<const std::string> paths, const OpenHint& hint) override {
    place_->open_ahead(stored_files(paths, hint), hint);
  }
  [[nodiscard]] std::uint64_t room_ahead() const override {
    return std::min(place_->room_ahead(), targets_->room_ahead());
  }
  Result<std::string> visit_urls(const Visit& visit) override;
  [[nodiscard]] bool is_own_file(std::string_view path) const override {
    return path.starts_with(kChunkFiles);
  }
  [[nodiscard]] const VirtualTargets& targets() const override { return *targets_; }
  ChunksElsewhere* chunks_elsewhere() override { return this; }

 private:
  using Node = IcechunkSnapshot::Node;
  /// The snapshot as it was when a request came: views of its nodes are valid as long as that.
  struct Seen {
    SnapshotPointer snapshot;
    std::string name;
    [[nodiscard]] std::int64_t time_ns() const {
      constexpr std::uint64_t kLatest = INT64_MAX / kPerMicrosecond;
      return static_cast<std::int64_t>(std::min(snapshot->time_us(), kLatest)) * kPerMicrosecond;
    }
  };
  /// What a path is.
  struct Route {
    Seen seen;
    const Node* node = nullptr;        ///< Null: nothing, or a directory without a document.
    std::string rest;                  ///< Below the node.
    std::optional<Coordinates> chunk;  ///< Of what is below "c" of an array.
    [[nodiscard]] bool is_document() const { return node != nullptr && rest == kDocumentName; }
    [[nodiscard]] bool is_chunk() const { return chunk && chunk->size() == node->axes; }
    [[nodiscard]] bool is_chunk_directory() const { return chunk && chunk->size() < node->axes; }
  };
  struct Found {
    IcechunkReference reference;
    ManifestPointer manifest;  ///< Has the bytes of an inline one.
    std::string manifest_name;
  };

  Result<void> take(const IcechunkTip& tip);
  Result<Seen> current();
  Result<Route> route_of(const std::string& path);
  Result<ManifestPointer> read_manifest(const std::string& name);
  Result<std::optional<Found>> find(const Route& route);
  Result<std::set<std::uint32_t>> numbers_below(const Route& route, bool one_is_enough);
  Result<std::set<std::uint32_t>> numbers_in(const IcechunkManifest& manifest, const Route& route,
                                             bool one_is_enough);
  std::vector<std::string> stored_files(std::span<const std::string> paths, const OpenHint& hint);
  [[nodiscard]] Result<struct stat> chunk_status(const std::string& path, const Found& found,
                                                 std::int64_t time_ns) const;
  Result<std::shared_ptr<File>> open_chunk(const std::string& path, const Found& found,
                                           std::int64_t time_ns, const OpenHint& hint);
  static struct stat document_status(const Route& route, const std::string& path) {
    return object_status(path, route.seen.name, route.node->document.size(), route.seen.time_ns());
  }

  const std::shared_ptr<Store> place_;
  const std::shared_ptr<const VirtualTargets> targets_;
  const Revision revision_;
  const int specification_;
  PartCache<IcechunkManifest> manifests_;
  TableMutex mutex_;
  Seen seen_ ZARRFS_GUARDED_BY(mutex_);
  FileIdentity seen_in_ ZARRFS_GUARDED_BY(mutex_);
};

/// Whether a file is the one that its name says.
Result<void> check_name(const std::string& path, const std::string& found,
                        const std::string& wanted) {
  if (found == wanted) return {};
  return fail(Fault::kDamaged, path + ": its id is " + found);
}

/// Shows the snapshot that a revision is now.
Result<void> IcechunkStore::take(const IcechunkTip& tip) {
  const std::string path = "snapshots/" + tip.snapshot;
  ZARRFS_TRY(Bytes payload,
             read_icechunk(*place_, path, IcechunkFile::kSnapshot, spell_revision(revision_)));
  auto snapshot = IcechunkSnapshot::parse(std::move(payload));
  if (!snapshot) {
    return fail(snapshot.error().fault, path + ": " + snapshot.error().message);
  }
  ZARRFS_CHECK(check_name(path, (*snapshot)->name(), tip.snapshot));
  const HeldLock lock(mutex_);
  seen_ = {std::move(*snapshot), tip.snapshot};
  seen_in_ = identity_of(tip.seen);
  return {};
}

/// A branch is looked at again, as far as the place does not trust what it saw; tags and snapshots
/// never change.
Result<IcechunkStore::Seen> IcechunkStore::current() {
  if (revision_.kind == Revision::Kind::kBranch) {
    const std::string file = file_of_revision(revision_, specification_);
    ZARRFS_TRY(const auto now, place_->status(file));
    if (!now) {
      return fail(Fault::kIo, file + ": the file that tells " +
                                  printable(spell_revision(revision_)) + " is gone");
    }
    const auto same = [&] {
      const HeldLock lock(mutex_);
      return seen_in_ == identity_of(*now);
    };
    if (!same()) {
      auto found = find_icechunk_tip(*place_, revision_, specification_);
      const bool deleted = !found && found.error().fault == Fault::kInvalid;
      if (deleted) return fail(Fault::kIo, found.error().message);
      if (!found) return fail(found.error());
      const IcechunkTip& tip = *found;
      const auto unmoved = [&] {
        const HeldLock lock(mutex_);
        if (seen_.name != tip.snapshot) return false;
        seen_in_ = identity_of(tip.seen);
        return true;
      };
      if (!unmoved()) ZARRFS_CHECK(take(tip));
    }
  }
  const HeldLock lock(mutex_);
  return seen_;
}

Result<ManifestPointer> IcechunkStore::read_manifest(const std::string& name) {
  const std::string path = "manifests/" + name;
  ZARRFS_TRY(Bytes payload, read_icechunk(*place_, path, IcechunkFile::kManifest, "a snapshot"));
  auto manifest = IcechunkManifest::parse(std::move(payload));
  if (!manifest) return fail(manifest.error().fault, path + ": " + manifest.error().message);
  ZARRFS_CHECK(check_name(path, (*manifest)->name(), name));
  const auto snapshot = [&] {
    const HeldLock lock(mutex_);
    return seen_.snapshot;
  }();
  const std::size_t chunks = (*manifest)->chunks();
  const auto told = snapshot->chunks_of(name);
  if (!told || *told == chunks) return manifest;
  return fail(Fault::kDamaged, path + ": has " + std::to_string(chunks) +
                                   " chunks, and the snapshot tells of " + std::to_string(*told));
}

Result<IcechunkStore::Route> IcechunkStore::route_of(const std::string& path) {
  Route route;
  ZARRFS_TRY(route.seen, current());
  for (std::string at = path;; at = parent_path(at)) {
    route.node = route.seen.snapshot->find(at);
    route.rest = path_below(path, at);
    if (route.node != nullptr || at.empty()) break;
  }
  if (route.node == nullptr || !route.node->array) return route;
  if (route.rest == kChunks) route.chunk.emplace();
  if (route.rest.starts_with("c/")) route.chunk = parse_coordinates(route.rest.substr(2));
  return route;
}

/// The reference of a chunk; nothing where no manifest that may have it does.
Result<std::optional<IcechunkStore::Found>> IcechunkStore::find(const Route& route) {
  ZARRFS_TRY(const auto parts, IcechunkSnapshot::parts(*route.node));
  for (const IcechunkSnapshot::Part& part : parts) {
    if (!part.covers(*route.chunk)) continue;
    ZARRFS_TRY(ManifestPointer manifest, manifests_.get(part.manifest));
    auto reference = manifest->find(route.node->number, *route.chunk);
    if (!reference) {
      return fail(reference.error().fault,
                  "manifests/" + part.manifest + ": " + reference.error().message);
    }
    if (*reference) return Found{std::move(**reference), std::move(manifest), part.manifest};
  }
  return std::nullopt;
}

Result<std::set<std::uint32_t>> IcechunkStore::numbers_in(const IcechunkManifest& manifest,
                                                          const Route& route, bool one_is_enough) {
  std::set<std::uint32_t> numbers;
  std::optional<std::uint32_t> from = 0;
  while (from) {
    ZARRFS_CHECK(check_wanted());
    ZARRFS_TRY(const auto next, manifest.next(route.node->number, *route.chunk, *from));
    if (next) numbers.insert(*next);
    const bool more = next && *next < UINT32_MAX && !one_is_enough;
    from = more ? std::optional(*next + 1) : std::nullopt;
  }
  return numbers;
}

/// The names in a directory of chunks.
Result<std::set<std::uint32_t>> IcechunkStore::numbers_below(const Route& route,
                                                             bool one_is_enough) {
  std::set<std::uint32_t> numbers;
  ZARRFS_TRY(const auto parts, IcechunkSnapshot::parts(*route.node));
  for (const IcechunkSnapshot::Part& part : parts) {
    if (!part.covers(*route.chunk)) continue;
    if (one_is_enough && !numbers.empty()) break;
    ZARRFS_TRY(const ManifestPointer manifest, manifests_.get(part.manifest));
    auto found = numbers_in(*manifest, route, one_is_enough);
    if (!found) {
      return fail(found.error().fault, "manifests/" + part.manifest + ": " + found.error().message);
    }
    numbers.merge(*found);
  }
  return numbers;
}

/// The files of the native chunks at `paths`, what their array reads next; of virtual ones theirs
/// are asked for.
std::vector<std::string> IcechunkStore::stored_files(std::span<const std::string> paths,
                                                     const OpenHint& hint) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const auto route = route_of(path);
    if (!route || !route->is_chunk()) continue;
    const auto found = find(*route);
    if (!found || !*found) continue;
    const IcechunkReference& reference = (*found)->reference;
    if (reference.kind == IcechunkReference::Kind::kVirtual) {
      const VirtualTargets::Part part = virtual_part(reference);
      targets_->open_ahead({&part, 1}, hint);
    }
    const bool native = reference.kind == IcechunkReference::Kind::kNative;
    if (native && reference.range.offset == 0) files.push_back(kChunkFiles + reference.chunk);
  }
  return files;
}

/// What a chunk is, is told by its reference: nothing is asked of the place. Of a virtual one its
/// file is asked.
Result<struct stat> IcechunkStore::chunk_status(const std::string& path, const Found& found,
                                                std::int64_t time_ns) const {
  const IcechunkReference& reference = found.reference;
  if (reference.kind == IcechunkReference::Kind::kVirtual) {
    return targets_->status(path, virtual_part(reference));
  }
  const bool inlined = reference.kind == IcechunkReference::Kind::kInline;
  const std::string version =
      inlined ? found.manifest_name : reference.chunk + " " + spell_range(reference.range);
  const std::uint64_t size = inlined ? reference.bytes.size() : reference.range.length;
  if (size > static_cast<std::uint64_t>(INT64_MAX)) {
    return fail(Fault::kDamaged,
                path + ": its reference tells of " + std::to_string(size) + " bytes");
  }
  return object_status(path, version, size, time_ns);
}

Result<std::shared_ptr<File>> IcechunkStore::open_chunk(const std::string& path, const Found& found,
                                                        std::int64_t time_ns,
                                                        const OpenHint& hint) {
  const IcechunkReference& reference = found.reference;
  if (reference.kind == IcechunkReference::Kind::kVirtual) {
    return targets_->open(path, virtual_part(reference), hint);
  }
  ZARRFS_TRY(const struct stat status, chunk_status(path, found, time_ns));
  if (reference.kind == IcechunkReference::Kind::kInline) {
    return std::make_shared<TextFile>(std::string(reference.bytes.begin(), reference.bytes.end()),
                                      status, path);
  }
  const std::string file = kChunkFiles + reference.chunk;
  ZARRFS_TRY(std::shared_ptr<File> whole,
             place_->open_for(file, reference.range.offset == 0 ? hint : OpenHint{}));
  if (whole == nullptr) {
    return fail(Fault::kDamaged, path + ": " + file + " is not there, and manifests/" +
                                     found.manifest_name + " names it");
  }
  if (!lies_within(reference.range, whole->size())) {
    return fail(Fault::kDamaged, path + ": its bytes " + spell_range(reference.range) + " of " +
                                     file + " lie past the end, " + std::to_string(whole->size()));
  }
  return std::make_shared<PartFile>(FilePlace{std::move(whole), file, reference.range}, path,
                                    status);
}

Result<std::optional<struct stat>> IcechunkStore::status(const std::string& path) {
  ZARRFS_TRY(const Route route, route_of(path));
  if (route.is_document()) return document_status(route, path);
  if (route.is_chunk()) {
    ZARRFS_TRY(const auto found, find(route));
    if (!found) return std::nullopt;
    ZARRFS_TRY(const struct stat status, chunk_status(path, *found, route.seen.time_ns()));
    return status;
  }
  bool directory = (route.node != nullptr && route.rest.empty()) || path.empty();
  if (route.is_chunk_directory()) {
    ZARRFS_TRY(const auto numbers, numbers_below(route, true));
    directory = !numbers.empty();
  }
  if (!directory && !route.seen.snapshot->any_below(path)) return std::nullopt;
  return prefix_status(path, route.seen.time_ns());
}

Result<std::shared_ptr<File>> IcechunkStore::open_for(const std::string& path,
                                                      const OpenHint& hint) {
  ZARRFS_TRY(const Route route, route_of(path));
  if (route.is_document()) {
    std::string text(route.node->document.begin(), route.node->document.end());
    if (route.node->array) ZARRFS_CHECK(check_keys(text, path));
    return std::make_shared<TextFile>(std::move(text), document_status(route, path), path);
  }
  if (route.is_chunk()) {
    ZARRFS_TRY(const auto found, find(route));
    return found ? open_chunk(path, *found, route.seen.time_ns(), hint)
                 : Result<std::shared_ptr<File>>(nullptr);
  }
  ZARRFS_TRY(const auto there, status(path));
  if (there) return fail(Fault::kInvalid, path + ": is a directory");
  return nullptr;
}

Result<std::optional<std::vector<Entry>>> IcechunkStore::list(const std::string& path) {
  ZARRFS_TRY(Route route, route_of(path));
  std::vector<Entry> entries;
  if (route.is_chunk_directory()) {
    ZARRFS_TRY(const auto numbers, numbers_below(route, false));
    const bool last = route.chunk->size() + 1 == route.node->axes;
    for (const std::uint32_t number : numbers) {
      entries.push_back({std::to_string(number), last ? EntryKind::kFile : EntryKind::kDirectory});
    }
    return entries.empty() ? std::nullopt : std::optional(std::move(entries));
  }
  const bool of_node = route.node != nullptr && route.rest.empty();
  for (std::string& name : route.seen.snapshot->names_below(path)) {
    entries.push_back({std::move(name), EntryKind::kDirectory});
  }
  if (entries.empty() && !of_node && !path.empty()) return std::nullopt;
  if (!of_node) return entries;
  entries.push_back({std::string(kDocumentName), EntryKind::kFile});
  if (!route.node->array) return entries;
  route.chunk.emplace();
  if (route.node->axes > 0) {
    ZARRFS_TRY(const auto numbers, numbers_below(route, true));
    if (!numbers.empty()) entries.push_back({std::string(kChunks), EntryKind::kDirectory});
  } else {
    ZARRFS_TRY(const auto found, find(route));
    if (found) entries.push_back({std::string(kChunks), EntryKind::kFile});
  }
  return entries;
}

/// At most so many manifests are looked at, so many of their places in arrays, and so many bytes
/// of URLs.
constexpr std::size_t kMostManifestsVisited = 100;
constexpr std::size_t kMostPartsVisited = 1'000'000;
constexpr std::size_t kMostUrlsVisited = std::size_t{256} << 20U;

/// The manifests of arrays, each once; `all`: or only some of them.
struct ManifestNames {
  std::set<std::string> names;
  bool all = true;
};
Result<ManifestNames> manifests_of(const IcechunkSnapshot& snapshot) {
  ManifestNames found;
  std::size_t parts_seen = 0;
  for (const IcechunkSnapshot::Node& node : snapshot.nodes()) {
    ZARRFS_CHECK(check_wanted());
    if (!node.array) continue;
    ZARRFS_TRY(const auto parts, IcechunkSnapshot::parts(node));
    for (const IcechunkSnapshot::Part& part : parts) {
      const bool is_new = !found.names.contains(part.manifest);
      const bool full = is_new && found.names.size() == kMostManifestsVisited;
      found.all = !full && ++parts_seen <= kMostPartsVisited;
      if (!found.all) return found;
      found.names.insert(part.manifest);
    }
  }
  return found;
}

Result<std::string> IcechunkStore::visit_urls(const Visit& visit) {
  ZARRFS_TRY(const Seen seen, current());
  ZARRFS_TRY(const ManifestNames manifests, manifests_of(*seen.snapshot));
  std::size_t bytes = 0;
  std::uint64_t chunks = 0;
  const auto visit_one = [&](std::string_view url) {
    bytes += url.size();
    if (bytes > kMostUrlsVisited) return false;
    visit(url, 1);
    ++chunks;
    return true;
  };
  for (const std::string& name : manifests.names) {
    // Past the cache, which would keep them: each is read once.
    ZARRFS_TRY(const ManifestPointer manifest, read_manifest(name));
    const auto done = manifest->visit_urls(visit_one);
    if (!done) return fail(done.error().fault, "manifests/" + name + ": " + done.error().message);
    if (bytes > kMostUrlsVisited) {
      return "only " + std::to_string(chunks) + " chunks were looked at";
    }
  }
  return manifests.all ? std::string()
                       : "only " + std::to_string(manifests.names.size()) +
                             " of the manifests were looked at";
}

/// Whether the file at `path` begins as files of Icechunk do.
bool begins_as_icechunk(Store& place, const std::string& path) {
  const auto file = place.open_for(path, {OpenHint::Part::kWhole, 0});
  if (!file || *file == nullptr || (*file)->size() < kIcechunkMagic.size()) return false;
  const auto start = (*file)->read_range({0, kIcechunkMagic.size()});
  return start && std::equal(start->begin(), start->end(), kIcechunkMagic.begin(),
                             [](std::uint8_t byte, char letter) {
                               return byte == static_cast<std::uint8_t>(letter);
                             });
}

bool is_there(Store& place, const std::string& path) {
  const auto status = place.status(path);
  return status && *status && S_ISREG((*status)->st_mode);
}

}  // namespace

std::optional<int> icechunk_specification(Store& place) {
  if (begins_as_icechunk(place, "repo")) return 2;
  if (is_there(place, "refs/branch.main/ref.json")) return 1;
  return std::nullopt;
}

Result<std::shared_ptr<Store>> open_icechunk(std::shared_ptr<Store> place, Revision revision,
                                             std::size_t manifests,
                                             std::shared_ptr<const VirtualTargets> targets) {
  const auto specification = icechunk_specification(*place);
  if (!specification) {
    return fail(Fault::kInvalid,
                place->name() +
                    ": is no Icechunk repository: it has neither a file repo of one nor "
                    "refs/branch.main/ref.json");
  }
  if (targets == nullptr) {
    ZARRFS_TRY(targets, VirtualTargets::make("", {}));
  }
  auto store = std::make_shared<IcechunkStore>(std::move(place), std::move(revision),
                                               *specification, manifests, std::move(targets));
  ZARRFS_CHECK(store->load());
  return store;
}

}  // namespace zarrfs
