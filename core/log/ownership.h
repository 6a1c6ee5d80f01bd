// Whose a file of the store is that zarrfs has made: that of the file whose place it takes, or that
// of the user who asked for it. Thread-safe.
#pragma once

#include "core/store/store.h"

namespace zarrfs {

/// Gives `made` the owner, group, permission bits, access list and user attributes of `before`,
/// whose name it is to take: the owner first, the bits last, never a set-user-ID bit. Where the
/// group cannot be kept, its members keep what everybody may.
Result<void> keep_ownership(const NewFile& made, const File& before);

/// Gives a new file that is to stand in `directory` to the foreign_caller() of this request, if
/// there is one; its group is the directory's where that hands it down.
Result<void> give_to_caller(Store& store, const NewFile& made, const std::string& directory);

}  // namespace zarrfs
