// The name of JSON documents, for headers that hand them on: JSON's own header costs each source
// that it reaches more time than most of what else it includes.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace zarrfs {

/// Members keep the order in which the document has them.
using Json = nlohmann::ordered_json;

}  // namespace zarrfs
