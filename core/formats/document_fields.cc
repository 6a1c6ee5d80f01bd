#include "core/formats/document_fields.h"

#include <cmath>

#include "core/base/json.h"

namespace zarrfs {
namespace {

constexpr double kMaxWhole = 9007199254740992.0;  // 2^53: what a JSON number holds exactly

tl::unexpected<Error> wrong(const std::string& field, const Json& value,
                            const std::string& wanted) {
  return fail(Fault::kDamaged, field + " is " + brief(value) + ", not " + wanted);
}

Result<void> check_three(const Json& value, const std::string& field) {
  if (value.is_array() && value.size() == 3) return {};
  return wrong(field, value, "a list of three numbers");
}

std::string item(const std::string& field, std::size_t i) {
  return field + "[" + std::to_string(i) + "]";
}

}  // namespace

Result<std::int64_t> parse_whole(const Json& value, const std::string& field) {
  if (!value.is_number()) return wrong(field, value, "a whole number");
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) > kMaxWhole) {
    return wrong(field, value, "a whole number of at most 2^53");
  }
  return static_cast<std::int64_t>(number);
}

Result<std::uint64_t> whole_member(const Json& object, const std::string& name,
                                   const std::string& field) {
  ZARRFS_TRY(const Json value, needed_member(object, name, field));
  ZARRFS_TRY(const std::int64_t number, parse_whole(value, field + "." + name));
  if (number < 0) return wrong(field + "." + name, value, "a number of at least 0");
  return static_cast<std::uint64_t>(number);
}

Result<std::array<std::int64_t, 3>> parse_whole3(const Json& value, const std::string& field) {
  ZARRFS_CHECK(check_three(value, field));
  std::array<std::int64_t, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ZARRFS_TRY(numbers.at(i), parse_whole(value.at(i), item(field, i)));
  }
  return numbers;
}

Result<std::array<std::uint64_t, 3>> parse_sizes3(const Json& value, const std::string& field,
                                                  std::uint64_t least) {
  ZARRFS_TRY(const auto numbers, parse_whole3(value, field));
  std::array<std::uint64_t, 3> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (numbers.at(i) < static_cast<std::int64_t>(least)) {
      return wrong(item(field, i), value.at(i), "a number of at least " + std::to_string(least));
    }
    sizes.at(i) = static_cast<std::uint64_t>(numbers.at(i));
  }
  return sizes;
}

Result<std::array<double, 3>> parse_positive3(const Json& value, const std::string& field) {
  ZARRFS_CHECK(check_three(value, field));
  std::array<double, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Json& one = value.at(i);
    if (!one.is_number() || !std::isfinite(one.get<double>()) || one.get<double>() <= 0) {
      return wrong(item(field, i), one, "a number above 0");
    }
    numbers.at(i) = one.get<double>();
  }
  return numbers;
}

Result<Json> needed_member(const Json& object, const std::string& name, const std::string& field) {
  const Json* member = find_member(object, name);
  if (member != nullptr) return *member;
  return fail(Fault::kDamaged, (field.empty() ? name : field + "." + name) + " is missing");
}

}  // namespace zarrfs
