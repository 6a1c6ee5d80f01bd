// Names of a view -> nodes: StoreView's lookups, and what is shown in which directory.
#include <algorithm>
#include <array>
#include <utility>

#include "core/base/hash.h"
#include "core/chunks/chunk_lister.h"
#include "core/vfs/store_view.h"

namespace zarrfs {

namespace {
constexpr std::array<const char*, 4> kV2Documents = {".zgroup", ".zarray", ".zattrs", ".zmetadata"};
constexpr const char* kV3Document = "zarr.json";
constexpr const char* kGroupDocument = ".zgroup";
constexpr const char* kAttributes = ".zattrs";
constexpr const char* kConsolidated = ".zmetadata";

bool is_v2_document(std::string_view name) {
  return std::find(kV2Documents.begin(), kV2Documents.end(), name) != kV2Documents.end();
}
}  // namespace

Result<std::optional<Found>> StoreView::find(NodeId parent, std::string_view name) {
  const auto making = not_while_nodes_are_made();
  return find_now(parent, name);
}

Result<std::optional<Found>> StoreView::find_now(NodeId parent, std::string_view name) {
  const auto answer = [&]() -> Result<std::optional<Found>> {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos) {
      return std::nullopt;
    }
    ZARRFS_TRY(const Target target, resolve(parent));
    if (!target.named) {
      if (!target.part.directory) return std::nullopt;
      const auto part = target.state->shown.names.in_prefix(target.part.coordinates, name);
      if (part) return find_part(target.state, *part);
      const std::string path =
          join_path(part_path(target.state->shown, target.part), std::string(name));
      if (const WorkPointer work = works_.find(path)) return work_found(work, std::nullopt);
      ZARRFS_TRY(const auto aside, stored_aside(*target.state, path));
      if (!aside) return std::nullopt;
      return foreign_found(path_aside(target.state->path, path), *aside);
    }
    if (target.named->kind == NamedNode::Kind::kDirectory) {
      return find_in_directory(target.state, std::string(name));
    }
    return find_own(*target.named, std::string(name));
  };
  return reported(answer());
}

Result<std::optional<Found>> StoreView::find_in_directory(const StatePtr& state,
                                                          const std::string& name) {
  if (state->path.empty() && name == kOwnFolder) {
    const NamedNode own{NamedNode::Kind::kOwnFolder, kOwnFolder, 0};
    return Found{.id = table_.look_up(own), .status = own_status(own)};
  }
  const auto documents = document_names(*state);
  if (std::find(documents.begin(), documents.end(), name) != documents.end()) {
    return find_document(state, name);
  }
  if (state->kind == NodeState::Kind::kArray) {
    if (const auto part = state->shown.names.in_array(name)) return find_part(state, *part);
  }
  if (state->kind == NodeState::Kind::kDamaged &&
      (looks_like_chunk(name) || is_v2_document(name))) {
    return fail(state->error);
  }
  if (is_concealed(*state, name)) return std::nullopt;
  if (const WorkPointer work = works_.find(join_path(state->path, name));
      work != nullptr && work->kind == Work::Kind::kScratch) {
    return work_found(work, std::nullopt);
  }
  return find_child(state, name);
}

bool StoreView::is_concealed(const NodeState& state, std::string_view name) const {
  if (name.starts_with(kOwnFolder)) return true;
  const bool v2 = shared_.options.format == ViewFormat::kV2;
  if (name == kV3Document &&
      (v2 || state.has_document() || session_.is_removed(state.path, kV3Document))) {
    return true;
  }
  if (!v2 && state.has_document() && is_v2_document(name)) return true;
  const bool holds_chunks =
      state.kind == NodeState::Kind::kArray || state.kind == NodeState::Kind::kDamaged;
  return holds_chunks && looks_like_chunk(name);
}

bool StoreView::is_document(const std::string& name) const {
  return shared_.options.format == ViewFormat::kV2 ? is_v2_document(name) : name == kV3Document;
}

bool StoreView::is_made_up(const NodeState& state, const std::string& name) {
  // Attributes may have come first, and have made a group of the directory.
  if (name == kConsolidated || name == kGroupDocument) return true;
  if (state.kind == NodeState::Kind::kImplicitGroup) return true;
  if (name != kAttributes) return false;
  const Node& node = state.node;
  if (node.group != nullptr) return node.group->attributes.empty();
  return node.array != nullptr && node.array->attributes.empty() &&
         !node.array->document.contains("dimension_names");
}

std::vector<std::string> StoreView::document_names(const NodeState& state) const {
  const bool v2 = shared_.options.format == ViewFormat::kV2;
  std::vector<std::string> names;
  if (state.kind == NodeState::Kind::kDamaged) {
    names =
        v2 ? std::vector<std::string>{".zarray", ".zattrs"} : std::vector<std::string>{kV3Document};
  }
  for (const ShownDocument& document : state.documents) names.push_back(document.name);
  if (v2 && state.kind == NodeState::Kind::kGroup) names.emplace_back(kConsolidated);
  if (writable()) {
    std::erase_if(names, [&](const std::string& name) {
      return session_.hides(state.path, name, is_made_up(state, name));
    });
  }
  return names;
}

Result<std::shared_ptr<const Bytes>> StoreView::document_text(const NodeState& state,
                                                              const std::string& name) {
  if (state.kind == NodeState::Kind::kDamaged) return fail(state.error);
  const bool v3_consolidated = shared_.options.format == ViewFormat::kV3 &&
                               state.node.group != nullptr && state.node.group->consolidated;
  if (state.kind == NodeState::Kind::kGroup && (name == kConsolidated || v3_consolidated)) {
    return consolidation_.text(state);
  }
  const ShownDocument* document = state.document(name);
  return document == nullptr ? nullptr : document->text;
}

