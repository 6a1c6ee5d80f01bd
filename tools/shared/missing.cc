#include "tools/shared/missing.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/present/cf_mask.h"
#include "core/present/v2_types.h"

namespace zarrfs::tools {
namespace {

const Json kNan = "NaN";

void add_value(const DataType& type, ByteView element, std::set<std::string>& values) {
  const Json value = plain_v2_fill(type, element, false);
  const bool marks = spell_mark(type, element) || has_no_mark_in_v3(type);
  if (marks && value != kNan) values.insert(dump_json(value));
}

void add_attribute(const ArrayMetadata& array, const char* name, std::set<std::string>& values) {
  if (!array.attributes->is_object() || !array.attributes->contains(name)) return;
  const auto element = fill_attribute(array.type, Json{{kFillAttribute, array.attributes[name]}});
  if (element) add_value(array.type, *element, values);
}

/// Whether the fill value marks missing cells, by itself, in an array whose axes have names.
bool fill_may_mark(const SourceArray& found) {
  const ArrayMetadata& array = *found.node.node.array;
  const bool in_v3 = found.node.zarr_format == 3;
  return in_v3 ? has_no_mark_in_v3(array.type) && marks_by_itself(array) : found.node.has_v2_fill;
}

}  // namespace

Result<std::set<std::string>> missing_values(const Source& source, const SourceArray& found) {
  const ArrayMetadata& array = *found.node.node.array;
  std::set<std::string> values;
  bool fill_marks = fill_may_mark(found) && has_dimension_names(array);
  if (fill_marks) {
    ZARRFS_TRY(const bool pixels, is_image_level(*source.store, found.path));
    fill_marks = !pixels;
  }
  if (fill_marks) {
    add_value(array.type, array.fill, values);
  } else {
    add_attribute(array, kFillAttribute, values);
  }
  add_attribute(array, kMissingAttribute, values);
  return values;
}

std::string missing_text(const std::set<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : " and ") + value;
  return text.empty() ? "none" : text;
}

Result<bool> may_lack_mark(const Source& source, const SourceArray& found) {
  const ArrayMetadata& array = *found.node.node.array;
  const Json& attributes = array.attributes;
  const bool has_mark = attributes.is_object() && (attributes.contains(kFillAttribute) ||
                                                   attributes.contains(kMissingAttribute));
  const bool is_number = array.type.kind == TypeKind::kInt || array.type.kind == TypeKind::kUint ||
                         array.type.kind == TypeKind::kFloat;
  const bool is_zero = std::all_of(array.fill.begin(), array.fill.end(),
                                   [](std::uint8_t byte) { return byte == 0; });
  const bool may = found.node.zarr_format == 3 && !array.shape.empty() &&
                   has_dimension_names(array) && is_number && !is_zero && !has_mark &&
                   plain_v2_fill(array.type, array.fill, false) != kNan;
  if (!may) return false;
  ZARRFS_TRY(const bool pixels, is_image_level(*source.store, found.path));
  return !pixels;
}

}  // namespace zarrfs::tools
