// Changes to files of the store that are not Zarr's, as the program's own user: the kernel decides
// whether he may. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

Result<void> make_as_caller(Store& store, const std::string& path, mode_t mode);
Result<void> make_link_as_caller(Store& store, const std::string& path, const std::string& target);
Result<void> remove_as_caller(Store& store, const std::string& path);
Result<void> remove_directory_as_caller(Store& store, const std::string& path);
Result<void> rename_as_caller(Store& store, const std::string& from, const std::string& to);
Result<std::shared_ptr<File>> open_as_caller(Store& store, const std::string& path);
/// See Store::open_plain.
Result<Fd> open_plain_as_caller(Store& store, const std::string& path, int flags, mode_t mode);

}  // namespace zarrfs
