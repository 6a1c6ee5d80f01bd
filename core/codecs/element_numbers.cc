#include "core/codecs/element_numbers.h"

#include "core/base/printable.h"

namespace zarrfs {
namespace {

template <class From, class To>
Bytes convert_elements(ByteView elements) {
  const std::size_t count = elements.size() / sizeof(From);
  Bytes converted(count * sizeof(To));
  for (std::size_t i = 0; i < count; ++i) {
    store_element(converted, i, element_of<To>(number_of(load_element<From>(elements, i))));
  }
  return converted;
}

}  // namespace

bool is_number(const DataType& type) {
  return type.kind == TypeKind::kBool || type.kind == TypeKind::kInt ||
         type.kind == TypeKind::kUint || type.kind == TypeKind::kFloat;
}

Bytes convert_numbers(ByteView elements, const DataType& from, const DataType& to) {
  if (from.kind == to.kind && from.size == to.size && from.kind != TypeKind::kBool) {
    return {elements.begin(), elements.end()};
  }
  return with_number_type(from, [&](auto from_element) {
    return with_number_type(to, [&](auto to_element) {
      return convert_elements<decltype(from_element), decltype(to_element)>(elements);
    });
  });
}

Result<void> check_elements(const char* codec, ByteView bytes, const Elements& elements) {
  if (bytes.size() == elements.bytes()) return {};
  return fail(Fault::kDamaged, std::string(codec) + ": " + std::to_string(bytes.size()) +
                                   " bytes of elements, not " + std::to_string(elements.bytes()));
}

Result<void> require_numbers(const char* codec, const DataType& type) {
  if (is_number(type)) return {};
  return fail(Fault::kUnsupported, "codec " + std::string(codec) + ": data type " +
                                       printable(type.name) + " is not one of numbers");
}

Result<void> require_same_type(const char* codec, const DataType& named, const DataType& type) {
  if (named.kind == type.kind && named.size == type.size) return {};
  return fail(Fault::kDamaged, "codec " + std::string(codec) + ": its dtype " +
                                   printable(named.name) + " is not the data type " +
                                   printable(type.name) + " that reaches it");
}

}  // namespace zarrfs
