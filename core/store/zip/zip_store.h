// A store that is a zip archive, local or remote: RFC 9 of OME-NGFF (`.ozx`), zarr-python's
// ZipStore. Stored entries are read in place; deflated ones are small documents. The archive is
// read as it was when it was opened.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/store/store.h"

namespace zarrfs {

/// `name` is what messages call it; `within` is the store that the archive is an object of, or null
/// for a local file; `top` is the directory in it that is the store's root. Errors as
/// read_zip_directory's; kInvalid where the archive has no directory `top`.
Result<std::unique_ptr<Store>> open_zip_store(std::shared_ptr<const File> archive,
                                              const std::string& name,
                                              std::shared_ptr<const Store> within,
                                              const std::string& top);

/// Whether `source` is named like an archive: ".zip", ".ozx".
bool has_zip_name(std::string_view source);

}  // namespace zarrfs
