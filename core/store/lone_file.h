// A store whose root is a file: what core/formats shows as an array without a directory around it.
#pragma once

#include <memory>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

/// The file `file` of `directory`, and nothing else of it. Never written.
std::unique_ptr<Store> open_lone_file(std::shared_ptr<Store> directory, std::string file,
                                      std::string name);

}  // namespace zarrfs
