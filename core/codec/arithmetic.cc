#include "core/codec/arithmetic.h"

namespace zarrfs {

Result<DataType> numeric_type_member(const Json& configuration, const char* codec,
                                     const char* member, const DataType& otherwise) {
  const Json value = configuration.value(member, Json());
  if (value.is_null()) return otherwise;
  const std::string where =
      std::string("codec ") + codec + ": " + member + " is " + printable(dump_json(value));
  if (!value.is_string()) return fail(Fault::kDamaged, where);
  auto parsed = parse_numpy_type(value.get<std::string>());
  if (!parsed || !with_number_type(parsed->type, [](auto) {}))
    return fail(Fault::kUnsupported, where);
  if (parsed->big_endian && parsed->type.size > 1)
    return fail(Fault::kUnsupported, where + ", which its writers do not store so");
  return std::move(parsed->type);
}

}  // namespace zarrfs
