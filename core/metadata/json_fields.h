// Reads the fields of metadata documents: sizes, lists of sizes and named extensions, each with an
// error that says which field holds what. Source: Zarr v3 core ("Metadata").
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace zarrfs {

/// The largest size or coordinate that metadata may hold, 2^63 - 1: what file offsets and the
/// signed integers of other readers have room for.
inline constexpr std::uint64_t kMaxSize = ~std::uint64_t{0} >> 1U;

/// Dimensions that an array may have at most: the limit of NumPy 1.
inline constexpr std::size_t kMaxRank = 32;

/// The member `name` of an object; null where `object` is none or lacks it.
const Json* find_member(const Json& object, const std::string& name);

/// A value for messages: its JSON, cut short.
std::string brief(const Json& value);

/// An integer of 0 to kMaxSize; kDamaged, with `field` and the value, for anything else.
Result<std::uint64_t> parse_size(const Json& value, const std::string& field);

/// A list of such integers.
Result<std::vector<std::uint64_t>> parse_sizes(const Json& value, const std::string& field);

/// An extension point's value: "name" or {"name": ..., "configuration": {...}}.
struct Extension {
  std::string name;
  Json configuration = Json::object();
};

/// kDamaged where `value` has neither of both forms.
Result<Extension> parse_extension(const Json& value, const std::string& field);

}  // namespace zarrfs
