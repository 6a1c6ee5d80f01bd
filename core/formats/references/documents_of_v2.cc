#include "core/formats/references/documents_of_v2.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/json.h"
#include "core/base/path.h"
#include "core/formats/made_documents.h"
#include "core/metadata/metadata.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_metadata.h"
#include "core/metadata/v2_note.h"

namespace zarrfs {
namespace {

Result<Json> attributes_of(std::string_view zattrs, const std::string& path) {
  if (zattrs.empty()) return Json::object();
  const std::string name = join_path(path, ".zattrs");
  ZARRFS_TRY(Json attributes, parse_first_json(zattrs, name, {.bytes = kMaxDocument}));
  if (!attributes.is_object()) return fail(Fault::kDamaged, name + ": is no object");
  note_spelling(zattrs, attributes);
  return attributes;
}

bool is_number_type(const Json& dtype) {
  constexpr std::string_view kKinds = "biuf";  // behind the order of bytes
  const std::string name = dtype.is_string() ? dtype.get<std::string>() : "";
  return name.size() > 1 && kKinds.find(name[1]) != std::string_view::npos;
}

bool has_names(const Json& document) {
  const Json names = document.value("dimension_names", Json());
  return names.is_array() &&
         std::all_of(names.begin(), names.end(), [](const Json& name) { return name.is_string(); });
}

/// What marks missing cells. Where the axes have names, programs of Zarr v2 take the fill value for
/// it, which in v3 the attribute `_FillValue` has to say. VirtualiZarr writes that attribute of
/// floats as v3 has it, in base64, and no program of v2 is to see it so.
void tell_mark(const Json& zarray, Json& document) {
  constexpr const char* kMark = "_FillValue";
  const Json fill = zarray.value("fill_value", Json());
  if (!is_number_type(zarray.value("dtype", Json()))) return;
  Json& attributes = document["attributes"];
  if (attributes.contains(kMark)) {
    const bool spelled = attributes[kMark].is_string() && (fill.is_null() || fill.is_number());
    if (spelled) note(kNotedMark, nullptr, attributes);
  } else if (has_names(document) && !fill.is_null()) {
    attributes[kMark] = fill;
  }
}

Json without_codecs(Json zarray) {
  zarray["filters"] = nullptr;
  zarray["compressor"] = nullptr;
  return zarray;
}

void add_codec(const Json& codec, Json& codecs) {
  const bool named = codec.is_object() && codec.contains("id") && codec["id"].is_string();
  if (!named) return;
  Json configuration = codec;
  configuration.erase("id");
  codecs.push_back(
      codec_named("numcodecs." + codec["id"].get<std::string>(), std::move(configuration)));
}

/// Of an array with codecs or a type that v3 has no word for: with numcodecs' names of them, and
/// numpy's of the type.
Result<Json> document_of_unknown(const Json& zarray, const Json& zattrs, const std::string& path) {
  Json plain = without_codecs(zarray);
  auto document = v3_document_of_v2(plain, zattrs, path);
  if (!document) {
    plain["dtype"] = "|u1";
    plain["fill_value"] = 0;
    document = v3_document_of_v2(plain, zattrs, path);
    if (!document) return document;
    (*document)["data_type"] = "numpy." + dump_json(zarray.value("dtype", Json()));
  }
  Json& codecs = (*document)["codecs"];
  const Json filters = zarray.value("filters", Json());
  for (const Json& filter : filters.is_array() ? filters : Json::array()) {
    add_codec(filter, codecs);
  }
  add_codec(zarray.value("compressor", Json()), codecs);
  return document;
}

}  // namespace

Result<std::string> told_array(std::string_view zarray, std::string_view zattrs,
                               const std::string& path) {
  ZARRFS_TRY(const Json told,
             parse_first_json(zarray, join_path(path, ".zarray"), {.bytes = kMaxDocument}));
  ZARRFS_TRY(const Json attributes, attributes_of(zattrs, path));
  auto document = v3_document_of_v2(told, attributes, path);
  if (!document && document.error().fault == Fault::kUnsupported) {
    document = document_of_unknown(told, attributes, path);
  }
  if (!document) return fail(document.error());
  note_fill(told, (*document)["attributes"]);
  tell_mark(told, *document);
  return dump_document(*document);
}

Result<std::string> told_group(std::string_view zgroup, std::string_view zattrs,
                               const std::string& path) {
  ZARRFS_TRY(const Json told,
             parse_first_json(zgroup, join_path(path, ".zgroup"), {.bytes = kMaxDocument}));
  ZARRFS_TRY(Json attributes, attributes_of(zattrs, path));
  if (told.is_object()) take_nczarr_members(told, attributes);
  return dump_document(group_document_of(std::move(attributes)));
}

}  // namespace zarrfs
