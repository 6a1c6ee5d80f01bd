#include "core/nodes/metadata_editor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_numbers.h"
#include "core/base/printable.h"
#include "core/chunks/chunk_lister.h"
#include "core/chunks/chunk_names.h"
#include "core/log/whole_file.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_metadata.h"
#include "core/metadata/v2_note.h"
#include "core/nodes/array_document.h"
#include "core/nodes/kept_notes.h"
#include "core/present/attributes.h"
#include "core/present/cf_mask.h"
#include "core/zarr/zvf.h"

namespace zarrfs {

namespace {
constexpr const char* kDocument = "zarr.json";
constexpr const char* kAttributes = ".zattrs";
constexpr const char* kConsolidated = ".zmetadata";
constexpr const char* kFillMember = "fill_value";

tl::unexpected<Error> invalid(const std::string& path, const std::string& name,
                              const std::string& what) {
  return fail(Fault::kInvalid, "/" + join_path(path, name) + ": " + what);
}

}  // namespace

Result<void> MetadataEditor::write(const std::string& path, const std::string& name, ByteView text,
                                   ExclusiveCreation alone) {
  auto taken = take(path, name, text, std::move(alone));
  // A shell closes a copy of its descriptor before it writes: what is empty then is no document
  // yet.
  return text.empty() ? taken : noted(path, name, std::move(taken));
}

Result<void> MetadataEditor::check(const std::string& path, const std::string& name,
                                   ByteView text) {
  return noted(path, name, check_unnoted(path, name, text));
}

Result<void> MetadataEditor::noted(const std::string& path, const std::string& name,
                                   Result<void> result) {
  if (!result) shared_.refusals.add(path, name, result.error());
  return result;
}

Result<void> MetadataEditor::take(const std::string& path, const std::string& name, ByteView text,
                                  ExclusiveCreation alone) {
  const std::lock_guard lock(change_mutex_);
  if (name == kConsolidated) {  // made anew from the tree at each read
    ZARRFS_CHECK(note_consolidated(path));
    overlay_.wrote_document(path, name);
    return {};
  }
  const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
  auto json = parse_first_json(characters, "/" + join_path(path, name));
  if (!json) return fail(Fault::kInvalid, json.error().message);
  if (!json->is_object()) return invalid(path, name, "is not a JSON object");
  ZARRFS_CHECK(check_attributes(path, name, characters));
  if (name == kAttributes) note_spelling(characters, *json);
  if (name == kDocument && json->contains(kAttributeMember)) {
    note_spelling(characters, (*json)[kAttributeMember], kAttributesPointer);
  }
  auto written = again_where_stale([&] { return write_json(path, name, *json); });
  if (alone.owns_lock()) alone.unlock();
  auto placed = orphan_chunks_.place(path);
  if (!written) return written;
  overlay_.wrote_document(path, name);
  return placed;
}

Result<void> MetadataEditor::note_consolidated(const std::string& path) {
  ZARRFS_TRY(const auto state, nodes_.get(path));
  if (!state->as_netcdf_wrote || state->kind != NodeState::Kind::kGroup) return {};
  Json document = state->node.group->document;
  Json attributes = state->node.group->attributes;
  note(kNotedConsolidated, true, attributes);
  if (same_json(attributes, state->node.group->attributes)) return {};
  document.erase("consolidated_metadata");
  document["attributes"] = std::move(attributes);
  auto written = write_group(*state, document);
  forget();
  return written;
}

Result<void> MetadataEditor::check_unnoted(const std::string& path, const std::string& name,
                                           ByteView text) {
  if (name == kConsolidated) return {};
  const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
  const auto json = parse_first_json(characters, name);
  if (!json || !json->is_object() || json->empty()) return {};  // `{}` is a beginning
  ZARRFS_CHECK(check_integers_of(path, name, characters));
  const auto state = nodes_.get(path);
  if (!state || !(*state)->takes_documents()) return {};
  ZARRFS_CHECK(check_place(**state, name));
  return shared_.options.format == ViewFormat::kV2 ? check_v2(**state, name, *json)
                                                   : check_v3(**state, *json);
}

Result<void> MetadataEditor::check_v2(const NodeState& state, const std::string& name,
                                      const Json& written) {
  const bool of_group = state.kind != NodeState::Kind::kArray && name != ".zarray";
  if (of_group) ZARRFS_CHECK(netcdf_arrays_.check(state.path, written));
  if (name == kAttributes) return {};
  ZARRFS_CHECK(check_format(state, name, written, 2));
  if (name == ".zgroup") return {};
  // A program that is writing them may not be at their end: what is no document is told at the
  // close.
  const auto early = early_attributes(state);
  ZARRFS_TRY(const WrittenArray array, understand(state, written, early ? *early : Json()));
  const bool known = state.kind == NodeState::Kind::kArray;
  if (known && same_but_shape(array.plain, array.shown)) return {};
  return checked_new_array(state, array.plain).map([](const NewArray&) {});
}

Result<void> MetadataEditor::check_v3(const NodeState& state, const Json& written) {
  ZARRFS_CHECK(check_format(state, kDocument, written, 3));
  const Json type = written.value("node_type", Json());
  if (type == "group") return {};
  if (type != "array") return invalid(state.path, kDocument, "node_type is " + dump_json(type));
  const bool known = state.kind == NodeState::Kind::kArray;
  if (known && same_but_shape(written, state.shown.presentation.document)) return {};
  return checked_new_array(state, written).map([](const NewArray&) {});
}

Result<void> MetadataEditor::check_format(const NodeState& state, const std::string& name,
                                          const Json& written, int format) {
  if (written.value("zarr_format", Json()) == format) return {};
  return invalid(state.path, name, "zarr_format is not " + std::to_string(format));
}

Result<void> MetadataEditor::write_json(const std::string& path, const std::string& name,
                                        const Json& json) {
  ZARRFS_TRY(const auto state, nodes_.get(path));
  switch (state->kind) {
    case NodeState::Kind::kDamaged: return fail(state->error);
    case NodeState::Kind::kHidden:
      return fail(Fault::kExists, "/" + path + " is not shown: " + state->error.message);
    case NodeState::Kind::kAbsent: return fail(Fault::kStale, "/" + path + " is gone");
    default: break;
  }
  ZARRFS_CHECK(check_place(*state, name));
  const bool v2 = shared_.options.format == ViewFormat::kV2;
  auto written = v2 ? write_v2(*state, name, json) : write_v3(*state, json);
  forget();
  return written;
}

/// No view shows a node in an array, and no reader of Zarr looks for one.
Result<void> MetadataEditor::check_place(const NodeState& state, const std::string& name) {
  if (state.has_document() || state.path.empty()) return {};
  for (std::string above = parent_path(state.path);; above = parent_path(above)) {
    ZARRFS_TRY(const auto node, nodes_.get(above));
    if (node->kind == NodeState::Kind::kArray) {
      return invalid(state.path, name,
                     "is in the array /" + above + ", which can hold no other node");
    }
    if (above.empty()) return {};
  }
}

Result<void> MetadataEditor::check_integers_of(const std::string& path, const std::string& name,
                                               std::string_view text) {
  if (name != kAttributes && name != kDocument) return {};
  return check_integers(text, name == kDocument ? "attributes" : "", "/" + join_path(path, name));
}

/// Attributes are kept as they are written, or refused.
Result<void> MetadataEditor::check_attributes(const std::string& path, const std::string& name,
                                              std::string_view text) const {
  if (name != kAttributes && name != kDocument) return {};
  ZARRFS_CHECK(check_integers_of(path, name, text));
  const std::string called = "/" + join_path(path, name);
  if (quote_bare_numbers(text) != text) {
    shared_.options.log(
        ViewOptions::Level::kWarning,
        called + ": NaN and Infinity, which JSON has no numbers for, become strings");
  }
  return {};
}

Result<void> MetadataEditor::write_v2(const NodeState& state, const std::string& name,
                                      const Json& written) {
  if (name == kAttributes) return write_attributes(state, written);
  ZARRFS_CHECK(check_format(state, name, written, 2));
  if (name == ".zgroup") return write_zgroup(state, written);
  ZARRFS_TRY(const Json early, early_attributes(state));
  ZARRFS_TRY(const WrittenArray array, understand(state, written, early));
  Json plain = array.plain;
  const bool known = state.kind == NodeState::Kind::kArray;
  if (known) keep_unsaid(state, array.zarray, plain);
  ZARRFS_CHECK(marks_.take_zarray(state, array.zarray, array.shown, plain));
  ZARRFS_CHECK(write_array(state, plain, array.shown));
  if (known && same_but_shape(plain, array.shown)) {
    ZARRFS_CHECK(marks_.store(state, plain));
    ZARRFS_CHECK(store_unsaid(state, array.zarray));
    note_renamed(state, array.zarray);
  }
  shared_.written.set(state.path, array.zarray);
  return {};
}

/// Notes whether chunks are listed by their other names from here on.
void MetadataEditor::note_renamed(const NodeState& state, const Json& zarray) {
  if (shared_.options.separator) return;
  const bool nested = separator_in(zarray) == '/';
  if (state.shown.names.two_names() && nested != state.shown.names.nested()) {
    shared_.written.note(state.path, WrittenDocuments::Fact::kRenamed);
  }
}

Result<bool> MetadataEditor::is_written_by_netcdf(const NodeState& state) {
  if (state.netcdf_wrote || state.path.empty()) return state.netcdf_wrote;
  ZARRFS_TRY(const auto above, nodes_.get(parent_path(state.path)));
  return above->netcdf_wrote;
}

/// `.zarray` as its writer means it, with the attributes that came before it.
Result<MetadataEditor::WrittenArray> MetadataEditor::understand(const NodeState& state,
                                                                const Json& written,
                                                                const Json& early) {
  WrittenArray array{.zarray = written, .plain = {}, .shown = {}};
  ZARRFS_TRY(const bool netcdf_writes, is_written_by_netcdf(state));
  if (netcdf_writes || is_netcdf_zarray(written)) {
    if (const std::string why = why_not_kept(written); !why.empty()) {
      return invalid(state.path, ".zarray", why);
    }
    array.zarray = common_words(written);
  }
  const bool known = state.kind == NodeState::Kind::kArray;
  if (known) {
    const Json& shown = state.shown.presentation.document;
    const Json fill = shown.value(kFillMember, Json());
    if (is_netcdf_print(written.value(kFillMember, Json()), fill)) array.zarray[kFillMember] = fill;
    if (auto same = v3_document_of_v2(shown, Json(), state.path)) array.shown = std::move(*same);
  }
  auto plain = v3_document_of_v2(array.zarray, known ? Json() : early, state.path);
  if (!plain) return fail(Fault::kInvalid, "/" + plain.error().message);
  array.plain = std::move(*plain);
  note_fill(array.zarray, array.plain["attributes"]);
  ZARRFS_TRY(const char separator, nodes_.separator_of_new(state.path));
  note_separator(array.zarray, separator, array.plain["attributes"]);
  return array;
}

/// What `zarray` says to attributes of the array that is stored.
void MetadataEditor::take_unsaid(const NodeState& state, const Json& zarray, Json& attributes) {
  take_nczarr_members(zarray, attributes);
  const Json& shown = state.shown.presentation.document;
  const bool as_shown =
      same_json(zarray.value(kFillMember, Json()), shown.value(kFillMember, Json()));
  if (!as_shown) note_fill(zarray, attributes);
  note_separator(zarray, state.shown.presentation.keys.separator, attributes);
}

Result<void> MetadataEditor::store_unsaid(const NodeState& state, const Json& zarray) {
  Json attributes = state.node.array->attributes;
  take_unsaid(state, zarray, attributes);
  if (same_json(attributes, state.node.array->attributes)) return {};
  return documents_.edit_array(
      state.path, [&](Json& document) { take_unsaid(state, zarray, document["attributes"]); });
}

Result<void> MetadataEditor::write_zgroup(const NodeState& state, const Json& written) {
  if (state.kind == NodeState::Kind::kGroup) {
    Json document = state.node.group->document;
    Json attributes = state.node.group->attributes;
    take_nczarr_members(written, attributes);
    if (same_json(attributes, state.node.group->attributes)) return {};
    document.erase("consolidated_metadata");
    document["attributes"] = std::move(attributes);
    return write_group(state, document);
  }
  ZARRFS_TRY(Json attributes, early_attributes(state));
  take_nczarr_members(written, attributes);
  return write_group(state, group_of(std::move(attributes)));
}

/// What `.zarray` has no words for stays as it is stored.
void MetadataEditor::keep_unsaid(const NodeState& state, const Json& zarray, Json& plain) const {
  plain["attributes"] = state.node.array->attributes;
  take_unsaid(state, zarray, plain["attributes"]);
  for (const auto& [name, value] : state.node.array->document->items()) {
    if (plain.contains(name)) continue;
    if (name == "dimension_names" && value.size() != plain["shape"].size()) {
      shared_.options.log(ViewOptions::Level::kWarning,
                          "/" + state.path + ": its dimension names " + dump_json(value) +
                              " are dropped: the array has another number of dimensions now");
    } else {
      plain[name] = value;
    }
  }
}

Result<void> MetadataEditor::write_v3(const NodeState& state, const Json& written) {
  ZARRFS_CHECK(check_format(state, kDocument, written, 3));
  const Json type = written.value("node_type", Json());
  if (type == "group") {
    Json document = written;
    document.erase("consolidated_metadata");  // it is of the view, not of the store
    if (state.node.group != nullptr) {
      keep_note(spelled_attributes(state, kDocument), state.node.group->attributes, document);
    }
    return write_group(state, document);
  }
  if (type != "array") return invalid(state.path, kDocument, "node_type is " + dump_json(type));
  if (state.kind != NodeState::Kind::kArray) return write_array(state, written, Json());
  const Json& shown = state.shown.presentation.document;
  if (!finds_chunks_as_named(written, shown)) return make_array(state, written);
  ZARRFS_CHECK(write_array(state, written, shown));
  if (!same_but_shape(written, shown)) return {};  // replaced as a whole
  const Json shown_attributes = spelled_attributes(state, kDocument);
  return documents_.edit_array(state.path, [&](Json& document) {
    const Json before = document.value(kAttributeMember, Json::object());
    for (const char* member : {kAttributeMember, "dimension_names"}) {
      document.erase(member);
      if (written.contains(member)) document[member] = written[member];
    }
    keep_note(shown_attributes, before, document);
  });
}

Result<void> MetadataEditor::write_group(const NodeState& state, const Json& document) {
  if (state.kind == NodeState::Kind::kArray) {
    ZARRFS_CHECK(check_replaceable(state));
    ZARRFS_CHECK(finish_removals(state.path));
  }
  if (shared_.options.format == ViewFormat::kV2) {
    const Json attributes = document.value("attributes", Json());
    ZARRFS_CHECK(netcdf_arrays_.take(state.path, attributes));
    ZARRFS_CHECK(marks_.take_group(state.path, attributes));
  }
  ZARRFS_CHECK(documents_.put(state.path, document, state.node.document));
  return remove_early_documents(state);
}

Result<void> MetadataEditor::write_array(const NodeState& state, const Json& plain,
                                         const Json& shown) {
  if (state.kind == NodeState::Kind::kArray && same_but_shape(plain, shown)) {
    ZARRFS_TRY(const auto shape, shape_of(plain, state.path));
    return resize(state, shape);
  }
  return make_array(state, plain);
}

Result<void> MetadataEditor::make_array(const NodeState& state, const Json& plain) {
  ZARRFS_CHECK(check_replaceable(state));
  ZARRFS_TRY(const NewArray made, checked_new_array(state, plain));
  ZARRFS_CHECK(finish_removals(state.path));
  if (!state.has_document()) ZARRFS_CHECK(orphan_chunks_.park(state.path));
  shared_.written.note(state.path, WrittenDocuments::Fact::kMade);
  shared_.written.note(state.path, WrittenDocuments::Fact::kRenamed, false);
  ZARRFS_CHECK(documents_.put(state.path, made.document, state.node.document));
  return remove_early_documents(state);
}

Result<NewArray> MetadataEditor::checked_new_array(const NodeState& state, const Json& plain) {
  ZARRFS_TRY(NewArray made, array_to_store(plain, state.path, shared_.options));
  ArrayCircumstances circumstances;
  ZARRFS_TRY(const bool netcdf_writes, is_written_by_netcdf(state));
  circumstances.netcdf_wrote = netcdf_writes && shared_.shows_as_netcdf_wrote();
  const Profile& profile = shared_.profile_of_made.value_or(shared_.profile);
  ZARRFS_CHECK(check_shown_as_written(made, state.path, profile, shared_.options, circumstances));
  return made;
}

/// The shards of an array without chunks go before another node takes its place, which would have
/// them for its own.
Result<void> MetadataEditor::finish_removals(const std::string& path) {
  ZARRFS_CHECK(shared_.writes->commit_below(path));
  return shared_.writes->drop_below(path);
}

Result<void> MetadataEditor::resume() {
  const std::lock_guard lock(change_mutex_);
  auto done = orphan_chunks_.place_left();
  forget();
  return done;
}

Result<void> MetadataEditor::resize(const NodeState& state,
                                    const std::vector<std::uint64_t>& shape) {
  const ArrayMetadata& array = *state.node.array;
  if (shape == array.shape) return {};
  const bool regular = array.document["chunk_grid"].is_object() &&
                       array.document["chunk_grid"].value("name", Json()) == "regular" &&
                       state.node.layout->regular();
  if (!regular)
    return invalid(state.path, "shape", "an array with irregular chunks keeps its shape");
  Json document = array.document;
  document["shape"] = shape;
  auto resized = parse_array(document, state.path);
  if (resized) {
    auto layout = Layout::make(*resized);
    if (!layout) return fail(Fault::kInvalid, layout.error().message);
  } else {
    return fail(Fault::kInvalid, resized.error().message);
  }
  bool shrinks = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    shrinks = shrinks || shape[axis] < array.shape[axis];
  }
  if (shrinks) ZARRFS_CHECK(chunks_.remove_outside(state.shown, shape));
  return documents_.edit_array(state.path, [&](Json& latest) { latest["shape"] = shape; });
}

