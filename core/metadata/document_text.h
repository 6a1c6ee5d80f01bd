// Cuts one member's value out of the text of a JSON document before it is parsed: consolidated
// metadata may be many times larger than the rest, and is not needed to read a node.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace zarrfs {

struct CutText {
  std::string text;        ///< The document with `null` in place of the value.
  bool had_value = false;  ///< Whether the member was there with another value than null.
};

/// Puts `null` in place of the value of `member` of the outermost object. The value's own text is
/// skipped by its brackets and strings only. Text that is no JSON stays no JSON. Memory is that of
/// the text without the value; time is linear.
CutText cut_member(std::string_view text, std::string_view member);

}  // namespace zarrfs
