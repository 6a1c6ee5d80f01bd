// Numbers in JSON texts that `Json` does not keep as they are spelled. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace zarrfs {

/// `text` with each bare NaN, Infinity and -Infinity outside strings put into quotes, behind
/// `mark`.
std::string quote_bare_numbers(std::string_view text, std::string_view mark = {});

/// kInvalid where the first value of `text` holds an integer beyond 64 bits, of which `Json` keeps
/// the nearest double only. Where `member` is not empty, only that member of the outermost object
/// counts. `name` is what the message calls the document; it has place and value of the number.
Result<void> check_integers(std::string_view text, std::string_view member,
                            const std::string& name);

}  // namespace zarrfs
