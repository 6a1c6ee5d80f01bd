#include "core/nodes/node_cache.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/request.h"
#include "core/chunks/zstd_frames.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_metadata.h"
#include "core/nodes/survey.h"
#include "core/present/cf_mask.h"
#include "core/present/ome.h"
#include "core/store/store.h"

namespace zarrfs {

namespace {
constexpr std::size_t kLeastNodes = 64;  // kept, whatever they take
constexpr std::size_t kMaxFamilies = 1024;
constexpr std::size_t kMaxGenerations = 4096;
constexpr std::size_t kMostShown = 262144;  // arrays whose being shown is remembered
constexpr std::size_t kMaxSiblings = 1000;
constexpr std::chrono::seconds kPassThroughValidity{10};
constexpr const char* kMarked =
    "the fill value that a program wrote marks missing cells: it is stored as _FillValue, too";
constexpr int kRestPerScan = 10;  // names of dimensions are kept this many times as long

std::shared_ptr<const Bytes> text_of(const Json& document, const TextStyle& style,
                                     const char* below = "") {
  const std::string text = styled_text(document, style, below);
  return std::make_shared<const Bytes>(text.begin(), text.end());
}

void add_group_documents(NodeState& state, const ViewShared& shared, const Profile& profile) {
  const GroupMetadata* group = state.node.group.get();
  const TextStyle style =
      shared.style_for(group == nullptr ? Json() : *group->attributes, profile.ascii);
  const Json document = group_document(group, shared.options.format);
  if (shared.options.format == ViewFormat::kV3) {
    state.documents.push_back({"zarr.json", text_of(document, style, kAttributesPointer)});
    return;
  }
  state.documents.push_back({".zgroup", text_of(document, {.ascii = style.ascii, .bare = {}})});
  const Json attributes =
      group == nullptr ? Json::object() : group_attributes(*group, profile, state.levels);
  state.documents.push_back({".zattrs", text_of(attributes, style)});
}

/// Whether the axes of some array in the group have names. Where nothing tells what is in it, or
/// that is very much, none has.
Result<bool> has_names_in(Store& store, const std::string& group_path) {
  const auto listed = store.list(group_path);
  if (!listed && listed.error().fault == Fault::kUnsupported) return false;
  if (!listed) return fail(listed.error());
  if (!*listed || (*listed)->size() > kMaxSiblings) return false;
  return std::any_of((*listed)->begin(), (*listed)->end(), [&](const Entry& entry) {
    if (entry.kind == EntryKind::kFile) return false;
    const auto node = load_node(store, join_path(group_path, entry.name));
    return node && node->array != nullptr && !node->array->shape.empty() &&
           has_dimension_names(*node->array);
  });
}

/// What a node takes, about: documents are kept as text and, member by member, parsed.
std::uint64_t bytes_of(const NodeState& state) {
  constexpr std::uint64_t kArray = 16384;  // measured with small arrays
  constexpr std::uint64_t kOther = 2048;
  constexpr std::uint64_t kParsed = 16;  // times the text
  std::uint64_t text = state.error.message.size();
  for (const ShownDocument& document : state.documents) text += document.text->size();
  const bool array = state.kind == NodeState::Kind::kArray;
  return (array ? kArray : kOther) + kParsed * text + 4 * state.path.size();
}

void hide(NodeState& state, Error error) {
  state.kind = NodeState::Kind::kHidden;
  state.error = std::move(error);
}
}  // namespace

ShownAs shown_as(ByteRule rule) {
  switch (rule) {
    case ByteRule::kVerbatim: return ShownAs::kVerbatim;
    case ByteRule::kTrim: return ShownAs::kTrim;
    case ByteRule::kBloscWrap: return ShownAs::kBloscWrap;
    case ByteRule::kDecode: return ShownAs::kDecode;
    case ByteRule::kRechunk: return ShownAs::kRechunk;
  }
  return ShownAs::kVerbatim;
}

Result<std::shared_ptr<const NodeState>> NodeCache::get(const std::string& path) {
  if (auto state = valid(path)) return state;
  const std::uint64_t epoch = epoch_.load();
  if (auto state = stale(path)) {
    const auto same = unchanged(*state);
    if (!same && shared_.store->shows_what_was_seen()) return state;
    if (!same) return fail(same.error());
    if (*same) {
      touch(path);
      return state;
    }
  }
  ZARRFS_TRY(Node node, load_node(*shared_.store, path));
  ZARRFS_TRY(auto state, build(path, std::move(node)));
  ZARRFS_CHECK(check_wanted());  // what was looked at in part only is not kept
  report(*state);
  keep(state, epoch);
  return state;
}

Result<std::shared_ptr<const NodeState>> NodeCache::get_or_known(const std::string& path) {
  auto state = get(path);
  if (state && (*state)->kind != NodeState::Kind::kDamaged) return state;
  if (!state && says_nothing(state.error().fault)) return state;
  const auto known = state ? (*state)->before : last_known(path);
  if (known == nullptr) return state;
  const auto& shown = known->kind == NodeState::Kind::kDamaged ? known->before : known;
  if (shown == nullptr || shown->kind == NodeState::Kind::kHidden) return state;
  auto copy = std::make_shared<NodeState>(*shown);
  copy->unread = state ? (*state)->error : state.error();
  return copy;
}

/// Programs that have opened an array take chunks that vanish with it for the fill value.
bool NodeCache::was_shown(const std::string& path) {
  const auto before = last_known(path);
  if (before != nullptr && before->kind == NodeState::Kind::kDamaged) return true;
  const HeldLock lock(mutex_);
  return shown_arrays_.contains(digest_of(path));
}

std::shared_ptr<const NodeState> NodeCache::valid(const std::string& path) {
  const HeldLock lock(mutex_);
  const auto found = entries_.find(path);
  if (found == entries_.end()) return nullptr;
  Kept& entry = found->second;
  if (!shared_.options.immutable && Clock::now() - entry.checked >= kValidity) return nullptr;
  uses_.splice(uses_.begin(), uses_, entry.use);
  return entry.state;
}

std::shared_ptr<const NodeState> NodeCache::stale(const std::string& path) {
  const HeldLock lock(mutex_);
  const auto found = entries_.find(path);
  if (found == entries_.end()) return nullptr;
  const Kept& entry = found->second;
  const bool without_document = !entry.state->has_document();
  if (shared_.store->shows_what_was_seen()) return entry.state;
  if (without_document && Clock::now() - entry.loaded >= kPassThroughValidity) return nullptr;
  return entry.state;
}

Result<bool> NodeCache::unchanged(const NodeState& state) {
  ZARRFS_TRY(const auto document, shared_.store->status(join_path(state.path, "zarr.json")));
  if (state.has_document()) return document && identity_of(*document) == state.node.document;
  if (document) return false;
  ZARRFS_TRY(const auto directory, shared_.store->status(state.path));
  return directory && S_ISDIR(directory->st_mode) && directory->st_ino == state.node.status.st_ino;
}

void NodeCache::drop(const std::string& path) {
  const auto found = entries_.find(path);
  if (found == entries_.end()) return;
  bytes_ -= found->second.bytes;
  uses_.erase(found->second.use);
  entries_.erase(found);
}

/// Unless documents were changed since `epoch`: then what was read before is not kept.
void NodeCache::keep(const std::shared_ptr<const NodeState>& state, std::uint64_t epoch) {
  const HeldLock lock(mutex_);
  if (state->kind == NodeState::Kind::kArray && shown_arrays_.size() < kMostShown) {
    shown_arrays_.insert(digest_of(state->path));
  }
  if (epoch_.load() != epoch) return;
  drop(state->path);
  if (state->kind == NodeState::Kind::kAbsent) return;
  uses_.push_front(state->path);
  const auto now = Clock::now();
  const std::uint64_t bytes = bytes_of(*state);
  entries_.emplace(state->path, Kept{state, now, now, uses_.begin(), bytes});
  bytes_ += bytes;
  while (bytes_ > shared_.options.node_memory && entries_.size() > kLeastNodes) {
    drop(std::string(uses_.back()));
  }
}

std::uint64_t NodeCache::bytes() {
  const HeldLock lock(mutex_);
  return bytes_;
}

void NodeCache::touch(const std::string& path) {
  const HeldLock lock(mutex_);
  const auto found = entries_.find(path);
  if (found != entries_.end()) found->second.checked = Clock::now();
}

Result<std::shared_ptr<const NodeState>> NodeCache::build(const std::string& path, Node node) {
  auto state = std::make_shared<NodeState>();
  state->path = path;
  state->node = std::move(node);
  if (state->node.group != nullptr || state->node.array != nullptr) {
    ZARRFS_TRY(state->netcdf_wrote, netcdf_wrote(path, state->node.group.get()));
    state->as_netcdf_wrote = state->netcdf_wrote && shared_.shows_as_netcdf_wrote();
  }
  ZARRFS_TRY(state->in_image, is_in_image(path, state->node));
  switch (state->node.kind) {
    case Node::Kind::kGroup:
      state->kind = NodeState::Kind::kGroup;
      if (shared_.profile.numbered_levels && is_ome(state->node.group->attributes)) {
        ZARRFS_TRY(const auto family, family_of(path));
        state->levels = family->levels;
      }
      add_group_documents(
          *state, shared_,
          state->as_netcdf_wrote ? as_netcdf_wrote(shared_.profile) : shared_.profile);
      break;
    case Node::Kind::kArray: ZARRFS_CHECK(build_array(*state)); break;
    case Node::Kind::kDamaged:
      state->kind = NodeState::Kind::kDamaged;
      state->error = state->node.error;
      break;
    case Node::Kind::kUnsupported: hide(*state, state->node.error); break;
    case Node::Kind::kPlain: {
      ZARRFS_TRY(const bool leads, leads_to_node(*shared_.store, path));
      state->kind = leads ? NodeState::Kind::kImplicitGroup : NodeState::Kind::kPassThrough;
      if (leads) add_group_documents(*state, shared_, shared_.profile);
      break;
    }
    case Node::Kind::kFile:
    case Node::Kind::kAbsent: state->kind = NodeState::Kind::kAbsent; break;
  }
  const bool vanishes = state->kind == NodeState::Kind::kHidden && was_shown(path);
  if (vanishes) state->kind = NodeState::Kind::kDamaged;
  if (state->kind == NodeState::Kind::kDamaged) {
    const auto before = last_known(path);
    const bool array = before != nullptr && before->kind == NodeState::Kind::kArray;
    state->before = before == nullptr || array ? before : before->before;
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
  state.shown.path = state.path;
  state.shown.status = node.status;
  state.shown.reader = std::make_shared<ArrayReader>(
      shared_.store, state.path, node.array, node.layout, shared_.indexes, shared_.counters);
  state.shown.cells =
      std::make_shared<ShardDirectory>(shared_.store, state.path, node.array->key_encoding,
                                       node.layout->grid().counts(), shared_.listings);
  ZARRFS_TRY(ArrayCircumstances circumstances, circumstances_of(state));
  state.profile = &shared_.profile_for(state.path);
  const auto present = [&] {
    state.shown.presentation = present_array(state.path, node.array, node.layout, *state.profile,
                                             shared_.options, circumstances);
  };
  present();
  if (state.shown.presentation.hidden && shared_.profile_of_others && !state.in_image) {
    state.profile = &*shared_.profile_of_others;
    present();
  }
  const bool passes_bytes = state.shown.presentation.rule == ByteRule::kVerbatim ||
                            state.shown.presentation.rule == ByteRule::kTrim;
  if (!state.shown.presentation.hidden && passes_bytes &&
      shared_.options.format == ViewFormat::kV2 &&
      sampled_zstd_lacks_size(*state.shown.reader, *state.shown.cells)) {
    circumstances.zstd_without_size = true;
    present();
  }
  this->present(state);
  return state.kind == NodeState::Kind::kArray ? number(state) : Result<void>{};
}

Result<ArrayCircumstances> NodeCache::circumstances_of(const NodeState& array) {
  ArrayCircumstances circumstances;
  if (shared_.options.format != ViewFormat::kV2) return circumstances;
  circumstances.names_dropped = shared_.written.is(array.path, WrittenDocuments::Fact::kUnnamed);
  circumstances.mark_dropped = shared_.written.is(array.path, WrittenDocuments::Fact::kUndeclared);
  circumstances.made_here = shared_.written.is(array.path, WrittenDocuments::Fact::kMade);
  circumstances.netcdf_wrote = array.as_netcdf_wrote;
  if (circumstances.netcdf_wrote) return circumstances;
  if (shared_.profile_for(array.path).unique_dimensions) circumstances.dimensions = dimensions();
  if (array.path.empty()) return circumstances;
  ZARRFS_TRY(const auto family, family_of(parent_path(array.path)));
  circumstances.in_ome_image = family->ome_image;
  circumstances.image_level = family->image_levels.contains(array.path);
  if (array.node.array->shape.empty() && !circumstances.made_here) {
    // zarr-python 3 writes no names where there are no axes: they are none then, not unknown.
    ZARRFS_TRY(const bool named, has_names_in(*shared_.store, parent_path(array.path)));
    if (named) circumstances.dimensions = std::make_shared<const DimensionNames>();
  }
  const auto& names = array.node.array->dimension_names;
  // While arrays that were made here grow, one after the other, their names are what they were.
  circumstances.omit_dimension_names =
      !circumstances.made_here &&
      std::any_of(names.begin(), names.end(), [&family](const auto& name) {
        return name && family->ambiguous_names.contains(*name);
      });
  const std::string name = last_name(array.path);
  if (const std::string shown = family->levels.shown(name); shown != name) {
    circumstances.shown_name = shown;
  }
  return circumstances;
}

/// Whether the node at `path`, with these attributes if it is a group, is in a data set that
/// netCDF-C wrote.
Result<bool> NodeCache::netcdf_wrote(const std::string& path, const GroupMetadata* group) {
  if (shared_.options.format != ViewFormat::kV2) return false;
  if (group != nullptr && is_netcdf_root(group->attributes)) return true;
  if (path.empty()) return false;
  ZARRFS_TRY(const auto above, get(parent_path(path)));
  return above->netcdf_wrote;
}

Result<bool> NodeCache::is_in_image(const std::string& path, const Node& node) {
  if (!shared_.profile_of_others || node.kind == Node::Kind::kAbsent) return false;
  const Json attributes = node.group == nullptr ? Json() : *node.group->attributes;
  if (is_ome(attributes) || is_ome04(attributes)) return true;
  if (path.empty()) return false;
  ZARRFS_TRY(const auto above, get(parent_path(path)));
  return above->in_image;
}

void NodeCache::present(NodeState& state) {
  const Presentation& shown = state.shown.presentation;
  const TextStyle style =
      shared_.style_for(shown.array == nullptr ? Json() : *shown.array->attributes,
                        !state.as_netcdf_wrote && state.profile->ascii);
  if (shown.hidden) return hide(state, {Fault::kUnsupported, shown.reason});
  const auto chunks = checked_product(shown.chunk_counts);
  if (!chunks || *chunks > kMaxChunks) {
    return hide(state, {Fault::kUnsupported, "more than 2^48 chunks would be shown"});
  }
  if (shared_.options.format == ViewFormat::kV3) {
    state.documents.push_back({"zarr.json", text_of(shown.document, style, kAttributesPointer)});
    return;
  }
  if (!shared_.options.separator) {
    Json& spelled = state.shown.presentation.document;
    spelled = shared_.written.spell(state.path, std::move(spelled));
    state.shown.presentation.keys.separator = separator_in(spelled);
  }
  state.documents.push_back(
      {".zarray", text_of(shown.document, {.ascii = style.ascii, .bare = {}})});
  state.documents.push_back({".zattrs", text_of(shown.attributes, style)});
}

Result<void> NodeCache::number(NodeState& state) {
  const Presentation& shown = state.shown.presentation;
  state.shown.names = ChunkNames(shown.keys, shown.chunk_counts);
  const FileIdentity& document = state.node.document;
  state.generation = mix_numbers(document.inode, static_cast<std::uint64_t>(document.mtime_ns));
  state.generation = mix_numbers(state.generation, moves_above(state.path));
  state.generation = mix_numbers(state.generation, digest_of(dump_json(shown.document)));
  state.generation = mix_numbers(state.generation, static_cast<std::uint64_t>(shown.rule));
  state.shown.versions = shared_.options.immutable ? nullptr : versions_of(state);
  ZARRFS_TRY(state.numbers,
             shared_.numbers.range_of(state.path, state.generation, state.shown.names.nodes(),
                                      state.shown.versions != nullptr));
  return {};
}

Result<std::shared_ptr<const NodeCache::Family>> NodeCache::family_of(
    const std::string& group_path) {
  {
    const HeldLock lock(mutex_);
    const auto found = families_.find(group_path);
    if (found != families_.end() &&
        (shared_.options.immutable || Clock::now() - found->second.loaded < kValidity)) {
      return found->second.family;
    }
  }
  ZARRFS_TRY(Family loaded, load_family(group_path));
  ZARRFS_CHECK(check_wanted());
  auto family = std::make_shared<const Family>(std::move(loaded));
  const HeldLock lock(mutex_);
  if (families_.size() >= kMaxFamilies) families_.clear();
  families_[group_path] = {family, Clock::now()};
  return family;
}

Result<NodeCache::Family> NodeCache::load_family(const std::string& group_path) {
  Family family;
  ZARRFS_TRY(const Node group, load_node(*shared_.store, group_path));
  if (group.group != nullptr) {
    family.ome_image = is_ome(group.group->attributes) || is_ome04(group.group->attributes);
    ZARRFS_TRY(family.levels, levels_of(group_path, *group.group));
  }
  ZARRFS_TRY(family.image_levels, image_levels_in(*shared_.store, group_path));
  const auto listed = shared_.store->list(group_path);
  if (!listed && listed.error().fault == Fault::kUnsupported) return family;  // nothing tells names
  if (!listed) return fail(listed.error());
  const auto& entries = *listed;
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

Result<LevelNames> NodeCache::levels_of(const std::string& group_path, const GroupMetadata& group) {
  const bool asked = shared_.profile.numbered_levels && shared_.options.format == ViewFormat::kV2;
  if (!asked || group_path.empty() || !is_ome(group.attributes)) return LevelNames();
  const Json& ome = group.attributes["ome"];
  if (!ome.contains("multiscales")) return LevelNames();
  ZARRFS_TRY(const Node well, load_node(*shared_.store, parent_path(group_path)));
  const bool in_plate = well.group != nullptr && is_ome(well.group->attributes) &&
                        well.group->attributes["ome"].contains("well");
  if (!in_plate) return LevelNames();
  LevelNames levels = LevelNames::numbered(ome["multiscales"]);
  for (const std::string& name : levels.all_shown()) {
    ZARRFS_TRY(const auto taken, shared_.store->status(join_path(group_path, name)));
    if (taken) return LevelNames();
  }
  return levels;
}

std::shared_ptr<const DimensionNames> NodeCache::dimensions() {
  {
    const HeldLock lock(mutex_);
    if (dimensions_ != nullptr && (shared_.options.immutable || Clock::now() < dimensions_until_)) {
      return dimensions_;
    }
  }
  const auto begun = Clock::now();
  auto names = std::make_shared<DimensionNames>();
  const Survey survey = survey_store(*shared_.store, kNodesForDimensions);
  // Of what was not looked at nothing is known: there every dimension has its length in its name.
  if (survey.whole) {
    for (const Survey::Array& array : survey.arrays) names->add(*array.node.array);
  }
  if (request_ended()) return names;  // it was a part of them
  const auto done = Clock::now();
  const HeldLock lock(mutex_);
  dimensions_ = std::move(names);
  dimensions_until_ = done + std::max<Clock::duration>(kValidity, (done - begun) * kRestPerScan);
  return dimensions_;
}

/// How often the directory at `path`, and those above it, were moved away.
std::uint64_t NodeCache::moves_above(const std::string& path) const {
  std::uint64_t moves = 0;
  for (std::string at = path; !at.empty(); at = parent_path(at)) {
    moves += moves_[digest_of(at) % moves_.size()];
  }
  return moves;
}

std::shared_ptr<const ArrayVersions> NodeCache::versions_of(const NodeState& state) {
  if (shared_.options.writing) {
    const HeldLock lock(mutex_);
    if (names_.size() >= kMaxGenerations) names_.clear();
    names_.emplace(state.generation, state.shown.names);
  }
  return std::make_shared<const ArrayVersions>(
      shared_.versions, mix_numbers(digest_of(state.path), state.generation));
}

std::shared_ptr<const NodeState> NodeCache::last_known(const std::string& path) {
  const HeldLock lock(mutex_);
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : found->second.state;
}

Result<char> NodeCache::separator_of_new(const std::string& path) {
  const Profile& profile = shared_.profile_of_made.value_or(shared_.profile);
  if (profile.separator) return *profile.separator;
  if (path.empty()) return '.';
  ZARRFS_TRY(const auto above, get(parent_path(path)));
  return above->in_image ? '/' : '.';
}

std::optional<ChunkOrPrefix> NodeCache::earlier_part(std::uint64_t generation,
                                                     std::uint64_t offset) {
  const HeldLock lock(mutex_);
  const auto names = names_.find(generation);
  if (names == names_.end() || offset >= names->second.nodes()) return std::nullopt;
  return names->second.part_of(offset);
}

void NodeCache::forget() {
  const HeldLock lock(mutex_);
  ++epoch_;
  entries_.clear();
  uses_.clear();
  bytes_ = 0;
  families_.clear();
  dimensions_.reset();
}

void NodeCache::moved_away(const std::string& path) {
  ++moves_[digest_of(path) % moves_.size()];
  forget();
}

std::string NodeCache::reason_of(const NodeState& state) const {
  const std::string& reason = state.shown.presentation.reason;
  if (!shared_.written.is(state.path, WrittenDocuments::Fact::kMarked)) return reason;
  return (reason.empty() ? "" : reason + "; ") + std::string(kMarked);
}

void NodeCache::report(const NodeState& state) {
  switch (state.kind) {
    case NodeState::Kind::kArray:
      return shared_.reporter.shown(state.path, shown_as(state.shown.presentation.rule),
                                    reason_of(state));
    case NodeState::Kind::kHidden:
      return shared_.reporter.shown(state.path, ShownAs::kHidden, state.error.message);
    case NodeState::Kind::kDamaged:
      return shared_.reporter.shown(state.path, ShownAs::kDamaged, state.error.message);
    default: return report_group(state);
  }
}

void NodeCache::report_group(const NodeState& state) {
  const bool as_04 = shared_.profile.ome04 && shared_.options.format == ViewFormat::kV2;
  const GroupMetadata* group = as_04 ? state.node.group.get() : nullptr;
  const Ome04Lacks lacks = group != nullptr ? ome04_lacks(group->attributes) : Ome04Lacks();
  if (lacks.text.empty()) return shared_.reporter.forget(state.path);
  shared_.reporter.shown(state.path, ShownAs::kReduced, lacks.text);
}

}  // namespace zarrfs
