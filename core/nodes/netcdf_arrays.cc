#include "core/nodes/netcdf_arrays.h"

#include "core/base/json.h"
#include "core/metadata/nczarr.h"

namespace zarrfs {

Result<void> NetcdfArrays::check(const std::string& path, const Json& attributes) const {
  if (!is_netcdf_root(attributes)) return {};
  for (const auto& [array, zarray] : shared_.written.written_below(path)) {
    const std::string why = why_not_kept(zarray);
    if (why.empty()) continue;
    return fail(Fault::kInvalid, "/" + path + ": netCDF-C wrote it, and /" + array +
                                     "/.zarray in it cannot be kept: " + why);
  }
  return {};
}

Result<void> NetcdfArrays::take(const std::string& path, const Json& attributes) {
  if (!is_netcdf_root(attributes)) return {};
  ZARRFS_CHECK(check(path, attributes));
  for (const auto& [array, zarray] : shared_.written.written_below(path)) {
    const Json common = common_words(zarray);
    if (same_json(common, zarray)) continue;
    ZARRFS_CHECK(documents_.edit_array(array, [](Json& document) { respell_codecs(document); }));
    shared_.written.set(array, common);
  }
  return {};
}

}  // namespace zarrfs
