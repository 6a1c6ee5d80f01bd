#include "core/metadata/v2_metadata.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/metadata/nczarr.h"
#include "core/metadata/v2_note.h"
#include "core/types/data_type.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kMostElementBytes = std::uint64_t{4} << 20U;

struct V2Reader {
  const Json& zarray;
  const std::string& path;
  DataType type;
  bool big_endian = false;
  std::optional<bool> field_order;  // big_endian of a struct's fields
  std::vector<Json> array_steps;    // before the array to bytes codec
  std::string array_to_bytes = "bytes";
  std::vector<Json> byte_steps;  // behind it

  [[nodiscard]] tl::unexpected<Error> damaged(const std::string& what) const {
    return fail(Fault::kDamaged, path + "/.zarray: " + what);
  }
  [[nodiscard]] tl::unexpected<Error> unsupported(const std::string& what) const {
    return fail(Fault::kUnsupported, path + "/.zarray: " + what);
  }
  [[nodiscard]] const Json& member(const char* name) const {
    static const Json kNull;
    const auto found = zarray.find(name);
    return found == zarray.end() ? kNull : *found;
  }

  Result<void> read_type();
  Result<Json> read_struct(const Json& fields, int depth);
  Result<void> read_order();
  Result<void> read_codec(const Json& codec, const std::string& member_name);
  Result<Json> read_fill();
  [[nodiscard]] Json codecs() const;
};

Json named(const std::string& name, Json configuration = Json::object()) {
  return Json{{"name", name}, {"configuration", std::move(configuration)}};
}

Json spelled(const DataType& type) {
  return type.spelled->is_null() ? Json(type.name) : *type.spelled;
}

Result<Json> V2Reader::read_struct(const Json& fields, int depth) {
  if (depth > 8) return unsupported("dtype: structs nested deeper than 8");
  Json out = Json::array();
  for (const Json& field : fields) {
    if (!field.is_array() || field.size() != 2 || !field[0].is_string()) {
      return unsupported("dtype: field " + printable(dump_json(field)) +
                         " is not a pair of a name and a type");
    }
    if (field[1].is_array()) {
      ZARRFS_TRY(Json inner, read_struct(field[1], depth + 1));
      out.push_back(Json::array(
          {field[0], Json{{"name", "structured"}, {"configuration", {{"fields", inner}}}}}));
      continue;
    }
    if (!field[1].is_string()) return damaged("dtype: a field's type is not a string");
    ZARRFS_TRY(const NumpyType numpy, parse_numpy_type(field[1].get<std::string>()));
    if (numpy.type.swap_unit() > 1) {
      if (field_order.value_or(numpy.big_endian) != numpy.big_endian) {
        return unsupported("dtype: fields of both byte orders; Zarr v3 knows one for all");
      }
      big_endian = numpy.big_endian;
      field_order = big_endian;
    }
    out.push_back(Json::array({field[0], spelled(numpy.type)}));
  }
  return out;
}

Result<void> V2Reader::read_type() {
  const Json& dtype = member("dtype");
  if (dtype.is_array()) {
    ZARRFS_TRY(Json fields, read_struct(dtype, 0));
    ZARRFS_TRY(type, parse_data_type(named("structured", {{"fields", std::move(fields)}})));
    return {};
  }
  if (!dtype.is_string()) return damaged("dtype is neither a string nor a list");
  const auto text = dtype.get<std::string>();
  if (text == "|O") {
    const Json& filters = member("filters");
    for (const Json& filter : filters.is_array() ? filters : Json::array()) {
      const std::string id = filter.is_object() ? filter.value("id", "") : "";
      if (id != "vlen-utf8" && id != "vlen-bytes") continue;
      array_to_bytes = id;
      ZARRFS_TRY(type, parse_data_type(id == "vlen-utf8" ? "string" : "variable_length_bytes"));
      return {};
    }
    return unsupported("dtype |O without the filter vlen-utf8 or vlen-bytes");
  }
  auto numpy = parse_numpy_type(text);
  if (!numpy) return unsupported("dtype '" + printable(text) + "'");
  type = std::move(numpy->type);
  big_endian = numpy->big_endian;
  return {};
}

Result<void> V2Reader::read_order() {
  const Json& order = member("order");
  if (order.is_null() || order == "C") return {};
  if (order != "F") return damaged("order is " + printable(dump_json(order)));
  const std::size_t rank = member("shape").size();
  if (rank < 2) return {};
  Json axes = Json::array();
  for (std::size_t axis = rank; axis > 0; --axis) axes.push_back(axis - 1);
  array_steps.push_back(named("transpose", {{"order", std::move(axes)}}));
  return {};
}

