#include "core/formats/references/documents_of_v2.h"

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
