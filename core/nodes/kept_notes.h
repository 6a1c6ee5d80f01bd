// The documents that programs write, with the notes of those that they replace
// (core/metadata/v2_note.h).
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/nodes/node_state.h"

namespace zarrfs {

inline constexpr const char* kAttributeMember = "attributes";

/// The attributes as `document` of the node shows them, with the note of how they are spelled.
Json spelled_attributes(const NodeState& state, const std::string& document);
/// Gives `document`, a `zarr.json` as a program wrote it in place of one with the attributes
/// `stored`, shown as `shown`, the note of those.
void keep_note(const Json& shown, const Json& stored, Json& document);
/// The `zarr.json` of a group.
Json group_of(Json attributes);

}  // namespace zarrfs
