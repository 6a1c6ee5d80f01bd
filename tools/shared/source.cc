#include "tools/shared/source.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <climits>

#include "core/base/json.h"
#include "core/base/json_numbers.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/formats/open_source.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_metadata.h"
#include "core/metadata/v2_note.h"
#include "core/present/cf_mask.h"
#include "core/store/http/schemes.h"
#include "core/store/unfinished.h"
#include "core/zarr/visit_limit.h"
#include "fs/mounts/mountpoint.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

constexpr std::size_t kIndexCacheBytes = std::size_t{256} << 20U;
constexpr int kMaxLevels = 64;

Result<std::optional<Json>> read_v2_document(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto document, store.read_document(path, kMaxDocument));
  if (!document) return std::nullopt;
  ZARRFS_TRY(Json json, parse_first_json(document->text, path, {.bytes = kMaxDocument}));
  return json;
}

// `.zattrs` below `path`, with the note of how they are written; an empty object where there are
// none.
Result<Json> read_v2_attributes(Store& store, const std::string& path) {
  const std::string name = join_path(path, ".zattrs");
  ZARRFS_TRY(const auto document, store.read_document(name, kMaxDocument));
  if (!document) return Json::object();
  ZARRFS_TRY(Json json, parse_first_json(document->text, name, {.bytes = kMaxDocument}));
  if (!json.is_object()) return Json::object();
  note_spelling(document->text, json);
  return json;
}

void set_error(Node& node, Error error) {
  node.kind = error.fault == Fault::kUnsupported ? Node::Kind::kUnsupported : Node::Kind::kDamaged;
  node.error = std::move(error);
}

Result<void> fill_array(Node& node, const Json& zarray, const Json& zattrs,
                        const std::string& path) {
  ZARRFS_TRY(Json document, v3_document_of_v2(zarray, zattrs, path));
  note_fill(zarray, document["attributes"]);
  note_separator(zarray, '.', document["attributes"]);
  ZARRFS_TRY(ArrayMetadata array, parse_array(document, join_path(path, ".zarray")));
  node.array = std::make_shared<ArrayMetadata>(std::move(array));
  node.kind = Node::Kind::kArray;
  ZARRFS_TRY(Layout layout, Layout::make(*node.array));
  node.layout = std::make_shared<Layout>(std::move(layout));
  return {};
}

// `.zattrs` of the group at `path`, and what netCDF-C has in its `.zgroup`.
Result<Json> read_v2_group_attributes(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto zgroup, read_v2_document(store, join_path(path, ".zgroup")));
  ZARRFS_TRY(Json attributes, read_v2_attributes(store, path));
  if (zgroup && zgroup->is_object()) take_nczarr_members(*zgroup, attributes);
  return attributes;
}

// `.zarray` as its writer means it.
Result<Json> meant_words(Store& store, const std::string& path, Json zarray) {
  Json words = zarray.is_object() ? common_words(zarray) : zarray;
  if (same_json(words, zarray)) return zarray;
  ZARRFS_TRY(const bool netcdf, is_of_netcdf(store, path));
  return netcdf ? std::move(words) : std::move(zarray);
}

// Looks for .zarray and .zgroup in a directory without zarr.json; leaves `node` as it is where
// there are none.
Result<bool> load_v2(Store& store, const std::string& path, SourceNode& found) {
  Node& node = found.node;
  ZARRFS_TRY(const auto array_status, store.status(join_path(path, ".zarray")));
  if (array_status) {
    node.status = *array_status;
    const auto loaded = [&]() -> Result<void> {
      ZARRFS_TRY(const auto zarray, read_v2_document(store, join_path(path, ".zarray")));
      ZARRFS_TRY(const Json zattrs, read_v2_attributes(store, path));
      found.has_v2_fill =
          zarray && zarray->is_object() && !zarray->value("fill_value", Json()).is_null();
      ZARRFS_TRY(const Json words, meant_words(store, path, zarray.value_or(Json())));
      return fill_array(node, words, zattrs, path);
    }();
    if (!loaded) set_error(node, loaded.error());
    return true;
  }
  ZARRFS_TRY(const auto group_status, store.status(join_path(path, ".zgroup")));
  if (!group_status) return false;
  node.status = *group_status;
  auto group = std::make_shared<GroupMetadata>();
  auto attributes = read_v2_group_attributes(store, path);
  if (!attributes) {
    set_error(node, attributes.error());
    return true;
  }
  group->attributes = std::move(*attributes);
  group->document =
      Json{{"zarr_format", 3}, {"node_type", "group"}, {"attributes", group->attributes}};
  node.group = std::move(group);
  node.kind = Node::Kind::kGroup;
  return true;
}

