#include "core/zarr/tree.h"

#include <algorithm>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/zarr/visit_limit.h"

namespace zarrfs {
namespace {

const char kDocumentName[] = "zarr.json";

Node damaged(Error error) {
  Node node;
  node.kind = Node::Kind::kDamaged;
  node.error = std::move(error);
  return node;
}

void set_error(Node& node, Error error) {
  node.kind = error.fault == Fault::kUnsupported ? Node::Kind::kUnsupported : Node::Kind::kDamaged;
  node.error = std::move(error);
}

void set_array(Node& node, ArrayMetadata array, const std::string& path) {
  node.kind = Node::Kind::kArray;
  auto layout = Layout::make(array);
  node.array = std::make_shared<const ArrayMetadata>(std::move(array));
  if (layout) {
    node.layout = std::make_shared<const Layout>(std::move(*layout));
    return;
  }
  const std::string document = printable(join_path(path, kDocumentName));
  set_error(node, {layout.error().fault, document + ": " + layout.error().message});
}

/// The node whose zarr.json is `document`.
Node parsed(const Document& document, const std::string& path) {
  Node node;
  node.status = document.status;
  node.document = identity_of(document.status);
  auto metadata = parse_node(document.text, path);
  if (!metadata) {
    set_error(node, std::move(metadata.error()));
  } else if (auto* group = std::get_if<GroupMetadata>(&*metadata)) {
    node.kind = Node::Kind::kGroup;
    node.group = std::make_shared<const GroupMetadata>(std::move(*group));
  } else {
    set_array(node, std::move(std::get<ArrayMetadata>(*metadata)), path);
  }
  return node;
}

/// The node of a path whose zarr.json is absent.
Result<Node> without_document(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto status, store.status(path));
  Node node;
  if (!status) return node;
  node.kind = S_ISDIR(status->st_mode) ? Node::Kind::kPlain : Node::Kind::kFile;
  node.status = *status;
  return node;
}

/// The node of a path whose zarr.json is there and cannot be read.
Result<Node> unreadable(Store& store, const std::string& path, Error error) {
  const auto asked = store.status(path);
  if (!asked) return fail(std::move(error));  // that of the document says more
  const auto& status = *asked;
  if (error.fault == Fault::kInvalid || error.fault == Fault::kUnsupported) {
    error.fault = Fault::kDamaged;
  }
  Node node = damaged(std::move(error));
  if (status) node.status = *status;
  const auto document = store.status(join_path(path, kDocumentName));
  if (document && *document) {
    node.status = **document;
    node.document = identity_of(**document);
  }
  return node;
}

class Walker {
 public:
  using Visit = std::function<bool(const std::string&, const Node&)>;
  Walker(Store& store, const Visit& visit) : store_(store), visit_(visit) {}

  /// Below a node that cannot be understood, plain directories hold chunks: they are left out.
  Result<void> walk(const std::string& path, bool with_plain) {
    ZARRFS_CHECK(check_wanted());
    auto loaded = load_node(store_, path);
    if (!loaded && is_of_process(loaded.error().fault)) return fail(std::move(loaded.error()));
    Node node = loaded ? std::move(*loaded) : damaged(std::move(loaded.error()));
    if (node.kind == Node::Kind::kPlain && !with_plain) return {};
    if (node.kind == Node::Kind::kAbsent && !above_.empty()) return {};
    if (!loaded || !descends(node)) {
      visit_(path, node);
      return {};
    }
    const auto directory = enter(path);
    auto children = directory ? children_of(path) : fail(directory.error());
    if (!children) {
      if (is_of_process(children.error().fault)) return fail(std::move(children.error()));
      if (node.kind != Node::Kind::kUnsupported) set_error(node, std::move(children.error()));
      visit_(path, node);
      return {};
    }
    if (!visit_(path, node)) return {};
    const bool understood = node.kind == Node::Kind::kGroup || node.kind == Node::Kind::kPlain;
    above_.push_back(*directory);
    for (const std::string& child : *children) {
      ZARRFS_CHECK(walk(join_path(path, child), understood));
    }
    above_.pop_back();
    return {};
  }

 private:
  using Directory = std::pair<dev_t, ino_t>;

  static bool descends(const Node& node) {
    const bool directory = node.kind != Node::Kind::kFile && node.kind != Node::Kind::kAbsent;
    return directory && !node.array;
  }

  /// Which directory `path` is, where it may be entered.
  Result<Directory> enter(const std::string& path) {
    ZARRFS_TRY(const auto status, store_.status(path));
    if (!status) return fail(Fault::kStale, path + ": was removed while the store was walked");
    const Directory directory{status->st_dev, status->st_ino};
    if (std::find(above_.begin(), above_.end(), directory) != above_.end()) {
      return fail(Fault::kLoop, path + ": a link that leads back to a directory above it");
    }
    ZARRFS_CHECK(visits_.enter(*status, path));
    if (above_.size() > kMaxDepth) {
      return fail(Fault::kLoop, path + ": more than " + std::to_string(kMaxDepth) +
                                    " directories deep; not entered");
    }
    return directory;
  }

  Result<std::vector<std::string>> children_of(const std::string& path) {
    ZARRFS_TRY(auto entries, store_.list(path));
    std::vector<std::string> names;
    if (!entries) return names;
    for (Entry& entry : *entries) {
      if (entry.kind == EntryKind::kDirectory) names.push_back(std::move(entry.name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Store& store_;
  const Visit& visit_;
  std::vector<Directory> above_;
  VisitLimit visits_;
};

}  // namespace

bool is_at_or_below(const std::string& path, const std::string& top) {
  return top.empty() || path == top || path.starts_with(top + "/");
}

std::string moved_path(const std::string& path, const std::string& from, const std::string& to) {
  return is_at_or_below(path, from) ? to + path.substr(from.size()) : path;
}

Result<Node> load_node(Store& store, const std::string& path) {
  auto document = store.read_document(join_path(path, kDocumentName), kMaxDocument);
  if (document && *document) return parsed(**document, path);
  if (document) return without_document(store, path);
  const Fault fault = document.error().fault;
  if (is_of_process(fault) || fault == Fault::kStale) return fail(std::move(document.error()));
  return unreadable(store, path, std::move(document.error()));
}

Result<void> walk_nodes(
    Store& store, const std::string& path,
    const std::function<bool(const std::string& path, const Node& node)>& visit) {
  return Walker(store, visit).walk(path, true);
}

Result<bool> is_draft_v3(Store& store, const std::string& path) {
  ZARRFS_TRY(const auto document,
             store.read_document(join_path(path, kDocumentName), kMaxDocument));
  if (document) {
    const auto json = parse_first_json(document->text, join_path(path, kDocumentName));
    return json && json->is_object() && json->contains("zarr_format") &&
           json->at("zarr_format").is_string();
  }
  for (const char* name : {"meta/root", "meta/root.group.json", "meta/root.array.json"}) {
    ZARRFS_TRY(const auto status, store.status(join_path(path, name)));
    if (status) return true;
  }
  return false;
}

}  // namespace zarrfs
