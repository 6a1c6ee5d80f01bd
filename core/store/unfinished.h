// Stores that a conversion has not finished: its marker (own_names.h) is in their root.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

/// That `store` is the unfinished result of a conversion, and what goes on with that; nothing where
/// it is none.
Result<std::optional<std::string>> unfinished_conversion(Store& store);

/// The same, for who only reads. A conversion writes the documents of the root last, so a server is
/// asked for the marker only where these are missing. Nothing where it cannot be told.
std::optional<std::string> unfinished_source(Store& store);

}  // namespace zarrfs
