// What programs mean by the fill values that they write in Zarr v2: where they mark missing cells
// by them, the stored `zarr.json` says so by `_FillValue`, in whatever order the documents come.
// docs/semantics.md has the rule, core/present/cf_mask.h what a mark is. Called within one change
// of documents (MetadataEditor).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/nodes/document_store.h"
#include "core/nodes/node_state.h"
#include "core/nodes/view_shared.h"

namespace zarrfs {

class MissingMarks {
 public:
  MissingMarks(ViewShared& shared, DocumentStore& documents)
      : shared_(shared), documents_(documents) {}

  /// `plain` is what `.zarray` as `written` says in v3, with the attributes that are stored;
  /// `shown` what the `.zarray` that is shown says, null where there is none. Gives `plain` its
  /// mark, or takes one that the fill value shown stood for.
  Result<void> take_zarray(const NodeState& state, const Json& written, const Json& shown,
                           Json& plain);
  /// Stores the mark of `plain` for an array that is kept otherwise.
  Result<void> store(const NodeState& state, const Json& plain);

  /// An array's `.zattrs` as `written` by a program that may have `seen` the stored ones: what
  /// `edit` makes of the stored document, with its mark.
  Result<void> take_zattrs(const NodeState& state, const Json& written, bool seen,
                           const std::function<void(Json& document)>& edit);

  /// A group is about to have these attributes: arrays that are the levels of an image are masked
  /// by no program. An error, and the group is not to be changed, where one cannot be told so.
  Result<void> take_group(const std::string& path, const Json& attributes);

 private:
  [[nodiscard]] bool drops_names(const NodeState& state, const Json& written, bool seen) const;
  [[nodiscard]] bool was_only_resized(const std::string& path) const;
  void note_removed(const NodeState& state, const Json& written, bool seen, bool drops_names);
  [[nodiscard]] bool profile_masks() const;
  [[nodiscard]] bool is_fill_given(const std::string& path) const;
  [[nodiscard]] std::optional<Json> fill_given_here(const std::string& path) const;
  [[nodiscard]] bool was_written_as_fill(const NodeState& state) const;
  Result<bool> is_pixels(const std::string& path);

  ViewShared& shared_;
  DocumentStore& documents_;
};

}  // namespace zarrfs
