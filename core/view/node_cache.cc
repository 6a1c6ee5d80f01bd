#include "core/view/node_cache.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/view/zstd_frames.h"
#include "core/zarr/v2_metadata.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMaxNodes = 8192;
constexpr std::size_t kMaxFamilies = 1024;
constexpr std::size_t kMaxSpellings = 4096;
constexpr std::size_t kMaxGenerations = 4096;
constexpr std::size_t kMaxSiblings = 1000;
constexpr std::chrono::seconds kForeignValidity{10};

std::shared_ptr<const Bytes> text_of(const Json& document) {
  const std::string text = dump_document(document);
  return std::make_shared<const Bytes>(text.begin(), text.end());
}

void add_group_documents(NodeState& state, const ViewOptions& options, const Profile& profile) {
  const GroupMetadata* group = state.node.group.get();
  const Json document = group_document(group, options.format);
  if (options.format == ViewFormat::kV3) {
    state.documents.push_back({"zarr.json", text_of(document)});
    return;
  }
  state.documents.push_back({".zgroup", text_of(document)});
  const Json attributes = group == nullptr ? Json::object() : group_attributes(*group, profile);
  state.documents.push_back({".zattrs", text_of(attributes)});
}

void hide(NodeState& state, Error error) {
  state.kind = NodeState::Kind::kHidden;
  state.error = std::move(error);
}
}  // namespace

void Spellings::set(const std::string& path, Json document) {
  const std::lock_guard lock(mutex_);
  if (documents_.size() >= kMaxSpellings) documents_.clear();
  documents_[path] = std::move(document);
}

void Spellings::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  std::unordered_map<std::string, Json> documents;
  for (auto& [path, document] : documents_) {
    documents[moved_path(path, from, to)] = std::move(document);
  }
  documents_ = std::move(documents);
}

Json Spellings::spell(const std::string& path, Json document) const {
  Json own;
  {
    const std::lock_guard lock(mutex_);
    const auto found = documents_.find(path);
    if (found == documents_.end()) return document;
    own = found->second;
  }
  own["shape"] = document["shape"];
  auto meaning = v3_document_of_v2(document, Json(), path);
  auto own_meaning = v3_document_of_v2(own, Json(), path);
  if (!meaning || !own_meaning) return document;
  meaning->erase("chunk_key_encoding");  // chunks are found by either separator
  own_meaning->erase("chunk_key_encoding");
  return same_json(*meaning, *own_meaning) ? own : document;
}

ShownAs shown_as(ByteRule rule) {
  switch (rule) {
    case ByteRule::kVerbatim: return ShownAs::kVerbatim;
    case ByteRule::kTrim: return ShownAs::kTrim;
    case ByteRule::kRecontain: return ShownAs::kRecontain;
    case ByteRule::kDecode: return ShownAs::kDecode;
    case ByteRule::kRechunk: return ShownAs::kRechunk;
  }
  return ShownAs::kVerbatim;
}

ViewShared::ViewShared(std::shared_ptr<Store> shown, const ViewOptions& chosen, Profile row)
    : store(std::move(shown)),
      options(chosen),
      profile(std::move(row)),
      reporter(chosen.log),
      listings(std::make_shared<CellListings>(chosen.immutable)),
      indexes(std::make_shared<IndexCache>(chosen.index_cache)),
      counters(std::make_shared<ReadCounters>()) {}

Result<std::shared_ptr<const NodeState>> NodeCache::get(const std::string& path) {
  if (auto state = valid(path)) return state;
  const std::uint64_t epoch = epoch_.load();
  if (auto state = stale(path)) {
    ZARRFS_TRY(const bool same, unchanged(*state));
    if (same) {
      touch(path);
      return state;
    }
  }
  ZARRFS_TRY(Node node, load_node(*shared_.store, path));
  ZARRFS_TRY(auto state, build(path, std::move(node)));
  report(*state);
  if (epoch_.load() == epoch) keep(state);  // what was read before a change is not kept after it
  return state;
}

std::shared_ptr<const NodeState> NodeCache::valid(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(path);
  if (found == entries_.end()) return nullptr;
  Kept& entry = found->second;
  if (!shared_.options.immutable && Clock::now() - entry.checked >= kValidity) return nullptr;
  uses_.splice(uses_.begin(), uses_, entry.use);
  return entry.state;
}

std::shared_ptr<const NodeState> NodeCache::stale(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(path);
  if (found == entries_.end()) return nullptr;
  const Kept& entry = found->second;
  const bool without_document = !entry.state->has_document();
  if (without_document && Clock::now() - entry.loaded >= kForeignValidity) return nullptr;
  return entry.state;
}

