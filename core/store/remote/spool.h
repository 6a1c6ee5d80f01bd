// Where a mount that writes to a server keeps what is not there yet: a directory of this machine,
// one for each URL. It is no cache: what is in it is nowhere else. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/http/options.h"
#include "core/store/store.h"

namespace zarrfs {

/// The directory of all spools where none is named: $XDG_STATE_HOME/zarrfs/spool, or that of
/// ~/.local/state; root's is /var/lib/zarrfs/spool. kInvalid where there is no home.
Result<std::string> default_spool();

/// Opens the spool of the store at `url` of `server`, and makes it where there is none, for its
/// owner alone. kUnsupported where it would lie in memory and `options` do not allow that; kDenied
/// where it is another user's.
Result<std::unique_ptr<Store>> open_spool(const RemoteOptions& options, const std::string& server,
                                          const std::string& url);

/// The URLs of the stores whose spools are below `directory`, or of the one that it is, at most 16;
/// none where it is no spool.
std::vector<std::string> urls_in_spool(const std::string& directory);

/// Removes the directories that hold nothing, but zarrfs's own.
void prune_spool(Store& spool);

}  // namespace zarrfs
