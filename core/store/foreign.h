// Formats that are not Zarr and are taken for it: named by what they begin with, and by the names
// that lie in them, with what reads them.
#pragma once

#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

/// So many bytes of a file tell.
inline constexpr std::size_t kForeignStart = std::size_t{64} << 10U;

/// "a TIFF file; tifffile and GDAL read it", of a file that begins with `start`; nothing where it
/// is not known.
std::optional<std::string> foreign_file(ByteView start);

/// Whether a file that begins with `start` is one of references (kerchunk), in JSON.
bool begins_as_references(ByteView start);

/// "an OCDBT database; TensorStore reads it", of what lies in `store`. What cannot be asked for is
/// not known.
std::optional<std::string> foreign_store(Store& store);

}  // namespace zarrfs
