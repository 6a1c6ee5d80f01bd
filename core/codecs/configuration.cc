#include "core/codecs/configuration.h"

#include "core/base/json.h"
#include "core/base/printable.h"

namespace zarrfs {

const Json* Configuration::find(const char* member) const {
  if (!spec_.configuration->is_object()) return nullptr;
  const auto found = spec_.configuration->find(member);
  return found == spec_.configuration->end() || found->is_null() ? nullptr : &*found;
}

tl::unexpected<Error> Configuration::refuse(const char* member, const std::string& reason) const {
  const Json* value = find(member);
  const std::string shown = value == nullptr ? "" : " " + printable(dump_json(*value), 60);
  return fail(Fault::kDamaged,
              "codec " + printable(spec_.name) + ": " + member + shown + " " + reason);
}

Result<std::int64_t> Configuration::integer(const char* member, std::int64_t low, std::int64_t high,
                                            std::optional<std::int64_t> fallback) const {
  const Json* value = find(member);
  if (value == nullptr) {
    if (fallback) return *fallback;
    return refuse(member, "is missing");
  }
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX);
  if (!fits || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high) {
    return refuse(member,
                  "is not an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value->get<std::int64_t>();
}

Result<double> Configuration::number(const char* member) const {
  const Json* value = find(member);
  if (value == nullptr) return refuse(member, "is missing");
  if (!value->is_number()) return refuse(member, "is not a number");
  return value->get<double>();
}

Result<std::string> Configuration::string(const char* member,
                                          std::optional<std::string> fallback) const {
  const Json* value = find(member);
  if (value == nullptr) {
    if (fallback) return *std::move(fallback);
    return refuse(member, "is missing");
  }
  if (!value->is_string()) return refuse(member, "is not a string");
  return value->get<std::string>();
}

Result<bool> Configuration::boolean(const char* member, bool fallback) const {
  const Json* value = find(member);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return refuse(member, "is neither true nor false");
  return value->get<bool>();
}

Result<DataType> Configuration::numpy_type(const char* member, const DataType& fallback) const {
  const Json* value = find(member);
  if (value == nullptr) return fallback;
  if (!value->is_string()) return refuse(member, "is not the name of a numpy type");
  auto numpy = parse_numpy_type(value->get_ref<const std::string&>());
  if (!numpy) return refuse(member, "is not the name of a numpy type of numbers");
  if (numpy->big_endian) {
    return fail(Fault::kUnsupported, "codec " + printable(spec_.name) + ": " + member + " " +
                                         printable(dump_json(*value), 60) +
                                         " asks for big-endian elements, which writers of Zarr v3 "
                                         "store little-endian");
  }
  return std::move(numpy->type);
}

}  // namespace zarrfs
