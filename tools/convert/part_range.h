// Which pieces of an array a part visits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "tools/convert/convert_array.h"
#include "tools/shared/part.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {

/// The pieces of `range` that there is something to make of, as far as that is known without
/// looking at each: all of them, but where they are too many to be visited.
Result<std::vector<std::uint64_t>> pieces_within(const Source& source, const ArrayWork& work,
                                                 NumberRange range);

}  // namespace zarrfs::tools
