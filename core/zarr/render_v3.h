// Documents of an array as unsharded Zarr v3, in the 3.0 spelling that every v3 reader knows.
// Source: Zarr v3 core ("Array metadata"). Pure; thread-safe.
#pragma once

#include "core/base/json_fwd.h"
#include "core/metadata/metadata.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// {"name": ..., "configuration": {...}} of a codec; without configuration where it is empty.
Json render_codec(const CodecSpec& spec);

/// The array's zarr.json with its inner chunks as chunks: chunk grid, codecs and key encoding of
/// the unsharded array; codecs that need not be understood and are not known are left out. A grid
/// that is not regular stays rectilinear. Unknown members that need not be understood are kept.
Json render_unsharded(const ArrayMetadata& array, const Layout& layout);

}  // namespace zarrfs
