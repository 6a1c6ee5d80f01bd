// What codecs need to say themselves in Zarr v2. Source: numcodecs 0.11. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/codecs/codec.h"

namespace zarrfs {

/// A member of a configuration as it is spelled, or `otherwise` where it is absent.
Json spelled_member(const CodecSpec& spec, const char* name, Json otherwise);
std::string spelled_text(const CodecSpec& spec, const char* name, const std::string& otherwise);

/// {"id": ...} with the name that numcodecs knows the codec by.
Json numcodecs_json(const CodecSpec& spec);

/// A numpy type of a configuration, with the byte order that the elements are stored in. Nothing
/// where it is not one.
std::optional<std::string> stored_typestr(const Json& spelled, bool big_endian);

/// Sets `dtype` and `astype` (the same where it is not given); false where they are not types of
/// numpy.
bool set_types(Json& json, const V2Question& question);

}  // namespace zarrfs