Result<void> MetadataEditor::write_attributes(const NodeState& state, const Json& written) {
  // What a program never saw it does not write back.
  const bool unseen = overlay_.hides(state.path, kAttributes, true);
  const Json shown = unseen ? Json::object() : spelled_attributes(state, kAttributes);
  if (state.kind == NodeState::Kind::kArray) {
    Json meant = written;
    spell_mark_as_shown(state.node.array->type, shown, meant);
    return marks_.take_zattrs(state, meant, !unseen, [&](Json& document) {
      take_array_attributes(unseen ? shown : *state.shown.presentation.attributes,
                            without_note(meant), *state.profile, document);
      Json attributes = document.value("attributes", Json::object());
      take_spelling(shown, meant, attributes);
      if (!attributes.empty() || document.contains("attributes")) {
        document["attributes"] = std::move(attributes);
      }
      take_dimensions_of_netcdf(document);
    });
  }
  if (state.node.group == nullptr) return write_group(state, group_of(written));
  Json document = state.node.group->document;
  document.erase("consolidated_metadata");
  Json attributes =
      ungroup_attributes(without_note(written), *state.node.group, shared_.profile, state.levels);
  take_spelling(shown, written, attributes);
  if (!attributes.empty() || document.contains("attributes")) {
    document["attributes"] = std::move(attributes);
  }
  return write_group(state, document);
}

