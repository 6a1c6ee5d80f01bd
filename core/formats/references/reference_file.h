// Files of references as kerchunk and VirtualiZarr write them, in JSON. All in one is untrusted.
// Source: kerchunk's specification, versions 0 and 1 ("References specification"), and what fsspec
// takes for one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/formats/references/reference_table.h"

namespace zarrfs {

/// The largest file, in bytes of JSON.
inline constexpr std::size_t kMostReferenceFile = std::size_t{256} << 20U;

/// Parses `text`; `name` is what messages call the file. kDamaged where it is no file of references
/// or contradicts itself, kUnsupported for what zarrfs does not read in one, kTooBig where it tells
/// of too much.
Result<std::shared_ptr<const ReferenceTable>> parse_references(std::string_view text,
                                                               const std::string& name);

}  // namespace zarrfs
