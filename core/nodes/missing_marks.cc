#include "core/nodes/missing_marks.h"

#include <algorithm>
#include <cstdint>

#include "core/base/json.h"
#include "core/metadata/v2_note.h"
#include "core/nodes/array_document.h"
#include "core/present/cf_mask.h"
#include "core/present/v2_types.h"

namespace zarrfs {

namespace {
constexpr const char* kFillValue = "fill_value";

Json mark_of(const Json& attributes) {
  return attributes.is_object() ? attributes.value(kFillAttribute, Json()) : Json();
}

void set_mark(Json& document, const Json& mark) {
  if (mark.is_null()) {
    document["attributes"].erase(kFillAttribute);
  } else {
    document["attributes"][kFillAttribute] = mark;
  }
}

/// Notes that a level of an image has `_ARRAY_DIMENSIONS`, though its names have other lengths in
/// other levels.
void note_dimensions(Json& document, bool written) {
  Json attributes = document.value("attributes", Json::object());
  note(kNotedDimensions, written ? Json(true) : Json(), attributes);
  if (!attributes.empty() || document.contains("attributes")) {
    document["attributes"] = std::move(attributes);
  }
}

/// What the `.zarray` that is shown has as its fill value.
Json shown_fill(const NodeState& state) {
  return state.shown.presentation.document->value(kFillValue, Json());
}

/// Whether `fill`, a value of `.zarray`, is the element `of`.
bool is_element(const ArrayMetadata& array, const Json& fill, ByteView of) {
  const auto element = fill_attribute(array.type, Json{{kFillAttribute, fill}});
  return element && same_mark(array.type, *element, of);
}

/// Whether the fill value that is shown says what `_FillValue` marks.
bool is_shown_as_fill(const NodeState& state) {
  const ArrayMetadata& array = *state.node.array;
  const auto mark = fill_attribute(array.type, array.attributes);
  return mark && is_element(array, shown_fill(state), *mark);
}

/// Whether attributes, by a program that may have `seen` what is shown, lack the names of axes in
/// it.
bool leaves_out_names(const NodeState& state, const Json& written, bool seen) {
  return seen && !written.contains(kDimensionsAttribute) &&
         state.shown.presentation.attributes->contains(kDimensionsAttribute);
}

/// To programs of Zarr v2, a mark that only repeats the fill value is that fill value: it is not
/// shown by itself, and goes with it.
bool is_one_with_fill(const ArrayMetadata& array) {
  return mark_repeats_fill(array) && !is_written_mark(array.attributes);
}
}  // namespace

/// Whether the user said, by the profile, that programs take fill values for missing data.
bool MissingMarks::profile_masks() const {
  const FillStyle style = shared_.profile.fill;
  const bool masks =
      style == FillStyle::kMask || style == FillStyle::kScalar || style == FillStyle::kDeclared;
  return masks && shared_.profile_because.empty();
}

/// Whether what this mount knows as the fill value of the array was given to it: the array was made
/// through this mount, or that was shown when its names were removed. Of others a `.zarray` that is
/// written, to resize them, repeats what was shown.
bool MissingMarks::is_fill_given(const std::string& path) const {
  return shared_.written.is(path, WrittenDocuments::Fact::kMade) ||
         shared_.written.is(path, WrittenDocuments::Fact::kUnnamed);
}

std::optional<Json> MissingMarks::fill_given_here(const std::string& path) const {
  return is_fill_given(path) ? shared_.written.fill_value(path) : std::nullopt;
}

/// Whether a program takes away the names that it was shown. One that resized the array may have
/// read the attributes before, when no names were shown: it is believed the second time.
bool MissingMarks::drops_names(const NodeState& state, const Json& written, bool seen) const {
  return leaves_out_names(state, written, seen) &&
         (!was_only_resized(state.path) ||
          shared_.written.is(state.path, WrittenDocuments::Fact::kNamesKept));
}

/// Whether all that this mount was told of the array is another shape.
bool MissingMarks::was_only_resized(const std::string& path) const {
  return !is_fill_given(path) && shared_.written.fill_value(path);
}

/// What a program has taken away of what it was shown (`seen`) is not made up again, and what it
/// puts back is.
void MissingMarks::note_removed(const NodeState& state, const Json& written, bool seen,
                                bool drops_names) {
  WrittenDocuments& facts = shared_.written;
  if (drops_names && !is_fill_given(state.path)) {
    facts.set(state.path, *state.shown.presentation.document);
  }
  if (drops_names || written.contains(kDimensionsAttribute)) {
    facts.note(state.path, WrittenDocuments::Fact::kUnnamed, drops_names);
  }
  const bool kept = !drops_names && leaves_out_names(state, written, seen);
  facts.note(state.path, WrittenDocuments::Fact::kNamesKept, kept);
  const bool declared = written.contains(kFillAttribute);
  const bool was_declared = seen && state.shown.presentation.attributes->contains(kFillAttribute);
  if (declared || was_declared) {
    facts.note(state.path, WrittenDocuments::Fact::kUndeclared, !declared);
  }
}

/// Whether the stored fill value is one that the array's `.zarray` was given: it marks cells then,
/// where its writer follows CF. Of an array that was not written through this mount it is not known
/// who gave it; 0 may stand for none.
bool MissingMarks::was_written_as_fill(const NodeState& state) const {
  const ArrayMetadata& array = *state.node.array;
  const auto written = fill_given_here(state.path);
  if (written) return is_element(array, *written, array.fill);
  return !is_noted_null(array.attributes) && !is_zero(array.fill);
}

Result<bool> MissingMarks::is_pixels(const std::string& path) {
  if (path.empty()) return false;
  ZARRFS_TRY(const auto levels, image_levels_in(*shared_.store, parent_path(path)));
  return levels.contains(path);
}

Result<void> MissingMarks::take_zarray(const NodeState& state, const Json& written,
                                       const Json& shown, Json& plain) {
  shared_.written.note(state.path, WrittenDocuments::Fact::kNamesKept, false);
  const Json fill = written.value(kFillValue, Json());
  const bool named = has_dimension_names(plain);
  if (!shown.is_null()) {
    const ArrayMetadata& array = *state.node.array;
    const bool said = !fill.is_null() && !shown_fill(state).is_null();
    const bool as_shown = said ? same_fill(plain, shown) : same_json(fill, shown_fill(state));
    if (as_shown && named == has_dimension_names(array)) return {};
    const bool replaced = !fill.is_null() && !as_shown && is_shown_as_fill(state) &&
                          !state.shown.presentation.attributes->contains(kFillAttribute);
    if (replaced || is_one_with_fill(array)) plain["attributes"].erase(kFillAttribute);
    const bool same_type = same_json(plain["data_type"], shown["data_type"]);
    if (fill.is_null() && same_type) plain[kFillValue] = shown[kFillValue];  // nothing was said
  }
  respell_mark(plain);
  bool marks = !fill.is_null() && (profile_masks() || named);
  if (marks || named) {
    ZARRFS_TRY(const bool pixels, is_pixels(state.path));
    if (pixels && named) note_dimensions(plain, true);
    marks = marks && !pixels && add_mark(plain);
  }
  shared_.written.note(state.path, WrittenDocuments::Fact::kMarked, marks);
  return {};
}

Result<void> MissingMarks::store(const NodeState& state, const Json& plain) {
  const Json mark = mark_of(plain.value("attributes", Json()));
  if (same_json(mark, mark_of(state.node.array->attributes))) return {};
  return documents_.edit_array(state.path, [&](Json& document) { set_mark(document, mark); });
}

Result<void> MissingMarks::take_zattrs(const NodeState& state, const Json& written, bool seen,
                                       const std::function<void(Json& document)>& edit) {
  const bool named = written.contains(kDimensionsAttribute);
  const bool mark_is_left_out = named && !written.contains(kFillAttribute);
  bool pixels = false;
  if (named) {
    ZARRFS_TRY(pixels, is_pixels(state.path));
  }
  const bool marks = mark_is_left_out && !pixels && was_written_as_fill(state);
  const bool written_here = fill_given_here(state.path).has_value();
  const bool own = shared_.written.is(state.path, WrittenDocuments::Fact::kMarked);
  const bool takes_names =
      leaves_out_names(state, written, seen) && !written.contains(kFillAttribute);
  const bool dropped = drops_names(state, written, seen);
  auto edited = documents_.edit_array(state.path, [&](Json& document) {
    const bool had_names = has_dimension_names(document);
    const Json mark = mark_of(document.value("attributes", Json()));
    edit(document);
    if (dropped) document.erase("dimension_names");
    if (named) note_dimensions(document, pixels);
    respell_mark(document);
    if (mark_is_left_out && is_shown_as_fill(state)) {
      set_mark(document, mark);  // xarray writes no `_FillValue`: .zarray says it
    }
    const bool newly_named = has_dimension_names(document) && (written_here || !had_names);
    if (marks && newly_named && add_mark(document))
      shared_.written.note(state.path, WrittenDocuments::Fact::kMarked);
    const bool unnamed = own && takes_names && !profile_masks();
    if (unnamed && remove_mark(document))
      shared_.written.note(state.path, WrittenDocuments::Fact::kMarked, false);
  });
  if (edited) note_removed(state, written, seen, dropped);
  return edited;
}

Result<void> MissingMarks::take_group(const std::string& path, const Json& attributes) {
  for (const std::string& level : image_levels(attributes)) {
    const std::string array_path = join_path(path, level);
    const auto node = load_node(*shared_.store, array_path);
    if (!node && node.error().fault == Fault::kIo) return fail(node.error());
    if (!node || node->array == nullptr) continue;
    const bool marked = is_one_with_fill(*node->array);
    const bool named = shared_.written.is(array_path, WrittenDocuments::Fact::kMade) &&
                       has_dimension_names(*node->array);
    if (!marked && !named) continue;
    ZARRFS_CHECK(documents_.edit_array(array_path, [&](Json& document) {
      if (marked) remove_mark(document);
      if (named) note_dimensions(document, true);
    }));
    if (marked) shared_.written.note(array_path, WrittenDocuments::Fact::kMarked, false);
  }
  return {};
}

}  // namespace zarrfs
