// Members of a codec's configuration, checked while they are read.
// One thread at a time; errors are kDamaged and name codec, member and value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/codecs/codec.h"

namespace zarrfs {

class Configuration {
 public:
  explicit Configuration(const CodecSpec& spec) : spec_(spec) {}

  /// The member, or null where it is absent or null.
  [[nodiscard]] const Json* find(const char* member) const;
  /// An integer within [low, high]; `fallback` where it is absent, an error where that is nothing.
  [[nodiscard]] Result<std::int64_t> integer(const char* member, std::int64_t low,
                                             std::int64_t high,
                                             std::optional<std::int64_t> fallback) const;
  [[nodiscard]] Result<double> number(const char* member) const;
  [[nodiscard]] Result<std::string> string(const char* member,
                                           std::optional<std::string> fallback) const;
  [[nodiscard]] Result<bool> boolean(const char* member, bool fallback) const;
  /// A numpy typestr or name of a number; `fallback` where it is absent.
  [[nodiscard]] Result<DataType> numpy_type(const char* member, const DataType& fallback) const;

  /// An error about a member: "codec gzip: level 12 REASON".
  [[nodiscard]] tl::unexpected<Error> refuse(const char* member, const std::string& reason) const;
  [[nodiscard]] const std::string& codec() const { return spec_.name; }

 private:
  const CodecSpec& spec_;
};

}  // namespace zarrfs
