// Fields of the formats' JSON documents, each with an error that says which field holds what. Sizes
// are whole numbers, written as integers or (by some programs) with a decimal point.
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/metadata/json_fields.h"

namespace zarrfs {

/// A whole number of -2^53 to 2^53; kDamaged, with `field` and the value, for anything else.
Result<std::int64_t> parse_whole(const Json& value, const std::string& field);

/// The member `name` of `object`, a whole number of at least 0.
Result<std::uint64_t> whole_member(const Json& object, const std::string& name,
                                   const std::string& field);

/// Three whole numbers.
Result<std::array<std::int64_t, 3>> parse_whole3(const Json& value, const std::string& field);

/// Three whole numbers of at least `least`.
Result<std::array<std::uint64_t, 3>> parse_sizes3(const Json& value, const std::string& field,
                                                  std::uint64_t least);

/// Three finite numbers above 0.
Result<std::array<double, 3>> parse_positive3(const Json& value, const std::string& field);

/// The member, or kDamaged where it is missing.
Result<Json> needed_member(const Json& object, const std::string& name, const std::string& field);

}  // namespace zarrfs
