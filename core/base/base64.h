// Base64 with the standard alphabet and padding. Source: RFC 4648, section 4.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace zarrfs {

std::string to_base64(ByteView bytes);

/// The bytes that `text` stands for; nothing where it is not base64 (a wrong length, another
/// character, misplaced padding).
std::optional<Bytes> from_base64(std::string_view text);

}  // namespace zarrfs
