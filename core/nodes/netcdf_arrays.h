// Arrays of netCDF-C that are written before the documents of the data set that tell so, as where a
// program copies its files in any order: they are understood as netCDF-C means them once that is
// known. core/metadata/nczarr.h has what it means. Called within one change of documents
// (MetadataEditor).
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/nodes/document_store.h"
#include "core/nodes/view_shared.h"

namespace zarrfs {

class NetcdfArrays {
 public:
  NetcdfArrays(ViewShared& shared, DocumentStore& documents)
      : shared_(shared), documents_(documents) {}

  /// Whether the group at `path` can have these attributes, or members of `.zgroup`: kInvalid where
  /// they tell that netCDF-C wrote an array below that cannot be kept.
  [[nodiscard]] Result<void> check(const std::string& path, const Json& attributes) const;
  /// As check(), and the codecs of the arrays below are stored in words that all readers take
  /// alike.
  Result<void> take(const std::string& path, const Json& attributes);

 private:
  ViewShared& shared_;
  DocumentStore& documents_;
};

}  // namespace zarrfs
