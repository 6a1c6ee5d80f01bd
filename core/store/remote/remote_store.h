// A store at a server: every key below a URL. Source of what counts as absent: a 404 of the key,
// and nothing else.
#pragma once

#include <memory>
#include <string>

#include "core/store/http/options.h"
#include "core/store/store_place.h"

namespace zarrfs {

/// The objects below the URL `source`. kInvalid where it is none, kDenied where the server refuses.
Result<StorePlace> open_remote_place(const std::string& source, const RemoteOptions& options);

class RemoteObjects;
/// The one that reads `objects`; `name` is for messages.
std::unique_ptr<Store> make_remote_store(std::shared_ptr<RemoteObjects> objects, std::string name);

}  // namespace zarrfs
