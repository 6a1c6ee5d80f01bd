#include "core/nodes/missing_marks.h"

#include <algorithm>

#include "core/present/cf_mask.h"
#include "core/present/v2_types.h"

namespace zarrfs {

namespace {
constexpr const char* kFillValue = "fill_value";

Json mark_of(const Json& attributes) {
  return attributes.is_object() ? attributes.value(kFillAttribute, Json()) : Json();
}

bool is_zero(const Json& fill) { return fill.is_number() && fill.get<double>() == 0; }

/// Whether the fill value that is shown says what `_FillValue` marks.
bool is_shown_as_fill(const NodeState& state) {
  const ArrayMetadata& array = *state.node.array;
  const auto mark = fill_attribute(array.type, array.attributes);
  if (!mark) return false;
  const Json shown = state.shown.presentation.document.value(kFillValue, Json());
  return same_json(shown, plain_v2_fill(array.type, *mark, false));
}

void set_mark(Json& document, const Json& mark) {
  if (mark.is_null()) {
    document["attributes"].erase(kFillAttribute);
  } else {
    document["attributes"][kFillAttribute] = mark;
  }
}
}  // namespace

/// Whether the user said, by the profile, that programs take fill values for missing data.
bool MissingMarks::profile_masks() const {
  const FillStyle style = shared_.profile.fill;
  const bool masks =
      style == FillStyle::kMask || style == FillStyle::kScalar || style == FillStyle::kDeclared;
  return masks && shared_.profile_because.empty();
}

/// Whether the writer of the `.zarray` at the path gave it a fill value, which marks cells if the
/// writer follows CF. Of an array that was made elsewhere only what is shown is known: of 0 that
/// may stand for none.
bool MissingMarks::marks_cells(const NodeState& state) const {
  const auto written = shared_.spellings.fill_value(state.path);
  if (written) return !written->is_null();
  const Json shown = state.shown.presentation.document.value(kFillValue, Json());
  return !shown.is_null() && !is_zero(shown);
}

Result<void> MissingMarks::take_zarray(const NodeState& state, const Json& written,
                                       const Json& shown, Json& plain) {
  const Json fill = written.value(kFillValue, Json());
  if (!shown.is_null()) {
    const Presentation& presentation = state.shown.presentation;
    if (same_json(fill, presentation.document.value(kFillValue, Json()))) return {};
    const bool shown_as_fill = !presentation.attributes.contains(kFillAttribute);
    if (shown_as_fill) plain["attributes"].erase(kFillAttribute);
    const bool same_type = same_json(plain["data_type"], shown["data_type"]);
    if (fill.is_null() && same_type) plain[kFillValue] = shown[kFillValue];  // nothing was said
  }
  bool marks = !fill.is_null() && (profile_masks() || has_dimension_names(plain));
  if (marks) {
    ZARRFS_TRY(const bool pixels, is_image_level(*shared_.store, state.path));
    marks = !pixels && add_mark(plain);
  }
  shared_.spellings.marked(state.path, marks);
  return {};
}

Result<void> MissingMarks::store(const NodeState& state, const Json& plain) {
  const Json mark = mark_of(plain["attributes"]);
  if (same_json(mark, mark_of(state.node.array->attributes))) return {};
  return documents_.edit_array(state.path, [&](Json& document) { set_mark(document, mark); });
}

Result<void> MissingMarks::take_zattrs(const NodeState& state, const Json& written,
                                       const std::function<void(Json& document)>& edit) {
  const bool named = written.contains(kDimensionsAttribute);
  bool marks = named && !written.contains(kFillAttribute) && marks_cells(state);
  if (marks) {
    ZARRFS_TRY(const bool pixels, is_image_level(*shared_.store, state.path));
    marks = !pixels;
  }
  return documents_.edit_array(state.path, [&](Json& document) {
    const bool had_names = has_dimension_names(document);
    const Json mark = mark_of(document.value("attributes", Json()));
    edit(document);
    respell_mark(document);
    if (named && !written.contains(kFillAttribute) && is_shown_as_fill(state)) {
      set_mark(document, mark);  // xarray writes no `_FillValue`: .zarray says it
    }
    if (marks && !had_names && has_dimension_names(document) && add_mark(document)) {
      shared_.spellings.marked(state.path, true);
    }
    const bool unnamed = !named && !profile_masks() && shared_.spellings.is_marked(state.path);
    if (unnamed && remove_mark(document)) shared_.spellings.marked(state.path, false);
  });
}

Result<void> MissingMarks::take_group(const std::string& path, const Json& before,
                                      const Json& after) {
  const auto known = image_levels(before);
  for (const std::string& level : image_levels(after)) {
    if (std::find(known.begin(), known.end(), level) != known.end()) continue;
    const std::string array_path = join_path(path, level);
    const auto node = load_node(*shared_.store, array_path);
    if (!node || node->array == nullptr || !mark_repeats_fill(*node->array)) continue;
    ZARRFS_CHECK(documents_.edit_array(array_path, [](Json& document) { remove_mark(document); }));
    shared_.spellings.marked(array_path, false);
  }
  return {};
}

}  // namespace zarrfs
