// Documents as they are shown to programs. Pure functions; thread-safe.
#pragma once

#include <string>

#include "core/base/json.h"

namespace zarrfs {

/// As dump_document(), or, unless `ascii`, in UTF-8. Bytes that are not UTF-8 become U+FFFD.
inline std::string document_text(const Json& value, bool ascii) {
  constexpr int kIndent = 4;
  return value.dump(kIndent, ' ', ascii, Json::error_handler_t::replace) + "\n";
}

}  // namespace zarrfs
