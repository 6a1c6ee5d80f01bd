#include "core/metadata/metadata.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/metadata/chunk_key.h"
#include "core/metadata/document_text.h"
#include "core/metadata/json_fields.h"
#include "core/metadata/sharding_config.h"
#include "core/metadata/v2_note.h"

namespace zarrfs {
namespace {

constexpr const char* kConsolidated = "consolidated_metadata";

/// Members that zarrfs knows, of groups and arrays.
constexpr std::array<std::string_view, 3> kCommonMembers{"zarr_format", "node_type", "attributes"};
constexpr std::array<std::string_view, 8> kArrayMembers{
    "shape",      "data_type", "chunk_grid",           "chunk_key_encoding",
    "fill_value", "codecs",    "storage_transformers", "dimension_names"};

bool contains(std::span<const std::string_view> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether an unknown member may be passed over: an object that says so.
bool ignorable(const Json& value) {
  const Json* must_understand = find_member(value, "must_understand");
  return must_understand != nullptr && *must_understand == false;
}

Result<void> check_members(const Json& document, std::span<const std::string_view> known) {
  for (const auto& member : document.items()) {
    const std::string& name = member.key();
    if (contains(kCommonMembers, name) || contains(known, name) || ignorable(member.value())) {
      continue;
    }
    return fail(Fault::kUnsupported, "the member \"" + printable(name) + "\" (" +
                                         brief(member.value()) +
                                         ") is unknown and must be understood");
  }
  return {};
}

/// Checks zarr_format and returns node_type.
Result<std::string> parse_head(const Json& document) {
  if (!document.is_object()) {
    return fail(Fault::kDamaged, "the document is " + brief(document) + ", not an object");
  }
  const Json* format = find_member(document, "zarr_format");
  if (format == nullptr) return fail(Fault::kDamaged, "zarr_format is missing");
  if (format->is_string()) {
    return fail(Fault::kUnsupported, "zarr_format is " + brief(*format) +
                                         ": a store of the Zarr v3 drafts of 2020 to 2022, which "
                                         "differ from Zarr v3");
  }
  ZARRFS_TRY(const std::uint64_t number, parse_size(*format, "zarr_format"));
  if (number != 3) {
    return fail(Fault::kUnsupported, "zarr_format is " + std::to_string(number) + ", not 3");
  }
  const Json* type = find_member(document, "node_type");
  if (type == nullptr) return fail(Fault::kDamaged, "node_type is missing");
  if (*type != "array" && *type != "group") {
    return fail(Fault::kDamaged,
                "node_type is " + brief(*type) + ", neither \"array\" nor \"group\"");
  }
  return type->get<std::string>();
}

Result<Json> parse_attributes(const Json& document) {
  const Json* attributes = find_member(document, "attributes");
  if (attributes == nullptr || attributes->is_null()) return Json::object();
  if (!attributes->is_object()) {
    return fail(Fault::kDamaged, "attributes is " + brief(*attributes) + ", not an object");
  }
  return *attributes;
}

Result<const Json*> required(const Json& document, const char* name) {
  const Json* member = find_member(document, name);
  if (member == nullptr) return fail(Fault::kDamaged, std::string(name) + " is missing");
  return member;
}

Result<std::vector<std::optional<std::string>>> parse_dimension_names(const Json& document,
                                                                      std::size_t rank) {
  std::vector<std::optional<std::string>> names;
  const Json* list = find_member(document, "dimension_names");
  if (list == nullptr || list->is_null()) return names;
  if (!list->is_array() || list->size() != rank) {
    return fail(Fault::kDamaged, "dimension_names is " + brief(*list) + ", not a list of " +
                                     std::to_string(rank) + " names");
  }
  for (const Json& name : *list) {
    if (!name.is_string() && !name.is_null()) {
      return fail(Fault::kDamaged, "dimension_names[" + std::to_string(names.size()) + "] is " +
                                       brief(name) + ", neither a name nor null");
    }
    names.push_back(name.is_string() ? std::optional(name.get<std::string>()) : std::nullopt);
  }
  return names;
}

Result<void> check_storage_transformers(const Json& document) {
  const Json* list = find_member(document, "storage_transformers");
  if (list == nullptr) return {};
  if (!list->is_array()) {
    return fail(Fault::kDamaged, "storage_transformers is " + brief(*list) + ", not a list");
  }
  if (list->empty()) return {};
  const auto first = parse_extension(list->front(), "storage_transformers[0]");
  return fail(Fault::kUnsupported,
              "storage_transformers: zarrfs knows none" +
                  (first ? ", nor \"" + printable(first->name) + "\"" : std::string()));
}

/// The byte order of the `bytes` codec at the end of the array to array codecs, within shards too.
Result<bool> is_big_endian(std::vector<CodecSpec> specs) {
  while (const auto at = find_sharding(specs)) {
    ZARRFS_TRY(ShardingConfig sharding, parse_sharding(specs[*at]));
    specs = std::move(sharding.codecs);
  }
  const auto bytes = std::find_if(specs.begin(), specs.end(),
                                  [](const CodecSpec& spec) { return spec.name == "bytes"; });
  if (bytes == specs.end()) return false;
  const Json* endian = find_member(bytes->configuration, "endian");
  return endian != nullptr && *endian == "big";
}

/// The members that only arrays have, each an extension point or a list.
Result<ArrayMetadata> parse_array_members(const Json& document) {
  ArrayMetadata array;
  ZARRFS_CHECK(check_members(document, kArrayMembers));
  ZARRFS_CHECK(check_storage_transformers(document));
  ZARRFS_TRY(const Json* shape, required(document, "shape"));
  ZARRFS_TRY(array.shape, parse_sizes(*shape, "shape"));
  ZARRFS_TRY(const Json* type, required(document, "data_type"));
  ZARRFS_TRY(array.type, parse_data_type(*type));
  ZARRFS_TRY(const Json* grid, required(document, "chunk_grid"));
  ZARRFS_TRY(array.grid, parse_grid(*grid, array.shape));
  ZARRFS_TRY(const Json* encoding, required(document, "chunk_key_encoding"));
  ZARRFS_TRY(array.key_encoding, parse_chunk_key_encoding(*encoding));
  ZARRFS_TRY(const Json* codecs, required(document, "codecs"));
  ZARRFS_TRY(array.codecs, parse_codec_list(*codecs, "codecs"));
  ZARRFS_TRY(array.big_endian, is_big_endian(array.codecs));
  ZARRFS_TRY(const Json* fill, required(document, "fill_value"));
  array.fill_value = *fill;
  ZARRFS_TRY(array.fill, parse_fill_value(array.type, *fill, array.big_endian));
  ZARRFS_TRY(array.dimension_names, parse_dimension_names(document, array.shape.size()));
  ZARRFS_TRY(array.attributes, parse_attributes(document));
  const std::string form = dump_json(Json{*type, *grid, *codecs, array.shape.size(), *encoding});
  array.form = crc32c({reinterpret_cast<const std::uint8_t*>(form.data()), form.size()});
  array.document = document;
  return array;
}

Result<GroupMetadata> parse_group(Json document, bool consolidated) {
  ZARRFS_CHECK(check_members(document, {}));
  GroupMetadata group;
  ZARRFS_TRY(group.attributes, parse_attributes(document));
  group.consolidated = consolidated;
  group.document = std::move(document);
  return group;
}

/// What messages call the document of the node at `path`.
std::string document_name(const std::string& path) {
  return path.empty() ? "zarr.json" : printable(path) + "/zarr.json";
}

/// `result` with the name of the document in front of its error's message.
template <class T>
Result<T> with_path(Result<T> result, const std::string& path) {
  if (!result) result.error().message = document_name(path) + ": " + result.error().message;
  return result;
}

}  // namespace

Result<ArrayMetadata> parse_array(const Json& document, const std::string& path) {
  const auto type = with_path(parse_head(document), path);
  if (!type) return fail(type.error());
  if (*type != "array") {
    return fail(Fault::kDamaged, document_name(path) + ": node_type is \"group\", not \"array\"");
  }
  return with_path(parse_array_members(document), path);
}

Result<NodeMetadata> parse_node(std::string_view text, const std::string& path) {
  if (text.size() > kMaxDocument) {
    return fail(Fault::kDamaged, document_name(path) + ": " + std::to_string(text.size()) +
                                     " bytes are more than a zarr.json may have, " +
                                     std::to_string(kMaxDocument));
  }
  const CutText cut = cut_member(text, kConsolidated);
  ZARRFS_TRY(Json document, parse_json(cut.text, document_name(path)));
  if (document.is_object()) document.erase(kConsolidated);
  if (document.is_object() && document.contains("attributes")) {
    note_bare(cut.text, document["attributes"], kAttributesPointer);
  }
  ZARRFS_TRY(const std::string type, with_path(parse_head(document), path));
  if (type == "array") {
    ZARRFS_TRY(ArrayMetadata array, parse_array(document, path));
    return array;
  }
  ZARRFS_TRY(GroupMetadata group, with_path(parse_group(std::move(document), cut.had_value), path));
  return group;
}

}  // namespace zarrfs