bool has_children(Node::Kind kind) {
  return kind == Node::Kind::kGroup || kind == Node::Kind::kPlain;
}

/// Whether that is wrong with a document that could be read.
bool is_damage(Fault fault) {
  return fault != Fault::kIo && fault != Fault::kDenied && !is_of_process(fault);
}

/// A directory to which too many ways lead is visited as a damaged node.
Result<void> walk_from(
    Store& store, const std::string& path, int depth, VisitLimit& visits,
    const std::function<bool(const std::string& path, const SourceNode& node)>& visit) {
  ZARRFS_CHECK(check_wanted());
  ZARRFS_TRY(SourceNode node, load_source_node(store, path));
  if (has_children(node.node.kind)) {
    if (auto entered = visits.enter(store, path); !entered) {
      if (entered.error().fault != Fault::kLoop) return entered;
      set_error(node.node, entered.error());
    }
  }
  if (!visit(path, node) || !has_children(node.node.kind) || depth >= kMaxLevels) return {};
  ZARRFS_TRY(auto entries, store.list(path));
  if (!entries) return {};
  std::sort(entries->begin(), entries->end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  for (const Entry& entry : *entries) {
    if (entry.kind != EntryKind::kDirectory || is_own_name(entry.name)) continue;
    ZARRFS_CHECK(walk_from(store, join_path(path, entry.name), depth + 1, visits, visit));
  }
  return {};
}

}  // namespace

bool is_node(Node::Kind kind) {
  return kind != Node::Kind::kPlain && kind != Node::Kind::kAbsent && kind != Node::Kind::kFile;
}

tl::unexpected<Error> no_node(const std::string& source, const std::string& path) {
  return fail(Fault::kInvalid, source + ": no Zarr group or array at " + shown_path(path));
}

Result<bool> stores_bare_numbers(Store& store, const std::string& path, const Json& attributes) {
  if (!attributes.is_object() || !attributes.contains(kNoteAttribute)) return false;
  ZARRFS_TRY(const auto document, store.read_document(join_path(path, "zarr.json"), kMaxDocument));
  return document && quote_bare_numbers(document->text) != document->text;
}

Result<SourceNode> load_source_node(Store& store, const std::string& path) {
  SourceNode found;
  ZARRFS_TRY(found.node, load_node(store, path));
  if (found.node.kind == Node::Kind::kPlain) {
    ZARRFS_TRY(const bool is_v2, load_v2(store, path, found));
    if (is_v2) found.zarr_format = 2;
  }
  return found;
}

Result<bool> is_of_netcdf(Store& store, const std::string& path) {
  for (std::string at = path; !at.empty();) {
    at = parent_path(at);
    ZARRFS_TRY(const SourceNode above, load_source_node(store, at));
    if (above.node.group && is_netcdf_root(above.node.group->attributes)) return true;
  }
  return false;
}

Result<bool> is_image_level(Store& store, const std::string& path) {
  for (std::string at = path; !at.empty();) {
    at = parent_path(at);
    ZARRFS_TRY(const SourceNode above, load_source_node(store, at));
    if (above.node.group == nullptr) continue;
    for (const std::string& level : image_levels(above.node.group->attributes)) {
      if (join_path(at, level) == path) return true;
    }
  }
  return false;
}

Result<void> walk_source(
    Store& store, const std::string& path,
    const std::function<bool(const std::string& path, const SourceNode& node)>& visit) {
  VisitLimit visits;
  Result<void> unread;
  const auto visit_read = [&](const std::string& at, const SourceNode& found) {
    const Node& node = found.node;
    if (at == path && node.kind == Node::Kind::kDamaged && !is_damage(node.error.fault)) {
      unread = fail(node.error);
      return false;
    }
    return visit(at, found);
  };
  ZARRFS_CHECK(walk_from(store, path, 0, visits, visit_read));
  return unread;
}

void declare_source(CLI::App& app, std::string& source, SourceOptions& options) {
  app.add_option("SOURCE", source, "The store: " + source_kinds())->required();
  declare_source_options(app, options);
}

