#include "core/formats/open_source.h"

#include <utility>

#include "core/formats/format_store.h"
#include "core/zarr/named_store.h"

namespace zarrfs {

Result<std::shared_ptr<Store>> open_source(const std::string& source, const StoreOptions& options) {
  ZARRFS_TRY(StorePlace place, open_place(source, options));
  std::shared_ptr<Store> shown = with_names(with_formats(std::move(place.store)));
  return place.with_spool ? place.with_spool(std::move(shown)) : shown;
}

}  // namespace zarrfs
