// Zarr v2 metadata in the words of v3. Source: Zarr v2 specification; numcodecs.
// Pure functions; thread-safe.
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace zarrfs {

/// The v3 document that says what `.zarray` (and `.zattrs`, null where there is none) say.
/// kUnsupported, by name, for what v3 has no word for; kDamaged for malformed documents.
Result<Json> v3_document_of_v2(const Json& zarray, const Json& zattrs, const std::string& path);

/// Gives an array's `zarr.json` the names of dimensions that only netCDF-C's own documents, among
/// its attributes, tell, and a note that says so (v2_note.h).
void take_dimensions_of_netcdf(Json& document);

}  // namespace zarrfs