Json blosc_configuration(const Json& codec, std::uint32_t type_size) {
  std::string shuffle = "shuffle";
  const Json stored = codec.value("shuffle", Json(1));
  if (stored == 0) shuffle = "noshuffle";
  if (stored == 2 || (stored == -1 && type_size <= 1)) shuffle = "bitshuffle";
  return Json{{"cname", codec.value("cname", Json("lz4"))},
              {"clevel", codec.value("clevel", Json(5))},
              {"shuffle", shuffle},
              {"typesize", std::max<std::uint32_t>(type_size, 1)},
              {"blocksize", codec.value("blocksize", Json(0))}};
}

Result<void> V2Reader::read_codec(const Json& codec, const std::string& member_name) {
  if (!codec.is_object() || !codec.contains("id") || !codec["id"].is_string()) {
    return damaged(member_name + " holds a codec without an id");
  }
  const auto id = codec["id"].get<std::string>();
  if (id == array_to_bytes) return {};
  Json configuration = codec;
  configuration.erase("id");
  if (id == "delta" && !configuration.contains("astype")) {
    configuration["astype"] = configuration.value("dtype", Json());
  }
  for (const char* number_type : {"dtype", "astype"}) {  // one spelling for what has no byte order
    const Json spelled = configuration.value(number_type, Json());
    if (spelled == "u1" || spelled == "i1" || spelled == "b1") {
      configuration[number_type] = "|" + spelled.get<std::string>();
    }
  }
  // GDAL's own: the container holds it too, for whoever decodes, and numcodecs refuses the member.
  if (id == "lzma") configuration.erase("delta");

  static const std::set<std::string> kArraySteps = {"delta",    "fixedscaleoffset", "astype",
                                                    "quantize", "bitround",         "packbits"};
  static const std::set<std::string> kByteSteps = {"zlib",    "bz2",        "lz4",
                                                   "lzma",    "shuffle",    "crc32",
                                                   "adler32", "fletcher32", "jenkins_lookup3",
                                                   "pcodec",  "zfpy"};
  if (kArraySteps.contains(id)) {
    if (!byte_steps.empty()) {
      return unsupported("filter '" + id + "' behind one that gives bytes");
    }
    array_steps.push_back(named("numcodecs." + id, std::move(configuration)));
  } else if (id == "gzip") {
    byte_steps.push_back(named("gzip", {{"level", codec.value("level", Json(1))}}));
  } else if (id == "zstd") {
    byte_steps.push_back(named("zstd", {{"level", codec.value("level", Json(0))},
                                        {"checksum", codec.value("checksum", Json(false))}}));
  } else if (id == "blosc") {
    byte_steps.push_back(named("blosc", blosc_configuration(codec, type.size)));
  } else if (id == "crc32c") {
    byte_steps.push_back(
        named(configuration.empty() ? "crc32c" : "numcodecs.crc32c", std::move(configuration)));
  } else if (kByteSteps.contains(id)) {
    byte_steps.push_back(named("numcodecs." + id, std::move(configuration)));
  } else {
    return unsupported(member_name + ": codec '" + printable(id) + "'");
  }
  return {};
}

/// What stands for "no fill value" in Zarr v3, which has to have one: zarr-python 3 takes the same.
Json default_fill(const DataType& type, bool big_endian) {
  if (type.variable_length()) return "";
  if (type.kind == TypeKind::kDatetime || type.kind == TypeKind::kTimedelta) return "NaT";
  return render_fill_value(type, Bytes(type.size, 0), big_endian);
}

/// Text of fixed length, of which programs leave zeros out at the end.
Json padded(const Json& fill, std::size_t size) {
  auto bytes = fill.is_string() ? from_base64(fill.get_ref<const std::string&>()) : std::nullopt;
  if (!bytes || bytes->size() >= size) return fill;
  bytes->resize(size);
  return to_base64(*bytes);
}

Result<Json> V2Reader::read_fill() {
  const Json& fill = member("fill_value");
  if (fill.is_null()) return default_fill(type, big_endian);
  switch (type.kind) {
    case TypeKind::kBool:
      if (fill.is_number()) return Json(fill.get<double>() != 0);
      return fill;
    case TypeKind::kInt:
    case TypeKind::kUint:
      if (fill.is_number_float()) {
        const auto value = fill.get<double>();
        const auto whole = static_cast<std::int64_t>(value);
        if (value > -9e15 && value < 9e15 && static_cast<double>(whole) == value) {
          return Json(whole);
        }
      }
      return fill;
    case TypeKind::kComplex:
      if (fill.is_number()) return Json::array({fill, 0.0});
      return fill;
    case TypeKind::kString:
    case TypeKind::kVariableBytes:
    case TypeKind::kFixedUtf32:
      if (fill == 0) return Json("");
      return fill;
    case TypeKind::kStruct:
    case TypeKind::kRaw:
    case TypeKind::kFixedBytes:
      if (fill == 0 || (fill.is_string() && fill.get_ref<const std::string&>().empty())) {
        return default_fill(type, big_endian);
      }
      return type.kind == TypeKind::kFixedBytes ? padded(fill, type.size) : fill;
    default: return fill;
  }
}

