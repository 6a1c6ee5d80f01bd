// The documents of each directory (.zarray, .zattrs, .zgroup, .zmetadata, or zarr.json): their
// names and texts. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/names/view_parts.h"

namespace zarrfs {

class Documents {
 public:
  explicit Documents(ViewParts& parts) : parts_(parts) {}

  /// Whether the view has documents of this name.
  [[nodiscard]] bool is_document(std::string_view name) const;
  /// Names of the documents in the directory, in the order of listings.
  [[nodiscard]] std::vector<std::string> names(const NodeState& state) const;
  [[nodiscard]] bool shows(const NodeState& state, std::string_view name) const;
  /// The text of a document; none where the directory has none of that name.
  Result<DocumentText> text(const NodeState& state, const std::string& name);
  /// Takes a document out of sight.
  Result<void> remove(const NodeState& state, const std::string& name);

 private:
  /// Whether the document is one that a program would have to write where there is no view.
  [[nodiscard]] bool is_synthesized(const NodeState& state, const std::string& name) const;

  ViewParts& parts_;
};

/// Whether documents of Zarr v2 are called so.
bool is_v2_document(std::string_view name);

inline constexpr const char* kStoredDocument = "zarr.json";

}  // namespace zarrfs
