#include "core/zarr/named_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/json.h"
#include "core/base/lock_order.h"
#include "core/metadata/chunk_key.h"
#include "core/metadata/grid.h"
#include "core/metadata/v2_metadata.h"
#include "core/store/layer_store.h"
#include "core/store/object_status.h"
#include "core/zarr/open_hint.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostNodes = 4096;
constexpr const char* kV3 = "zarr.json";

const Json* member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

/// Nothing else comes into a listing.
bool names_a_node(std::string_view path) { return !path.empty() && is_store_path(path); }

void add_paths(const Json* items, const char* name, std::set<std::string>& paths) {
  if (items == nullptr || !items->is_array()) return;
  for (const Json& item : *items) {
    const Json* const path = name == nullptr ? &item : member(item, name);
    if (path == nullptr || !path->is_string()) continue;
    std::string text = path->get<std::string>();
    while (text.ends_with('/')) text.pop_back();
    if (names_a_node(text)) paths.insert(std::move(text));
  }
}

/// "a/b" of the keys "a/b/.zarray" of a .zmetadata.
void add_v2_keys(const Json& metadata, std::set<std::string>& paths) {
  for (const auto& [key, value] : metadata.items()) {
    const std::string name = last_name(key);
    if (name != ".zarray" && name != ".zgroup") continue;
    const std::string path = parent_path(key);
    if (names_a_node(path)) paths.insert(path);
  }
}

/// What OME-Zarr says in the attributes of a group; whether it says anything.
bool add_ome(const Json& attributes, std::set<std::string>& paths) {
  const Json* const within = member(attributes, "ome");
  const Json& ome = within == nullptr ? attributes : *within;
  bool told = false;
  if (const Json* const images = member(ome, "multiscales"); images && images->is_array()) {
    told = true;
    for (const Json& image : *images) add_paths(member(image, "datasets"), "path", paths);
  }
  if (const Json* const plate = member(ome, "plate")) {
    told = true;
    add_paths(member(*plate, "wells"), "path", paths);
  }
  if (const Json* const well = member(ome, "well")) {
    told = true;
    add_paths(member(*well, "images"), "path", paths);
  }
  for (const char* name : {"labels", "series"}) {
    told = told || member(ome, name) != nullptr;
    add_paths(member(ome, name), nullptr, paths);
  }
  return told;
}

/// An array whose objects can be asked for.
struct KnownArray {
  ArrayMetadata metadata;
  Layout layout;
  std::string document;  ///< "zarr.json" or ".zarray".
};

/// What was understood of the documents at one path.
struct KnownNode {
  FileIdentity identity;
  bool exists = false;
  std::shared_ptr<const KnownArray> array;     ///< Null: not an array, or not understood.
  std::optional<std::set<std::string>> below;  ///< Paths of nodes below a group.
  bool image = false;                          ///< OME: there may be labels.
};

class NamedStore final : public LayerStore {
 public:
  explicit NamedStore(std::shared_ptr<Store> inner) : LayerStore(std::move(inner)) {}