Result<bool> NodeCache::unchanged(const NodeState& state) {
  ZARRFS_TRY(const auto document, shared_.store->status(join_path(state.path, "zarr.json")));
  if (state.has_document()) return document && identity_of(*document) == state.node.document;
  if (document) return false;
  ZARRFS_TRY(const auto directory, shared_.store->status(state.path));
  return directory && S_ISDIR(directory->st_mode) && directory->st_ino == state.node.status.st_ino;
}

void NodeCache::keep(const std::shared_ptr<const NodeState>& state) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(state->path); found != entries_.end()) {
    uses_.erase(found->second.use);
    entries_.erase(found);
  }
  if (state->kind == NodeState::Kind::kAbsent) return;
  uses_.push_front(state->path);
  const auto now = Clock::now();
  entries_.emplace(state->path, Kept{state, now, now, uses_.begin()});
  if (entries_.size() > kMaxNodes) {
    entries_.erase(uses_.back());
    uses_.pop_back();
  }
}

void NodeCache::touch(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(path);
  if (found != entries_.end()) found->second.checked = Clock::now();
}

Result<std::shared_ptr<const NodeState>> NodeCache::build(const std::string& path, Node node) {
  auto state = std::make_shared<NodeState>();
  state->path = path;
  state->node = std::move(node);
  switch (state->node.kind) {
    case Node::Kind::kGroup:
      state->kind = NodeState::Kind::kGroup;
      add_group_documents(*state, shared_.options, shared_.profile);
      break;
    case Node::Kind::kArray: ZARRFS_CHECK(build_array(*state)); break;
    case Node::Kind::kDamaged:
      state->kind = NodeState::Kind::kDamaged;
      state->error = state->node.error;
      break;
    case Node::Kind::kUnsupported: hide(*state, state->node.error); break;
    case Node::Kind::kPlain: {
      ZARRFS_TRY(const bool leads, leads_to_node(*shared_.store, path));
      state->kind = leads ? NodeState::Kind::kImplicitGroup : NodeState::Kind::kForeign;
      if (leads) add_group_documents(*state, shared_.options, shared_.profile);
      break;
    }
    case Node::Kind::kFile:
    case Node::Kind::kAbsent: state->kind = NodeState::Kind::kAbsent; break;
  }
  return state;
}

Result<void> NodeCache::build_array(NodeState& state) {
  const Node& node = state.node;
  if (node.layout == nullptr) {
    state.error = node.error;
    state.kind = node.error.fault == Fault::kUnsupported ? NodeState::Kind::kHidden
                                                         : NodeState::Kind::kDamaged;
    return {};
  }
  state.kind = NodeState::Kind::kArray;
  state.reader = std::make_shared<ArrayReader>(shared_.store, state.path, node.array, node.layout,
                                               shared_.indexes, shared_.counters);
  state.cells = std::make_shared<CellDirectory>(shared_.store, state.path, node.array->key_encoding,
                                                node.layout->grid().counts(), shared_.listings);
  ArrayCircumstances circumstances;
  if (!state.path.empty() && shared_.options.format == ViewFormat::kV2) {
    ZARRFS_TRY(const auto family, family_of(parent_path(state.path)));
    circumstances.in_ome_image = family->ome_image;
    const auto& names = node.array->dimension_names;
    circumstances.omit_dimension_names = std::any_of(
        names.begin(), names.end(),
        [&family](const auto& name) { return name && family->ambiguous_names.contains(*name); });
  }
  const auto present = [&] {
    state.presentation = present_array(state.path, node.array, node.layout, shared_.profile,
                                       shared_.options, circumstances);
  };
  present();
  const bool passes_bytes =
      state.presentation.rule == ByteRule::kVerbatim || state.presentation.rule == ByteRule::kTrim;
  if (!state.presentation.hidden && passes_bytes && shared_.options.format == ViewFormat::kV2 &&
      sampled_zstd_lacks_size(*state.reader, *state.cells)) {
    circumstances.zstd_without_size = true;
    present();
  }
  this->present(state);
  return state.kind == NodeState::Kind::kArray ? number(state) : Result<void>{};
}

void NodeCache::present(NodeState& state) {
  const Presentation& shown = state.presentation;
  if (shown.hidden) return hide(state, {Fault::kUnsupported, shown.reason});
  const auto chunks = checked_product(shown.chunk_counts);
  if (!chunks || *chunks > kMaxChunks) {
    return hide(state, {Fault::kUnsupported, "more than 2^48 chunks would be shown"});
  }
  if (shared_.options.format == ViewFormat::kV3) {
    state.documents.push_back({"zarr.json", text_of(shown.document)});
    return;
  }
  if (!shared_.options.separator) {
    Json& spelled = state.presentation.document;
    spelled = shared_.spellings.spell(state.path, std::move(spelled));
    state.presentation.keys.separator = spelled.value("dimension_separator", "") == "/" ? '/' : '.';
  }
  state.documents.push_back({".zarray", text_of(shown.document)});
  state.documents.push_back({".zattrs", text_of(shown.attributes)});
}

