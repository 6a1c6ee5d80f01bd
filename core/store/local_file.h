// Files of the local file system, by descriptor.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

/// `fd` is open for reading and `status` its status; `name` is for messages. Thread-safe.
std::shared_ptr<File> make_local_file(Fd fd, const struct stat& status, std::string name);

/// `fd` is open for reading and writing; `name` is for messages. Thread-safe.
std::unique_ptr<NewFile> make_local_new_file(Fd fd, std::string name);

}  // namespace zarrfs
