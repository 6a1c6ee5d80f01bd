// Zarr v2 metadata in the words of v3. Source: Zarr v2 specification; numcodecs.
// Pure functions; thread-safe.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/base/result.h"

namespace zarrfs {

/// The v3 document that says what `.zarray` (and `.zattrs`, null where there is none) say.
/// kUnsupported, by name, for what v3 has no word for; kDamaged for malformed documents.
Result<Json> v3_document_of_v2(const Json& zarray, const Json& zattrs, const std::string& path);

}  // namespace zarrfs
