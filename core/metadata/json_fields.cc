#include "core/metadata/json_fields.h"

#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"

namespace zarrfs {

const Json* find_member(const Json& object, const std::string& name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string brief(const Json& value) {
  // A container's text may be as long as the document: its kind says enough.
  if (value.is_object()) return value.empty() ? "{}" : "an object";
  if (value.is_array() && value.size() > kMaxRank) {
    return "a list of " + std::to_string(value.size());
  }
  return printable(dump_json(value), 80);
}

Result<std::uint64_t> parse_size(const Json& value, const std::string& field) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= kMaxSize) {
    return value.get<std::uint64_t>();
  }
  if (value.is_number_integer() && !value.is_number_unsigned() && value.get<std::int64_t>() >= 0) {
    return static_cast<std::uint64_t>(value.get<std::int64_t>());
  }
  return fail(Fault::kDamaged, field + " is " + brief(value) + ", not an integer of 0 to 2^63 - 1");
}

Result<std::vector<std::uint64_t>> parse_sizes(const Json& value, const std::string& field) {
  if (!value.is_array()) {
    return fail(Fault::kDamaged, field + " is " + brief(value) + ", not a list of integers");
  }
  if (value.size() > kMaxRank) {
    return fail(Fault::kUnsupported, field + " has " + std::to_string(value.size()) +
                                         " dimensions, more than " + std::to_string(kMaxRank));
  }
  std::vector<std::uint64_t> sizes;
  sizes.reserve(value.size());
  for (const Json& item : value) {
    ZARRFS_TRY(const std::uint64_t size,
               parse_size(item, field + "[" + std::to_string(sizes.size()) + "]"));
    sizes.push_back(size);
  }
  return sizes;
}

Result<Extension> parse_extension(const Json& value, const std::string& field) {
  Extension extension;
  if (value.is_string()) {
    extension.name = value.get<std::string>();
    return extension;
  }
  const Json* name = find_member(value, "name");
  if (name == nullptr || !name->is_string()) {
    return fail(Fault::kDamaged,
                field + " is " + brief(value) + ", neither a name nor an object with a name");
  }
  extension.name = name->get<std::string>();
  if (const Json* configuration = find_member(value, "configuration")) {
    if (!configuration->is_object()) {
      return fail(Fault::kDamaged,
                  field + ".configuration is " + brief(*configuration) + ", not an object");
    }
    extension.configuration = *configuration;
  }
  return extension;
}

}  // namespace zarrfs
