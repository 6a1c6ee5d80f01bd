// A store that is being made of whole files, and in which nothing is changed: each is written where
// it has no name yet, and put under its name when it is complete. create() makes such a file,
// rename() puts it under another name; nothing is put in two pieces.
#pragma once

#include <string>

#include "core/store/store.h"

namespace zarrfs {

class PutStore : public Store {
 public:
  /// Puts the file that create() made at `path`, complete now, under that name. kExists where
  /// something stands there.
  virtual Result<void> publish(const std::string& path) = 0;
};

}  // namespace zarrfs
