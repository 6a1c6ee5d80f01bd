#include "core/metadata/nczarr.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "core/base/json.h"
#include "core/base/lower_case.h"
#include "core/base/path.h"

namespace zarrfs {
namespace {

constexpr const char* kProperties = "_NCProperties";
constexpr std::string_view kPrefix = "_nczarr_";

/// Members that versions before 4.9.3 write beside `zarr_format`.
bool is_member_name(std::string_view name) {
  const std::string small = lower_case(name);
  return small == "_nczarr_superblock" || small == "_nczarr_group" || small == "_nczarr_array";
}

/// Whether `.zattrs` had the attribute, since it lists its type.
bool is_listed(const Json& attributes, const std::string& name) {
  const auto list = attributes.find("_nczarr_attr");
  if (list == attributes.end() || !list->is_object()) return false;
  const auto types = list->find("types");
  return types != list->end() && types->is_object() && types->contains(name);
}

bool was_member(const Json& attributes, const std::string& name) {
  return is_member_name(name) && !is_listed(attributes, name);
}

/// The number that text of digits says, as netCDF-C writes the parameters of codecs.
std::optional<std::uint64_t> number_in(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  constexpr std::size_t kMostDigits = 18;
  const bool digits = !text.empty() && text.size() <= kMostDigits &&
                      std::all_of(text.begin(), text.end(),
                                  [](unsigned char digit) { return std::isdigit(digit) != 0; });
  if (!digits) return std::nullopt;
  return std::stoull(text);
}

void respell_codec(Json& codec, std::uint32_t type_size) {
  if (!codec.is_object()) return;
  for (auto& [name, value] : codec.items()) {
    if (const auto number = number_in(value)) value = *number;
  }
  const bool of_the_type =
      codec.value("id", Json()) == "shuffle" && codec.value("elementsize", Json()) == 0;
  if (of_the_type && type_size > 0) codec["elementsize"] = type_size;
}

bool has_numbers_as_text(const Json& codec) {
  return codec.is_object() &&
         std::any_of(codec.items().begin(), codec.items().end(),
                     [](const auto& member) { return number_in(member.value()).has_value(); });
}

/// Of a list of codecs of Zarr v3.
void respell_v3_codecs(Json& codecs, std::uint32_t type_size) {
  if (!codecs.is_array()) return;
  for (Json& codec : codecs) {
    const bool shuffle = codec.is_object() && codec.value("name", Json()) == "numcodecs.shuffle" &&
                         codec.contains("configuration") && codec["configuration"].is_object();
    if (shuffle && codec["configuration"].value("elementsize", Json()) == 0) {
      codec["configuration"]["elementsize"] = type_size;
    }
  }
}

}  // namespace

bool is_nczarr_name(std::string_view name) {
  return lower_case(name.substr(0, kPrefix.size())) == kPrefix;
}

bool is_netcdf_root(const Json& attributes) {
  if (!attributes.is_object()) return false;
  return attributes.contains(kProperties) || attributes.contains("_nczarr_superblock") ||
         attributes.contains("_NCZARR_SUPERBLOCK");
}

void take_nczarr_members(const Json& document, Json& attributes) {
  if (!attributes.is_object()) attributes = Json::object();
  Json others = Json::object();
  for (auto& [name, value] : attributes.items()) {
    if (!was_member(attributes, name)) others[name] = value;
  }
  attributes = std::move(others);
  for (const auto& [name, value] : document.items()) {
    if (is_member_name(name)) attributes[name] = value;
  }
}

void show_nczarr_members(const Json& attributes, Json& document) {
  if (!attributes.is_object()) return;
  for (const auto& [name, value] : attributes.items()) {
    if (was_member(attributes, name)) document[name] = value;
  }
}

Json without_nczarr_members(Json attributes) {
  if (!attributes.is_object()) return attributes;
  Json others = Json::object();
  for (auto& [name, value] : attributes.items()) {
    if (!was_member(attributes, name)) others[name] = value;
  }
  return others;
}

std::optional<std::vector<std::string>> nczarr_dimensions(const Json& attributes,
                                                          std::size_t rank) {
  if (!attributes.is_object()) return std::nullopt;
  for (const char* member : {"_NCZARR_ARRAY", "_nczarr_array"}) {
    const Json array = attributes.value(member, Json());
    const Json paths = array.is_object() ? array.value("dimrefs", Json()) : Json();
    if (!paths.is_array() || paths.size() != rank || rank == 0) continue;
    std::vector<std::string> names;
    for (const Json& path : paths) {
      if (!path.is_string()) return std::nullopt;
      const auto& text = path.get_ref<const std::string&>();
      names.push_back(last_name(text));
      if (names.back().empty()) return std::nullopt;
    }
    return names;
  }
  return std::nullopt;
}

Json common_words(Json zarray) {
  std::uint32_t type_size = 0;
  if (const Json dtype = zarray.value("dtype", Json()); dtype.is_string()) {
    if (const auto numpy = parse_numpy_type(dtype.get<std::string>())) type_size = numpy->type.size;
  }
  if (zarray.contains("compressor")) respell_codec(zarray["compressor"], type_size);
  if (zarray.contains("filters") && zarray["filters"].is_array()) {
    for (Json& filter : zarray["filters"]) respell_codec(filter, type_size);
  }
  return zarray;
}

void respell_codecs(Json& document) {
  const auto type = parse_data_type(document.value("data_type", Json()));
  if (!type || type->size == 0 || !document.contains("codecs")) return;
  Json& codecs = document["codecs"];
  respell_v3_codecs(codecs, type->size);
  const bool sharded = codecs.is_array() && codecs.size() == 1 && codecs[0].is_object() &&
                       codecs[0].value("name", Json()) == "sharding_indexed" &&
                       codecs[0].contains("configuration") &&
                       codecs[0]["configuration"].is_object() &&
                       codecs[0]["configuration"].contains("codecs");
  if (sharded) respell_v3_codecs(codecs[0]["configuration"]["codecs"], type->size);
}

bool is_netcdf_zarray(const Json& zarray) {
  const Json filters = zarray.value("filters", Json());
  return has_numbers_as_text(zarray.value("compressor", Json())) ||
         (filters.is_array() && std::any_of(filters.begin(), filters.end(), has_numbers_as_text)) ||
         std::any_of(zarray.items().begin(), zarray.items().end(),
                     [](const auto& member) { return is_member_name(member.key()); });
}

std::string why_not_kept(const Json& zarray) {
  const Json dtype = zarray.value("dtype", Json());
  if (dtype != "<U1" && dtype != ">U1") return {};
  return "netCDF-C 4.9.0 writes characters as " + dtype.get<std::string>() +
         ", of four bytes each, and a single byte for each into the chunks, which nothing else can "
         "read; write them with netCDF-C 4.9.2 or newer, or leave the variable out";
}

bool is_netcdf_print(const Json& written, const Json& read) {
  if (!written.is_number() || !read.is_number_float()) return false;
  constexpr int kDigits = 6;
  std::array<char, 32> text{};
  char* const begin = text.data();
  const auto printed = std::to_chars(begin, begin + text.size(), read.get<double>(),
                                     std::chars_format::general, kDigits);
  double value = 0;
  const auto parsed = std::from_chars(begin, printed.ptr, value);
  return printed.ec == std::errc() && parsed.ec == std::errc() && written.get<double>() == value;
}

bool is_netcdf_default_fill(const DataType& type, ByteView element) {
  constexpr double kFloat = 9.9692099683868690e+36;  // NC_FILL_FLOAT, NC_FILL_DOUBLE
  constexpr double kWritten = 9.96921e+36;           // as netCDF-C's documents have it
  const auto is = [&](const Json& value) {
    const auto parsed = parse_fill_value(type, value, false);
    return parsed && std::equal(parsed->begin(), parsed->end(), element.begin(), element.end());
  };
  const bool is_signed = type.kind == TypeKind::kInt;
  if (type.kind == TypeKind::kFloat) return is(kFloat) || is(kWritten);
  if (!is_signed && type.kind != TypeKind::kUint) return false;
  switch (type.size) {
    case 1: return is_signed ? is(-127) : is(255);
    case 2: return is_signed ? is(-32767) : is(65535);
    case 4: return is_signed ? is(-2147483647) : is(4294967295U);
    default:
      return is_signed ? is(std::numeric_limits<std::int64_t>::min() + 2)
                       : is(std::numeric_limits<std::uint64_t>::max() - 1);
  }
}

}  // namespace zarrfs
