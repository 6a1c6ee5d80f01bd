// Where the chunks of a store lie that lie elsewhere (references, virtual chunks of Icechunk):
// which places its files name, which of them virtual= allows, and whether those answer. Nothing is
// sent to the others. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "core/store/open_store.h"
#include "fs/doctor/doctor_server.h"

namespace zarrfs {

/// Tells each finding as soon as it is made. kUnsupported where `source` can be read and has no
/// chunks elsewhere by its format.
Result<void> examine_places(const std::string& source, const StoreOptions& options,
                            const TellServer& tell);

}  // namespace zarrfs
