// A store at a server that is written to. Files of zarrfs's own (the log, successors: names that
// begin with ".zarrfs") and directories without anything in them are in the spool; what takes
// another name is put to the server, in place of the version that was seen there.
#pragma once

#include <memory>
#include <string>

#include "core/store/object_store.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {

/// `server` shows `objects`.
std::unique_ptr<ObjectStore> make_spooled_store(std::unique_ptr<ObjectStore> server,
                                                std::shared_ptr<RemoteObjects> objects,
                                                std::unique_ptr<Store> spool);

}  // namespace zarrfs
