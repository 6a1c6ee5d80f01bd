#include "core/codecs/v2_spelling.h"

#include <string_view>

#include "core/base/json.h"

namespace zarrfs {

Json spelled_member(const CodecSpec& spec, const char* name, Json otherwise) {
  if (!spec.configuration->is_object()) return otherwise;
  const auto found = spec.configuration->find(name);
  if (found == spec.configuration->end()) return otherwise;
  return *found;
}

std::string spelled_text(const CodecSpec& spec, const char* name, const std::string& otherwise) {
  const Json value = spelled_member(spec, name, otherwise);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

Json numcodecs_json(const CodecSpec& spec) {
  constexpr std::string_view kPrefix = "numcodecs.";
  const std::string& name = spec.name;
  return Json::object({{"id", name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name}});
}

std::optional<std::string> stored_typestr(const Json& spelled, bool big_endian) {
  if (!spelled.is_string()) return std::nullopt;
  const auto parsed = parse_numpy_type(spelled.get_ref<const std::string&>());
  if (!parsed) return std::nullopt;
  return numpy_typestr(parsed->type, big_endian);
}

bool set_types(Json& json, const V2Question& question) {
  const Json dtype = spelled_member(question.spec, "dtype", nullptr);
  const Json astype = spelled_member(question.spec, "astype", nullptr);
  const auto from = stored_typestr(dtype, question.big_endian);
  const auto to = stored_typestr(astype.is_null() ? dtype : astype, question.big_endian);
  if (!from || !to) return false;
  json["dtype"] = *from;
  json["astype"] = *to;
  return true;
}

}  // namespace zarrfs
