// Consolidated metadata: the documents of a whole tree in one. Pure rendering of what the view has
// collected. Source: zarr-python 2 (`.zmetadata`, format 1), Zarr v3 core ("Consolidated metadata",
// kind "inline").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"

namespace zarrfs {

/// The text of `.zmetadata`, built document by document, so that no second tree of JSON is held.
/// One thread at a time.
class ConsolidatedText {
 public:
  /// `ascii`: of the keys; see dump_document().
  explicit ConsolidatedText(bool ascii = true);
  /// Adds the document with the key `path`/`name` relative to the group consolidated: "a/b" and
  /// ".zarray" make "a/b/.zarray"; an empty path is the group itself. Each key is added once.
  /// `text` is the document, which is taken as it is spelled.
  void add(std::string_view path, std::string_view name, std::string_view text);
  /// The whole text, with a final newline. Nothing may be added after.
  std::string finish() &&;

 private:
  bool ascii_;
  std::string text_;
  bool first_ = true;
};

/// The member `consolidated_metadata` of a v3 group: nodes by their path relative to the group, in
/// the order given.
Json inline_consolidated(std::vector<std::pair<std::string, Json>> nodes);
/// Where the attributes of the node at `path` are in the group's document, as a JSON pointer.
std::string consolidated_attributes(const std::string& path);

}  // namespace zarrfs
