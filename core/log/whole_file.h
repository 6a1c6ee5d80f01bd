// Files that stand in the store whole or not at all: documents, lists, files that were scratch.
// Each is written under a temporary name in `.zarrfs`, where the next writer finds what a kill has
// left (WriteBuffer::take_over), synced, and renamed over the final one. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/store/store.h"

namespace zarrfs {

/// Makes the directory of zarrfs's own files in the store, where it is not there.
Result<void> make_own_directory(Store& store);

/// The path of a file that will lose its name soon: what a kill leaves there is removed by the next
/// writer.
Result<std::string> new_temporary_path(Store& store);

/// Puts a file in place of the one at `path`: what `fill` writes into it, which may be asked twice.
/// The bytes are durable when it returns; the name is where its directory is synced.
Result<void> replace_file(Store& store, const std::string& path, mode_t mode,
                          const std::function<Result<void>(NewFile& file)>& fill);

/// The same in place of the file `expected` (zeros: there is none): kStale where the store can tell
/// that another writer has put another one there.
Result<void> replace_known_file(Store& store, const std::string& path, mode_t mode,
                                const FileIdentity& expected,
                                const std::function<Result<void>(NewFile& file)>& fill);

/// Does it again, a few times, where it fails because another writer came first. `change` begins
/// with reading what it changes.
Result<void> again_where_stale(const std::function<Result<void>()>& change);

Result<void> write_text(NewFile& file, std::string_view text);

}  // namespace zarrfs
