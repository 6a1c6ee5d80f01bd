// A store at a server that is written to. Files of zarrfs's own (the log, successors: names that
// begin with ".zarrfs") and directories without anything in them are in the spool; what takes
// another name is put to the server, in place of the version that was seen there.
#pragma once

#include <memory>
#include <string>

#include "core/store/remote/remote_objects.h"
#include "core/store/store.h"

namespace zarrfs {

/// `server` shows `objects`, be it in other forms: what it refuses to change is not put.
std::unique_ptr<Store> make_spooled_store(std::shared_ptr<Store> server,
                                          std::shared_ptr<RemoteObjects> objects,
                                          std::unique_ptr<Store> spool);

}  // namespace zarrfs