Result<void> MetadataEditor::clear_attributes(const std::string& path) {
  const std::lock_guard lock(change_mutex_);
  ZARRFS_TRY(const auto state, nodes_.get(path));
  const bool array = state->kind == NodeState::Kind::kArray;
  const Json* attributes = array                          ? &*state->node.array->attributes
                           : state->node.group != nullptr ? &*state->node.group->attributes
                                                          : nullptr;
  if (attributes == nullptr || attributes->empty()) return {};
  auto cleared = write_attributes(*state, Json::object());
  forget();
  return cleared;
}

Result<bool> MetadataEditor::has_chunks(const NodeState& state) {
  if (state.kind != NodeState::Kind::kArray) return false;
  bool any = false;
  ChunkFinder finder(shared_);
  constexpr bool kStoredOnly = true;
  ZARRFS_CHECK(ChunkLister(state.shown, finder, kStoredOnly)
                   .list_flat(0, [&](const ChunkOrPrefix&, std::uint64_t) {
                     any = true;
                     return false;
                   }));
  return any;
}

Result<void> MetadataEditor::check_replaceable(const NodeState& state) {
  ZARRFS_TRY(const bool chunks, has_chunks(state));
  if (chunks) {
    return fail(Fault::kInvalid, "/" + state.path +
                                     ": only the shape and the attributes of an array that has "
                                     "chunks can be changed; remove it first");
  }
  const bool group =
      state.kind == NodeState::Kind::kGroup || state.kind == NodeState::Kind::kImplicitGroup;
  if (!group) return {};
  ZARRFS_TRY(const auto entries, shared_.store->list(state.path));
  for (const Entry& entry : entries ? *entries : std::vector<Entry>{}) {
    const bool node = entry.kind == EntryKind::kDirectory && !entry.name.starts_with(kLogDirectory);
    const bool taken_for_chunk = state.has_document() && looks_like_chunk(entry.name);
    if (node || taken_for_chunk) {
      return fail(Fault::kInvalid, "/" + state.path + ": a group that holds '" +
                                       printable(entry.name) + "' cannot become an array");
    }
  }
  return {};
}

