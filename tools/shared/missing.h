// Which cells of an array its readers take for missing, in Zarr v2 and v3. Source:
// core/present/cf_mask.h; CF conventions, "Missing data". Thread-safe.
#pragma once

#include <set>
#include <string>

#include "core/base/result.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {

/// The values, as `.zarray` would spell them, that readers which follow CF take for missing: of
/// `_FillValue`, or of the fill value of a v2 array (of text and complex numbers, for which v3 has
/// no mark, also of a v3 one) whose axes have names and which is no level of an image; and of
/// `missing_value`. NaN, which is missing wherever it stands, is left out.
Result<std::set<std::string>> missing_values(const Source& source, const SourceArray& array);

/// The values for a message: "none" where there are none.
std::string missing_text(const std::set<std::string>& values);

/// Whether the fill value of a v3 array may mark missing cells although nothing says so, as earlier
/// versions of zarrfs stored arrays of Zarr v2: the axes have names, the fill value is a number
/// that is neither 0 nor NaN, there is neither `_FillValue` nor `missing_value`, and the array is
/// no level of an image. A guess: a program may have meant a value as any other.
Result<bool> may_lack_mark(const Source& source, const SourceArray& array);

}  // namespace zarrfs::tools