Json V2Reader::codecs() const {
  Json list = Json::array();
  for (const Json& step : array_steps) list.push_back(step);
  if (array_to_bytes == "bytes") {
    const bool ordered = type.swap_unit() > 1 || !array_steps.empty();
    Json configuration = Json::object();
    if (ordered) configuration["endian"] = big_endian ? "big" : "little";
    list.push_back(named("bytes", std::move(configuration)));
  } else {
    list.push_back(named(array_to_bytes));
  }
  for (const Json& step : byte_steps) list.push_back(step);
  return list;
}

// Attributes without _ARRAY_DIMENSIONS, which v3 has a word for.
void take_dimension_names(Json& attributes, std::size_t rank, Json& document) {
  const auto found = attributes.find("_ARRAY_DIMENSIONS");
  if (found == attributes.end() || !found->is_array() || found->size() != rank) return;
  for (const Json& name : *found) {
    if (!name.is_string() && !name.is_null()) return;
  }
  Json names = *found;
  attributes.erase("_ARRAY_DIMENSIONS");
  document["dimension_names"] = std::move(names);
}

}  // namespace

void take_dimensions_of_netcdf(Json& document) {
  Json attributes = document.value("attributes", Json::object());
  const bool of_netcdf = noted(attributes, kNotedDimensions) == Json(kDimensionsOfNetcdf);
  if (document.contains("dimension_names") && !of_netcdf) return;
  auto names = nczarr_dimensions(attributes, document["shape"].size());
  if (!names) return;
  document["dimension_names"] = std::move(*names);
  note(kNotedDimensions, kDimensionsOfNetcdf, attributes);
  document["attributes"] = std::move(attributes);
}

Result<Json> v3_document_of_v2(const Json& zarray, const Json& zattrs, const std::string& path) {
  V2Reader reader{.zarray = zarray,
                  .path = path,
                  .type = {},
                  .field_order = {},
                  .array_steps = {},
                  .byte_steps = {}};
  if (!zarray.is_object() || reader.member("zarr_format") != 2) {
    return reader.damaged("zarr_format is not 2");
  }
  const Json& shape = reader.member("shape");
  const Json& chunks = reader.member("chunks");
  if (!shape.is_array() || !chunks.is_array() || shape.size() != chunks.size()) {
    return reader.damaged("shape and chunks are not two lists of one length");
  }
  ZARRFS_CHECK(reader.read_type());
  if (reader.type.size > kMostElementBytes) {  // the fill value alone would fill a document
    return reader.unsupported("elements of " + std::to_string(reader.type.size) + " bytes");
  }
  ZARRFS_CHECK(reader.read_order());
  const Json& filters = reader.member("filters");
  if (!filters.is_array() && !filters.is_null()) return reader.damaged("filters is not a list");
  for (const Json& filter : filters.is_array() ? filters : Json::array()) {
    ZARRFS_CHECK(reader.read_codec(filter, "filters"));
  }
  if (!reader.member("compressor").is_null()) {
    ZARRFS_CHECK(reader.read_codec(reader.member("compressor"), "compressor"));
  }
  ZARRFS_TRY(Json fill, reader.read_fill());

  const Json& separator = reader.member("dimension_separator");
  Json document = {{"zarr_format", 3},
                   {"node_type", "array"},
                   {"shape", shape},
                   {"data_type", spelled(reader.type)},
                   {"chunk_grid", named("regular", {{"chunk_shape", chunks}})},
                   {"chunk_key_encoding",
                    named("v2", {{"separator", separator.is_null() ? Json(".") : separator}})},
                   {"fill_value", std::move(fill)},
                   {"codecs", reader.codecs()}};
  Json attributes = zattrs.is_object() ? zattrs : Json::object();
  take_dimension_names(attributes, shape.size(), document);
  take_nczarr_members(zarray, attributes);
  document["attributes"] = std::move(attributes);
  take_dimensions_of_netcdf(document);
  return document;
}

}  // namespace zarrfs