Result<void> NodeCache::number(NodeState& state) {
  const Presentation& shown = state.presentation;
  state.names = ChunkNames(shown.keys, shown.chunk_counts);
  const FileIdentity& document = state.node.document;
  state.generation = mix_numbers(document.inode, static_cast<std::uint64_t>(document.mtime_ns));
  state.generation = mix_numbers(state.generation, digest_of(dump_json(shown.document)));
  state.generation = mix_numbers(state.generation, static_cast<std::uint64_t>(shown.rule));
  state.versions = shared_.options.immutable ? nullptr : versions_of(state);
  ZARRFS_TRY(state.first_node,
             shared_.numbers.range_of(state.path, state.generation, 0, state.names.nodes()));
  return {};
}

Result<std::shared_ptr<const NodeCache::Family>> NodeCache::family_of(
    const std::string& group_path) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = families_.find(group_path);
    if (found != families_.end() &&
        (shared_.options.immutable || Clock::now() - found->second.loaded < kValidity)) {
      return found->second.family;
    }
  }
  ZARRFS_TRY(Family loaded, load_family(group_path));
  auto family = std::make_shared<const Family>(std::move(loaded));
  const std::lock_guard lock(mutex_);
  if (families_.size() >= kMaxFamilies) families_.clear();
  families_[group_path] = {family, Clock::now()};
  return family;
}

Result<NodeCache::Family> NodeCache::load_family(const std::string& group_path) {
  Family family;
  ZARRFS_TRY(const Node group, load_node(*shared_.store, group_path));
  if (group.group != nullptr) family.ome_image = is_ome(group.group->attributes);
  ZARRFS_TRY(const auto entries, shared_.store->list(group_path));
  if (!entries || entries->size() > kMaxSiblings) return family;
  std::map<std::string, std::uint64_t> sizes;
  for (const Entry& entry : *entries) {
    if (entry.kind == EntryKind::kFile) continue;
    const auto node = load_node(*shared_.store, join_path(group_path, entry.name));
    if (!node || node->array == nullptr) continue;
    const ArrayMetadata& array = *node->array;
    const std::size_t axes = std::min(array.dimension_names.size(), array.shape.size());
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const auto& name = array.dimension_names[axis];
      if (!name) continue;
      const auto known = sizes.emplace(*name, array.shape[axis]).first;
      if (known->second != array.shape[axis]) family.ambiguous_names.insert(*name);
    }
  }
  return family;
}

std::shared_ptr<ShardVersions> NodeCache::versions_of(const NodeState& state) {
  const std::lock_guard lock(mutex_);
  if (shared_.options.writing) {
    if (names_.size() >= kMaxGenerations) names_.clear();
    names_.emplace(state.generation, state.names);
  }
  KeptVersions& kept = versions_[state.path];
  if (kept.versions == nullptr || kept.generation != state.generation) {
    kept = {state.generation, std::make_shared<ShardVersions>()};
  }
  return kept.versions;
}

std::shared_ptr<const NodeState> NodeCache::last_known(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : found->second.state;
}

std::optional<NamedPart> NodeCache::earlier_part(std::uint64_t generation, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto names = names_.find(generation);
  if (names == names_.end() || offset >= names->second.nodes()) return std::nullopt;
  return names->second.part_of(offset);
}

void NodeCache::forget() {
  ++epoch_;
  const std::lock_guard lock(mutex_);
  entries_.clear();
  uses_.clear();
  families_.clear();
}

void NodeCache::moved_away(const std::string& path) {
  forget();
  const std::lock_guard lock(mutex_);
  for (const auto& [array_path, kept] : versions_) {
    if (is_at_or_below(array_path, path)) kept.versions->forget();
  }
}

void NodeCache::report(const NodeState& state) {
  switch (state.kind) {
    case NodeState::Kind::kArray:
      return shared_.reporter.shown(state.path, shown_as(state.presentation.rule),
                                    state.presentation.reason);
    case NodeState::Kind::kHidden:
      return shared_.reporter.shown(state.path, ShownAs::kHidden, state.error.message);
    case NodeState::Kind::kDamaged:
      return shared_.reporter.shown(state.path, ShownAs::kDamaged, state.error.message);
    default: return shared_.reporter.forget(state.path);
  }
}

}  // namespace zarrfs
