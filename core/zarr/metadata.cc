#include "core/zarr/metadata.h"

#include <algorithm>
#include <array>
#include <set>

namespace zarrfs {
namespace {

constexpr std::size_t kMaxRank = 32;
constexpr std::size_t kMaxCodecs = 16;

std::string at(const std::string& path, const std::string& what) {
  return printable(path.empty() ? "the root" : path) + "/zarr.json: " + what;
}

Error located(const std::string& path, Error error) {
  error.message = at(path, error.message);
  return error;
}

/// Members that a document of this kind may have; others must be objects that need not be
/// understood.
Result<void> check_members(const Json& document, const std::set<std::string>& known,
                           const std::string& path) {
  for (const auto& [name, value] : document.items()) {
    if (known.contains(name)) continue;
    const bool ignorable =
        value.is_object() && value.contains("must_understand") && value["must_understand"] == false;
    if (!ignorable) {
      return fail(Fault::kUnsupported,
                  at(path, "member " + printable(name) + " is not known and must be understood"));
    }
  }
  return {};
}

Result<std::vector<std::uint64_t>> parse_shape(const Json& document, const std::string& path) {
  const Json spelled = document.value("shape", Json());
  if (!spelled.is_array()) return fail(Fault::kDamaged, at(path, "shape is " + dump_json(spelled)));
  if (spelled.size() > kMaxRank) {
    return fail(Fault::kUnsupported, at(path, "an array of " + std::to_string(spelled.size()) +
                                                  " dimensions (at most 32)"));
  }
  std::vector<std::uint64_t> shape;
  for (const Json& extent : spelled) {
    if (!extent.is_number_integer() || extent < 0 || extent.get<std::uint64_t>() >> 63U != 0) {
      return fail(Fault::kDamaged,
                  at(path, "shape " + dump_json(spelled) + " holds " + dump_json(extent)));
    }
    shape.push_back(extent.get<std::uint64_t>());
  }
  return shape;
}

/// {"name": ..., "configuration": {...}} or just "name".
struct Named {
  std::string name;
  Json configuration = Json::object();
};

Result<Named> parse_named(const Json& document, const char* member, const std::string& path) {
  const Json spelled = document.value(member, Json());
  if (spelled.is_string()) return Named{spelled.get<std::string>(), Json::object()};
  if (!spelled.is_object() || !spelled.contains("name") || !spelled["name"].is_string()) {
    return fail(Fault::kDamaged, at(path, std::string(member) + " is " + dump_json(spelled)));
  }
  Named named{spelled["name"].get<std::string>(), spelled.value("configuration", Json::object())};
  if (!named.configuration.is_object()) {
    return fail(Fault::kDamaged, at(path, std::string(member) + ": the configuration is " +
                                              dump_json(named.configuration)));
  }
  return named;
}

Result<ChunkKeyEncoding> parse_key_encoding(const Json& document, const std::string& path) {
  ZARRFS_TRY(const Named named, parse_named(document, "chunk_key_encoding", path));
  ChunkKeyEncoding encoding;
  if (named.name == "v2") {
    encoding = {ChunkKeyEncoding::Kind::kV2, '.'};
  } else if (named.name != "default") {
    return fail(Fault::kUnsupported, at(path, "chunk_key_encoding " + printable(named.name)));
  }
  const Json separator = named.configuration.value("separator", Json());
  if (separator == "/" || separator == ".") {
    encoding.separator = separator.get<std::string>()[0];
  } else if (!separator.is_null()) {
    return fail(Fault::kDamaged,
                at(path, "chunk_key_encoding: the separator is " + dump_json(separator)));
  }
  return encoding;
}

Result<std::vector<CodecSpec>> parse_codecs(const Json& document, const std::string& path) {
  const Json spelled = document.value("codecs", Json());
  if (!spelled.is_array() || spelled.empty() || spelled.size() > kMaxCodecs) {
    return fail(Fault::kDamaged, at(path, "codecs is " + printable(dump_json(spelled))));
  }
  std::vector<CodecSpec> specs;
  for (const Json& one : spelled) {
    auto spec = parse_codec_spec(one);
    if (!spec) return fail(located(path, spec.error()));
    specs.push_back(std::move(*spec));
  }
  return specs;
}

Result<std::vector<std::optional<std::string>>> parse_dimension_names(const Json& document,
                                                                      std::size_t rank,
                                                                      const std::string& path) {
  const Json spelled = document.value("dimension_names", Json());
  std::vector<std::optional<std::string>> names;
  if (spelled.is_null()) return names;
  const bool valid = spelled.is_array() && spelled.size() == rank &&
                     std::all_of(spelled.begin(), spelled.end(), [](const Json& name) {
                       return name.is_null() || name.is_string();
                     });
  if (!valid) {
    return fail(Fault::kDamaged, at(path, "dimension_names " + printable(dump_json(spelled)) +
                                              " does not have one name or null for each of the " +
                                              std::to_string(rank) + " dimensions"));
  }
  for (const Json& name : spelled)
    names.push_back(name.is_null() ? std::nullopt : std::optional(name.get<std::string>()));
  return names;
}

/// Whether the bytes codec that the elements reach, inside all sharding, is big-endian.
bool stored_big_endian(const std::vector<CodecSpec>& codecs, int depth = 0) {
  for (const CodecSpec& spec : codecs) {
    if (spec.name == "bytes") return spec.configuration.value("endian", Json()) == "big";
    if (spec.name != "sharding_indexed" || depth > 16) continue;
    const Json inner = spec.configuration.value("codecs", Json());
    if (!inner.is_array()) return false;
    std::vector<CodecSpec> specs;
    for (const Json& one : inner) {
      if (auto parsed = parse_codec_spec(one)) specs.push_back(std::move(*parsed));
    }
    return stored_big_endian(specs, depth + 1);
  }
  return false;
}

Result<Json> parse_attributes(const Json& document, const std::string& path) {
  Json attributes = document.value("attributes", Json::object());
  if (!attributes.is_object()) return fail(Fault::kDamaged, at(path, "attributes is no object"));
  return attributes;
}

Result<GroupMetadata> parse_group(Json document, const std::string& path) {
  ZARRFS_CHECK(check_members(
      document, {"zarr_format", "node_type", "attributes", "consolidated_metadata"}, path));
  GroupMetadata group;
  ZARRFS_TRY(group.attributes, parse_attributes(document, path));
  if (document.contains("consolidated_metadata")) {
    group.consolidated = !document["consolidated_metadata"].is_null();
    document.erase("consolidated_metadata");
  }
  group.document = std::move(document);
  return group;
}

/// Where the value of the top-level member "consolidated_metadata" lies in `text`; nothing where
/// there is none. It looks only at quotes and brackets, so that a large value costs no memory; what
/// is left is parsed properly afterwards.
std::optional<std::pair<std::size_t, std::size_t>> find_consolidated(std::string_view text) {
  constexpr std::string_view kMember = "\"consolidated_metadata\"";
  std::size_t depth = 0;
  std::optional<std::size_t> value;  // where it begins, once its name was met
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const bool named = depth == 1 && !value && text.substr(i).starts_with(kMember);
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      if (named) {
        const auto colon = text.find_first_not_of(" \t\r\n", i + 1);
        if (colon != std::string_view::npos && text[colon] == ':') value = i = colon + 0;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (value && depth == 1) return std::pair{*value + 1, i};
      if (depth > 0) --depth;
    } else if (c == ',' && depth == 1 && value) {
      return std::pair{*value + 1, i};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ArrayMetadata> parse_array(const Json& document, const std::string& path) {
  ZARRFS_CHECK(check_members(
      document,
      {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding",
       "fill_value", "codecs", "attributes", "storage_transformers", "dimension_names"},
      path));
  ArrayMetadata array;
  ZARRFS_TRY(array.shape, parse_shape(document, path));
  auto type = parse_data_type(document.value("data_type", Json()));
  if (!type) return fail(located(path, type.error()));
  array.type = std::move(*type);
  auto grid = parse_grid(document.value("chunk_grid", Json()), array.shape);
  if (!grid) return fail(located(path, grid.error()));
  array.grid = std::move(*grid);
  ZARRFS_TRY(array.key_encoding, parse_key_encoding(document, path));
  ZARRFS_TRY(array.codecs, parse_codecs(document, path));
  if (const Json transformers = document.value("storage_transformers", Json::array());
      !transformers.empty()) {
    return fail(Fault::kUnsupported,
                at(path, "storage_transformers " + printable(dump_json(transformers))));
  }
  array.big_endian = stored_big_endian(array.codecs);
  if (!document.contains("fill_value"))
    return fail(Fault::kDamaged, at(path, "there is no fill_value"));
  array.fill_value = document["fill_value"];
  auto fill = parse_fill_value(array.type, array.fill_value, array.big_endian);
  if (!fill) return fail(located(path, fill.error()));
  array.fill = std::move(*fill);
  ZARRFS_TRY(array.dimension_names, parse_dimension_names(document, array.shape.size(), path));
  ZARRFS_TRY(array.attributes, parse_attributes(document, path));
  array.document = document;
  return array;
}

Result<NodeMetadata> parse_node(std::string_view text, const std::string& path) {
  std::string shortened;
  if (text.size() > 4096) {
    if (const auto range = find_consolidated(text)) {
      shortened = std::string(text.substr(0, range->first)) + "{}" +
                  std::string(text.substr(range->second));
      text = shortened;
    }
  }
  ZARRFS_TRY(Json document,
             parse_json(text, printable(path.empty() ? "the root" : path) + "/zarr.json"));
  if (!document.is_object()) return fail(Fault::kDamaged, at(path, "it is no object"));
  const Json format = document.value("zarr_format", Json());
  if (format.is_string()) {
    return fail(Fault::kUnsupported, at(path, "zarr_format " + dump_json(format) +
                                                  ": a draft of Zarr v3 from 2020 to 2022"));
  }
  if (format != 3)
    return fail(Fault::kDamaged, at(path, "zarr_format is " + dump_json(format) + ", not 3"));
  const Json type = document.value("node_type", Json());
  if (type == "group") {
    ZARRFS_TRY(GroupMetadata group, parse_group(std::move(document), path));
    return group;
  }
  if (type == "array") {
    ZARRFS_TRY(ArrayMetadata array, parse_array(document, path));
    return array;
  }
  return fail(Fault::kDamaged,
              at(path, "node_type is " + dump_json(type) + ", neither group nor array"));
}

}  // namespace zarrfs
