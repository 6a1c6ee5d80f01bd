// The small files of a shared store: each is written once, whole and durable, before it has a name
// that others look for. Thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/store/store.h"
#include "core/store/store_links.h"

namespace zarrfs {

/// Writes and syncs a new file.
Result<void> write_small(Store& store, const std::string& path, std::string_view text);

/// Nothing where there is none, as far as this machine knows.
Result<std::optional<std::string>> read_small(Store& store, const std::string& path);

/// The same of a file that is known to be there: waits until what this machine knows is new enough,
/// at most `patience`.
Result<std::string> await_small(Store& store, const std::string& path,
                                std::chrono::milliseconds patience);

/// What a name step did; kUnsupported where the store has none.
Result<NameStep> add_name(Store& store, const std::string& from, const std::string& to);
Result<NameStep> move_name(Store& store, const std::string& from, const std::string& to);

/// The names in a directory; none where there is no such directory.
Result<std::vector<std::string>> names_in(Store& store, const std::string& directory);

}  // namespace zarrfs