Result<std::optional<Found>> StoreView::find_document(const StatePtr& state,
                                                      const std::string& name) {
  ZARRFS_TRY(const auto text, document_text(*state, name));
  if (text == nullptr) return std::nullopt;
  const std::string path = join_path(state->path, name);
  const NodeId id = table_.look_up({NamedNode::Kind::kDocument, path, digest_of(as_text(*text))});
  return found(id, document_status(*state, path, text->size()));
}

Result<std::optional<Found>> StoreView::find_part(const StatePtr& state, const NamedPart& part) {
  const NodeState& array = *state;
  if (part.directory) {
    ZARRFS_TRY(bool exists, ChunkLister(array.shown, chunks_).prefix_exists(part.coordinates));
    // Where missing chunks are made up when asked for by name, so is the way to them.
    exists = exists ||
             (array.shown.presentation.materialise != Materialise::kOff &&
              array.shown.presentation.fill_chunk != nullptr && array.shown.names.chunks() > 0);
    if (!exists && !session_.has_chunk_directory(part_path(array.shown, part))) return std::nullopt;
    ZARRFS_TRY(const NodeId id, id_of(array, part, 0));
    const std::uint64_t inode = inode_of(array.path, array.shown.names.number_of(part));
    return found(id, prefix_status(array, inode));
  }
  const WorkPointer work =
      works_.empty() ? nullptr : works_.find(chunk_key(array, part.coordinates));
  auto stored = chunks_.find(array.shown, part.coordinates);
  if (work != nullptr) {
    if (!stored || !*stored) return work_found(work, std::nullopt);
    ZARRFS_TRY(const NodeId id, id_of(array, part, (*stored)->version));
    return work_found(work, id);
  }
  if (!stored && stored.error().fault != Fault::kStale) {
    shared_.reporter.fault(stored.error());
    return broken_chunk(array, part, std::nullopt);
  }
  ZARRFS_TRY(const auto chunk, std::move(stored));
  if (!chunk) return std::nullopt;
  ZARRFS_TRY(const NodeId id, id_of(array, part, chunk->version));
  return found(id, chunk_status(array, part, *chunk));
}

Found StoreView::broken_chunk(const NodeState& array, const NamedPart& part,
                              std::optional<NodeId> id) {
  // zarr-python 2 and GDAL take a file that cannot be looked up or opened for a missing chunk, and
  // so for the fill value. Only a read that fails is an error to them.
  const std::uint64_t number = array.shown.names.number_of(part);
  const std::uint64_t size = std::max<std::uint64_t>(array.shown.presentation.fixed_size, 1);
  Found answer = found(0, file_status(array.node.status, inode_of(array.path, number), size));
  permit_chunk(answer.status, array.shown, part.coordinates, nullptr);
  answer.for_ever = false;
  answer.fleeting = true;
  answer.id = id ? *id : table_.look_up({NamedNode::Kind::kBroken, array.path, number});
  return answer;
}

Result<std::optional<Found>> StoreView::find_child(const StatePtr& state, const std::string& name) {
  const auto stored = state->levels.stored(name);
  if (!stored) return std::nullopt;
  const std::string path = join_path(state->path, *stored);
  ZARRFS_TRY(const auto status, shared_.store->status(path));
  if (!status) return std::nullopt;
  if (!S_ISDIR(status->st_mode)) return foreign_found(path, *status);
  ZARRFS_TRY(const StatePtr child, shown_directory(path, state.get()));
  if (child == nullptr) return std::nullopt;
  const NodeId id = table_.look_up({NamedNode::Kind::kDirectory, path, 0});
  return found(id, status_of(*child));
}

Found StoreView::foreign_found(const std::string& path, const struct stat& status) {
  const NodeId id = table_.look_up({NamedNode::Kind::kForeign, path, file_version(status)});
  return foreign(id, status, path);
}

Found StoreView::foreign(NodeId id, const struct stat& status, const std::string& path) const {
  Found answer = found(id, foreign_status(status, path));
  answer.fleeting = status.st_nlink > 1;  // it may change by another name, which is another node
  return answer;
}

Result<std::optional<struct stat>> StoreView::stored_aside(const NodeState& array,
                                                           const std::string& path) {
  if (!writable()) return std::nullopt;
  ZARRFS_TRY(auto status, shared_.store->status(path_aside(array.path, path)));
  if (status && S_ISDIR(status->st_mode)) status.reset();
  return status;
}

Result<StatePtr> StoreView::shown_directory(const std::string& path, const NodeState* parent) {
  ZARRFS_TRY(StatePtr child, nodes_.get(path));
  const bool gone =
      child->kind == NodeState::Kind::kAbsent || child->kind == NodeState::Kind::kHidden;
  const bool node_in_array =
      parent != nullptr && parent->kind == NodeState::Kind::kArray && child->has_document();
  if (gone || node_in_array) return nullptr;
  return child;
}

Result<std::optional<Found>> StoreView::find_own(const NamedNode& parent, const std::string& name) {
  if (parent.kind != NamedNode::Kind::kOwnFolder) return std::nullopt;
  for (const auto& [kind, own_name] : {std::pair(NamedNode::Kind::kReport, kReportName),
                                       std::pair(NamedNode::Kind::kStatistics, kStatisticsName)}) {
    if (name != own_name) continue;
    const NamedNode own{kind, join_path(kOwnFolder, own_name), 0};
    return Found{.id = table_.look_up(own), .status = own_status(own), .fleeting = true};
  }
  return std::nullopt;
}

}  // namespace zarrfs
