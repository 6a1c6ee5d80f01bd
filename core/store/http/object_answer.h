// What an answer says about an object, checked against what was asked: nothing in it is believed.
// Source: RFC 9110, sections 13 to 15. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/http/headers.h"
#include "core/store/http/http.h"

namespace zarrfs {

struct ObjectInfo {
  std::uint64_t size = 0;
  Version version;
  std::int64_t modified_ns = 0;  ///< Since 1970; 0 where it is not told.
  std::string generation;        ///< Of Google; empty where it is not told.
  bool operator==(const ObjectInfo&) const = default;
};

/// Bytes of an object: those asked for, or the whole of it where a server sends no ranges.
struct ObjectPart {
  ObjectInfo info;
  std::uint64_t offset = 0;
  Bytes bytes;
};

/// What was asked for.
struct AskedPart {
  enum class Kind { kWhole, kRange, kSuffix };
  Kind kind = Kind::kWhole;
  ByteRange range;  ///< Of kSuffix: only the length.
};

/// The header "Range" for it; nothing for the whole.
std::optional<std::string> range_header(const AskedPart& asked);

/// Of an answer with status 200 or 206. kIo, naming what is wrong, where it does not fit `asked` or
/// contradicts itself.
Result<ObjectPart> read_part(HttpResponse response, const AskedPart& asked,
                             const std::string& name);

/// Of an answer to HEAD with status 200.
Result<ObjectInfo> read_head(const HttpResponse& response, const std::string& name);

}  // namespace zarrfs