Result<Json> MetadataEditor::early_attributes(const NodeState& state) {
  if (state.node.group != nullptr) return state.node.group->attributes;
  if (state.node.array != nullptr) return state.node.array->attributes;
  const std::string path = join_path(state.path, kAttributes);
  ZARRFS_TRY(const auto file, shared_.store->read_document(path, kMaxDocument));
  if (!file) return Json::object();
  auto attributes = parse_first_json(file->text, "/" + path);
  if (!attributes) return fail(Fault::kInvalid, attributes.error().message);
  note_spelling(file->text, *attributes);
  return attributes;
}

Result<void> MetadataEditor::remove_early_documents(const NodeState& state) {
  if (state.has_document()) return {};  // then the files, if there are any, are not ours: see above
  for (const char* name : {kAttributes, kConsolidated}) {
    const std::string path = join_path(state.path, name);
    ZARRFS_TRY(const auto there, shared_.store->status(path));
    if (!there) continue;
    ZARRFS_CHECK(shared_.store->remove(path));
    overlay_.wrote_document(state.path, name);
  }
  return {};
}

Result<void> MetadataEditor::remove_document(const std::string& path) {
  const std::lock_guard lock(change_mutex_);
  ZARRFS_TRY(const auto state, nodes_.get(path));
  ZARRFS_TRY(const bool chunks, has_chunks(*state));
  if (chunks) {  // without it they could not be read
    return fail(Fault::kNotEmpty, "/" + path +
                                      ": its document was removed, its chunks were not: both are "
                                      "kept");
  }
  auto removed = documents_.remove(path);
  forget();
  return removed;
}