void declare_source_options(CLI::App& app, SourceOptions& options) {
  app.add_option("--remote", options.remote,
                 "Options of a store at a server, as those of mount, separated by commas")
      ->type_name("OPTIONS");
  app.add_option(
         "--virtual", options.virtual_prefixes,
         "A path or URL below which chunks may be read that lie outside SOURCE (references, "
         "virtual chunks of Icechunk); may be repeated")
      ->type_name("PREFIX")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

/// Names what a source is that holds no Zarr, where that is known: kInvalid.
static Result<void> check_known(const Source& source, const StoreOptions& how) {
  const auto root = load_source_node(*source.store, "");
  if (!root || is_node(root->node.kind)) return {};  // what is wrong is told by who reads it
  const auto foreign = foreign_source(source.name, how);
  return foreign ? fail(Fault::kInvalid, source.name + ": is " + *foreign) : Result<void>{};
}

static Result<StoreOptions> opening_options(const SourceOptions& options) {
  StoreOptions how;
  how.links = options.links;
  how.virtual_prefixes = options.virtual_prefixes;
  how.virtual_seen_once = true;
  ZARRFS_CHECK(apply_remote_options(how.remote, options.remote));
  return how;
}

Result<std::optional<SourceHistory>> Source::history(const SourceOptions& options) const {
  if (!store->traits().manifests) return std::nullopt;
  ZARRFS_TRY(const StoreOptions how, opening_options(options));
  return history_of(name, how);
}

Result<void> check_mount_answers(const Console& console, const std::string& name) {
  if (!is_local(name)) return {};
  ZARRFS_TRY(const std::string path, local_path(name));
  return check_answers(path, [&](const std::string& line) { console.say(line); });
}

Result<Source> Source::open(const std::string& name, const SourceOptions& options) {
  Source source;
  source.name = name;
  ZARRFS_TRY(const StoreOptions how, opening_options(options));
  ZARRFS_TRY(source.store, open_source(name, how));
  ZARRFS_CHECK(check_known(source, how));
  source.cache = std::make_shared<IndexCache>(kIndexCacheBytes);
  source.counters = std::make_shared<ReadCounters>();
  source.unfinished = unfinished_source(*source.store);
  return source;
}

Result<Source> Source::open_to_read(const Console& console, const std::string& name,
                                    const SourceOptions& options) {
  ZARRFS_CHECK(check_mount_answers(console, name));
  ZARRFS_TRY(Source source, open(name, options));
  if (source.unfinished) console.say(*source.unfinished);
  return source;
}

std::unique_ptr<ArrayReader> Source::reader(const std::string& path, const SourceNode& node) const {
  if (!node.node.array || !node.node.layout) return nullptr;
  return std::make_unique<ArrayReader>(store, path, node.node.array, node.node.layout, cache,
                                       counters);
}

Result<std::vector<SourceArray>> arrays_below(const Source& source, const std::string& path,
                                              const Complain& complain) {
  std::vector<SourceArray> arrays;
  bool any_node = false;
  ZARRFS_CHECK(walk_source(*source.store, path, [&](const auto& at, const SourceNode& found) {
    const Node& node = found.node;
    any_node = any_node || is_node(node.kind);
    if (node.kind == Node::Kind::kArray && node.layout) arrays.push_back({at, found});
    if (node.kind == Node::Kind::kDamaged || node.kind == Node::Kind::kUnsupported) {
      complain(at, node.error);
    }
    return true;
  }));
  if (!any_node) return no_node(source.name, path);
  return arrays;
}

Result<SourceArray> find_array(const Source& source, const std::string& path) {
  ZARRFS_TRY(SourceNode node, load_source_node(*source.store, path));
  if (node.node.kind == Node::Kind::kDamaged || node.node.kind == Node::Kind::kUnsupported) {
    return fail(node.node.error);
  }
  if (node.node.kind != Node::Kind::kArray) {
    return fail(Fault::kInvalid, source.name + ": " + shown_path(path) + " is not an array");
  }
  return SourceArray{path, std::move(node)};
}

std::string clean_path(const std::string& typed) {
  std::string clean;
  for (const std::string& name : path_names(typed)) clean = join_path(clean, name);
  return clean;
}

std::string shown_path(const std::string& path) { return printable("/" + path, PATH_MAX); }

}  // namespace zarrfs::tools
