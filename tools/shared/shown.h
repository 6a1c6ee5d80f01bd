// How the arrays of a store would be shown by a mount.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/present/presentation.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {

struct GroupDimensions;

/// The view that a command was asked about, of one source. For one thread.
struct ShownAs {
  ViewOptions options;
  Profile profile;
  /// What was seen of the group that was asked for last, whose arrays come one after the other.
  mutable std::shared_ptr<const GroupDimensions> group;
  /// `view` is "v2" or "v3"; `fill` the profile's column of that name, empty for its own. kInvalid,
  /// naming the value, for an unknown view or profile.
  static Result<ShownAs> choose(const std::string& view, const std::string& profile,
                                const std::string& fill = {});
};

/// The presentation of an array, with what its neighbours and its chunks tell about it. Reads the
/// attributes of the groups above it and the head of a few chunks.
Result<Presentation> presentation_of(const Source& source, const SourceArray& array,
                                     const ShownAs& as);

/// "verbatim", "trimmed", "decoded", ...: what a presentation does to the bytes of chunks.
std::string describe_rule(const Presentation& presentation);

}  // namespace zarrfs::tools