  [[nodiscard]] StoreTraits traits() const override {
    StoreTraits traits = below().traits();
    traits.lists = true;
    return traits;
  }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    ZARRFS_TRY(const auto root, below().status(""));
    if (path.empty()) return root;
    const std::string name = last_name(path);
    const bool document = name.starts_with(".z") || name.ends_with(".json");
    if (!document) {
      ZARRFS_TRY(const bool directory, is_directory(path));
      if (directory) return prefix_status(path, identity_of(*root).mtime_ns);
    }
    return below().status(path);
  }

  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    ZARRFS_TRY(const auto holder, array_above(path));
    if (holder) return list_array(holder->first, *holder->second, path);
    ZARRFS_TRY(const auto node, node_at(path));
    if (node->array != nullptr) return list_array(path, *node->array, "");
    ZARRFS_TRY(const auto told, told_below(path));
    if (!told) {
      return fail(Fault::kUnsupported,
                  name() + ": " + (path.empty() ? "its root" : path) +
                      " cannot be listed: this server tells no names, and the group has no "
                      "consolidated metadata and is no OME-Zarr image or plate; names that are "
                      "asked for are found");
    }
    std::vector<Entry> entries;
    for (const std::string& child : *told) entries.push_back({child, EntryKind::kDirectory});
    ZARRFS_TRY(const bool labels, has_labels(path, *node, *told));
    if (labels) entries.push_back({"labels", EntryKind::kDirectory});
    for (const char* document : {kV3, ".zgroup", ".zattrs", ".zmetadata"}) {
      ZARRFS_TRY(const auto file, below().open(join_path(path, document)));
      if (file != nullptr) entries.push_back({document, EntryKind::kFile});
      if (file != nullptr && document == std::string_view(kV3)) break;
    }
    return entries;
  }

 private:
  using Node = std::shared_ptr<const KnownNode>;
  using Names = std::set<std::string>;

  Result<std::optional<Json>> read_json(const std::string& path, const std::string& document,
                                        FileIdentity* identity) {
    const std::string full = join_path(path, document);
    ZARRFS_TRY(const auto text, below().read_document(full, kMaxDocument));
    if (!text) return std::nullopt;
    if (identity != nullptr) *identity = identity_of(text->status);
    auto json = parse_first_json(text->text, full, {.bytes = kMaxDocument});
    return json ? std::move(*json) : Json();  // what is damaged is told when the node is loaded
  }

  Result<Node> node_at(const std::string& path) {
    for (const char* document : {kV3, ".zarray", ".zgroup"}) {
      ZARRFS_TRY(const auto file, below().open(join_path(path, document)));
      if (file == nullptr) continue;
      {
        const std::lock_guard lock(mutex_);
        const auto kept = nodes_.find(path);
        if (kept != nodes_.end() && kept->second->identity == file->identity()) {
          return kept->second;
        }
      }
      ZARRFS_TRY(Node node, load(path, document));
      const std::lock_guard lock(mutex_);
      if (nodes_.size() >= kMostNodes) nodes_.clear();
      nodes_[path] = node;
      return node;
    }
    return std::make_shared<const KnownNode>();
  }

  Result<Node> load(const std::string& path, const std::string& document) {
    auto node = std::make_shared<KnownNode>();
    node->exists = true;
    ZARRFS_TRY(const auto json, read_json(path, document, &node->identity));
    if (!json) return node;
    if (document == ".zarray") {
      const auto converted = v3_document_of_v2(*json, Json(), path);
      if (converted) take_array(*node, *converted, path, document);
      return node;
    }
    if (document == ".zgroup") {
      ZARRFS_TRY(const auto all, read_json(path, ".zmetadata", nullptr));
      ZARRFS_TRY(const auto attributes, read_json(path, ".zattrs", nullptr));
      for (const auto* const one : {&all, &attributes}) {
        auto named = *one ? nodes_named_in(**one) : std::nullopt;
        if (!named) continue;
        if (!node->below) node->below.emplace();
        node->below->merge(*named);
      }
      node->image = attributes && member(*attributes, "multiscales") != nullptr;
      return node;
    }
    const Json* const type = member(*json, "node_type");
    if (type != nullptr && *type == "array") {
      take_array(*node, *json, path, document);
      return node;
    }
    node->below = nodes_named_in(*json);
    const Json* const attributes = member(*json, "attributes");
    const Json* const ome = attributes == nullptr ? nullptr : member(*attributes, "ome");
    node->image = ome != nullptr && member(*ome, "multiscales") != nullptr;
    return node;
  }

  static void take_array(KnownNode& node, const Json& json, const std::string& path,
                         const std::string& document) {
    auto metadata = parse_array(json, path);
    if (!metadata) return;
    auto layout = Layout::make(*metadata);
    if (!layout) return;
    node.array = std::make_shared<const KnownArray>(
        KnownArray{std::move(*metadata), std::move(*layout), document});
  }

  /// The array that holds `path`, if it is the path of one of its directories of chunks.
  Result<std::optional<std::pair<std::string, std::shared_ptr<const KnownArray>>>> array_above(
      const std::string& path) {
    for (const std::string& above : array_candidates(path)) {
      ZARRFS_TRY(const Node node, node_at(above));
      if (node->array != nullptr && prefix_of(*node->array, above, path)) {
        return std::pair(above, node->array);
      }
    }
    return std::nullopt;
  }

  /// Where the array of a directory "a/c/0/1" may be: "a"; of "a/0/1": "a" and "a/0".
  static std::vector<std::string> array_candidates(const std::string& path) {
    std::vector<std::string> candidates;
    for (std::string at = path; !at.empty();) {
      const std::string name = last_name(at);
      at = parent_path(at);
      if (name == "c") return {at};
      if (!parse_coordinate(name, UINT64_MAX)) break;
      candidates.insert(candidates.begin(), at);
    }
    return candidates;
  }

  /// The coordinates that a directory of chunks stands for.
  static std::optional<std::vector<std::uint64_t>> prefix_of(const KnownArray& array,
                                                             const std::string& array_path,
                                                             const std::string& directory) {
    std::vector<std::uint64_t> prefix;
    const ChunkKeyEncoding& keys = array.metadata.key_encoding;
    if (directory.empty() || directory == array_path) return prefix;
    std::string rest = directory.substr(array_path.empty() ? 0 : array_path.size() + 1);
    if (keys.kind == ChunkKeyEncoding::Kind::kDefault) {
      if (rest == "c") return prefix;
      if (!rest.starts_with("c/")) return std::nullopt;
      rest = rest.substr(2);
    }
    if (keys.separator != '/') return std::nullopt;
    const auto counts = array.layout.grid().counts();
    while (!rest.empty()) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      if (prefix.size() + 1 >= counts.size()) return std::nullopt;
      const auto at = parse_coordinate(rest.substr(0, slash), counts[prefix.size()]);
      if (!at) return std::nullopt;
      prefix.push_back(*at);
      rest.erase(0, slash + 1);
    }
    return prefix;
  }

  /// The names directly below `directory` (the array itself where empty) under which objects of the
  /// array are: each is asked for.
  Result<std::optional<std::vector<Entry>>> list_array(const std::string& path,
                                                       const KnownArray& array,
                                                       const std::string& directory) {
    const auto prefix = prefix_of(array, path, directory);
    if (!prefix) return std::nullopt;
    ZARRFS_TRY(const std::vector<std::string> keys, stored_keys(path, array, *prefix));
    const std::string& top = directory.empty() ? path : directory;
    std::set<std::pair<std::string, bool>> names;
    for (const std::string& key : keys) {
      const std::string rest = key.substr(top.empty() ? 0 : top.size() + 1);
      const std::size_t slash = rest.find('/');
      names.emplace(rest.substr(0, slash), slash != std::string::npos);
    }
    if (names.empty() && !directory.empty()) return std::nullopt;
    std::vector<Entry> entries;
    if (directory.empty()) {
      ZARRFS_TRY(entries, documents_of(path, array));
    }
    for (const auto& [name, is_directory] : names) {
      entries.push_back({name, is_directory ? EntryKind::kDirectory : EntryKind::kFile});
    }
    return entries;
  }

  Result<std::vector<Entry>> documents_of(const std::string& path, const KnownArray& array) {
    std::vector<Entry> entries = {{array.document, EntryKind::kFile}};
    if (array.document == kV3) return entries;
    ZARRFS_TRY(const auto attributes, below().open(join_path(path, ".zattrs")));
    if (attributes != nullptr) entries.push_back({".zattrs", EntryKind::kFile});
    return entries;
  }

  Result<std::vector<std::string>> stored_keys(const std::string& path, const KnownArray& array,
                                               const std::vector<std::uint64_t>& prefix) {
    const std::vector<std::uint64_t> counts = array.layout.grid().counts();
    const std::vector<std::uint64_t> rest_counts(
        counts.begin() + static_cast<std::ptrdiff_t>(prefix.size()), counts.end());
    const auto count = checked_product(rest_counts);
    if (!count || *count > kMostObjectsAsked) {
      return fail(Fault::kUnsupported,
                  name() + ": " + path +
                      " cannot be listed: this server tells no names, and more "
                      "than " +
                      std::to_string(kMostObjectsAsked) +
                      " objects would have to be asked for; chunks that are asked for are found");
    }
    std::vector<std::string> keys;
    for (std::uint64_t number = 0; number < *count; ++number) {
      std::vector<std::uint64_t> cell = prefix;
      const auto rest = coordinates_of(number, rest_counts);
      cell.insert(cell.end(), rest.begin(), rest.end());
      keys.push_back(join_path(path, array.metadata.key_encoding.key(cell)));
    }
    const OpenHint hint = hint_for(array.layout);
    below().expect(keys, hint);
    std::vector<std::string> stored;
    for (std::string& key : keys) {
      ZARRFS_TRY(const auto file, below().open_for(key, hint));
      if (file != nullptr) stored.push_back(std::move(key));
    }
    return stored;
  }

  /// The children of a group that documents at or above it name; nothing where none tells.
  Result<std::optional<Names>> told_below(const std::string& path) {
    Names children;
    bool told = false;
    for (std::string above = path;; above = parent_path(above)) {
      ZARRFS_TRY(const Node node, node_at(above));
      if (node->below) {
        bool any = above == path;
        for (const std::string& one : *node->below) {
          std::string full = join_path(above, one);
          if (!is_at_or_below(full, path)) continue;
          any = true;
          if (full == path) continue;
          full.erase(0, path.empty() ? 0 : path.size() + 1);
          children.insert(full.substr(0, full.find('/')));
        }
        told = told || any;
      }
      if (above.empty()) break;
    }
    if (!told) return std::nullopt;
    return children;
  }

  Result<bool> has_labels(const std::string& path, const KnownNode& node, const Names& told) {
    if (!node.image || told.contains("labels")) return false;
    ZARRFS_TRY(const Node labels, node_at(join_path(path, "labels")));
    return labels->exists;
  }

  Result<bool> is_directory(const std::string& path) {
    ZARRFS_TRY(const auto holder, array_above(path));
    if (holder) return true;
    ZARRFS_TRY(const Node node, node_at(path));
    if (node->exists) return true;
    for (std::string above = parent_path(path);; above = parent_path(above)) {
      ZARRFS_TRY(const Node group, node_at(above));
      if (group->below) {
        for (const std::string& one : *group->below) {
          if (join_path(above, one).starts_with(path + "/")) return true;
        }
      }
      if (above.empty()) return false;
    }
  }

  TableMutex mutex_;
  std::map<std::string, Node> nodes_;
};

}  // namespace

std::optional<std::set<std::string>> nodes_named_in(const Json& document) {
  std::set<std::string> paths;
  bool told = false;
  if (const Json* const v3 = member(document, "consolidated_metadata")) {
    const Json* const metadata = member(*v3, "metadata");
    if (metadata != nullptr && metadata->is_object()) {
      told = true;
      for (const auto& [path, node] : metadata->items()) {
        if (names_a_node(path)) paths.insert(path);
      }
    }
  }
  const Json* const v2 = member(document, "metadata");
  if (v2 != nullptr && v2->is_object() && member(document, "zarr_consolidated_format")) {
    told = true;
    add_v2_keys(*v2, paths);
  }
  const Json* const attributes = member(document, "attributes");
  told = add_ome(attributes == nullptr ? document : *attributes, paths) || told;
  if (!told) return std::nullopt;
  return paths;
}

std::shared_ptr<Store> with_names(std::shared_ptr<Store> store) {
  if (store->traits().lists) return store;
  return std::make_shared<NamedStore>(std::move(store));
}

}  // namespace zarrfs
