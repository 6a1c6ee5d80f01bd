// A store whose server tells no names (plain HTTP), listed as far as what is stored in it tells
// them: the nodes of a group from its consolidated metadata, from OME-Zarr's multiscales, plates
// and labels; the objects of an array by asking for each, where there are not too many. Where
// nothing tells, a listing is kUnsupported: it never guesses an empty directory. Every name that is
// asked for is looked up, listed or not. Thread-safe. Its lock is not held across I/O.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/store/store.h"

namespace zarrfs {

/// `store` as it is where it lists, else with names as above.
std::shared_ptr<Store> with_names(std::shared_ptr<Store> store);

/// The paths of nodes below a group, relative to it, as its document tells them; nothing where it
/// does not tell. `document` is a zarr.json, or a .zmetadata, or a .zattrs. Pure function.
std::optional<std::set<std::string>> nodes_named_in(const Json& document);

/// At most so many objects of an array are asked for to list them.
inline constexpr std::uint64_t kMostObjectsAsked = 4096;

}  // namespace zarrfs