Result<void> MetadataEditor::remove_node(const std::string& path) {
  const std::lock_guard lock(change_mutex_);
  ZARRFS_CHECK(shared_.writes->drop_below(path));
  auto removed = documents_.remove_node(path);
  if (removed) removed = orphan_chunks_.removed(path);
  forget();
  return removed;
}

Result<void> MetadataEditor::move(const std::string& from, const std::string& to,
                                  const std::function<Result<void>()>& rename) {
  const std::lock_guard lock(change_mutex_);
  ZARRFS_CHECK(shared_.writes->commit_below(from));
  for (const LeftDraft& left : shared_.writes->left()) {
    if (!is_at_or_below(left.array_path, from)) continue;
    return fail(Fault::kBusy, "/" + from + " cannot be moved: in /" + left.array_path +
                                  " a chunk is not published: " + left.reason);
  }
  auto moved = documents_.move(from, to, rename);
  if (moved) moved = orphan_chunks_.moved(from, to);
  forget();
  return moved;
}

Result<void> MetadataEditor::chunks_changed(const ChunkChanges& changes) {
  const std::string& path = changes.array_path;
  if (const auto known = nodes_.last_known(path);
      known != nullptr && known->node.array != nullptr &&
      !known->node.array->attributes->contains(kNonemptyChunks)) {
    return {};
  }
  ZARRFS_TRY(const auto state, nodes_.get(path));
  if (state->kind != NodeState::Kind::kArray) return {};
  const Json& before = state->node.array->attributes;
  if (!before.contains(kNonemptyChunks) || !before[kNonemptyChunks].is_array()) return {};
  std::vector<Coordinates> removed = changes.removed;
  std::vector<std::string> added;
  ChunkFinder finder(shared_);
  for (const Coordinates& chunk : changes.added) {
    ZARRFS_TRY(const auto found, finder.find(state->shown, chunk));
    bool empty = false;
    if (found && found->bytes && state->node.array->type.variable_length()) {
      ZARRFS_TRY(const Bytes stored, found->bytes->read());
      ZARRFS_TRY(const Bytes elements, state->node.layout->chunk_chain().decode(stored));
      empty = payload_is_empty(elements);
    }
    if (empty) {
      removed.push_back(chunk);
    } else {
      added.push_back(nonempty_name(before, chunk));
    }
  }
  auto edited = documents_.edit_array(path, [&](Json& document) {
    Json& attributes = document["attributes"];
    auto names = attributes[kNonemptyChunks].get<std::vector<std::string>>();
    for (const Coordinates& chunk : removed) {
      std::erase(names, nonempty_name(attributes, chunk));
    }
    names.insert(names.end(), added.begin(), added.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    attributes[kNonemptyChunks] = names;
  });
  forget();
  return edited;
}

}  // namespace zarrfs
