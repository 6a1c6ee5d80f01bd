// A store in which the volumes of other formats look like Zarr v3: where no zarr.json stands, the
// table of formats is asked. Whatever is not such a volume passes through unchanged.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

/// `store` with its volumes shown as Zarr v3, read-only: writing into one is kReadOnly, by name.
/// A volume is known from the moment its zarr.json is asked for or its directory is listed, and is
/// read anew when its marker changes. Thread-safe. No lock is held across I/O.
std::shared_ptr<Store> with_formats(std::shared_ptr<Store> store);

/// The name of the format that the node at `path` is told by ("Neuroglancer precomputed"), once its
/// zarr.json has been asked for; empty where it is Zarr's own.
std::string format_of(const Store& store, const std::string& path);

}  // namespace zarrfs
