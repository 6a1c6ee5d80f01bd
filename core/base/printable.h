// Text from outside, made fit for a line of a log or a message. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace zarrfs {

/// `text` with control characters and bytes that are not UTF-8 escaped, and cut at `limit`: for
/// log lines and messages, so that no store can forge or flood them.
std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace zarrfs
