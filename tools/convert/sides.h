// The two sides of a conversion: what is converted, and where to.
#pragma once

#include <string>

#include "core/base/held_json.h"
#include "core/base/result.h"
#include "tools/convert/convert.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {

/// The path of a local source without links, or the URL of another without its query.
Result<std::string> real_path(const std::string& source);
/// The path of a local target without links; kInvalid where it lies within the source.
Result<std::string> target_outside(const std::string& target, const std::string& source_path);

/// Whether the target is to be an archive on this machine: its name alone tells.
bool is_archive_target(const std::string& target);

struct ConversionSides {
  Source source;
  std::string source_path;
  bool source_is_directory = false;
  std::string target_path;  ///< Empty in place.
  bool uploads = false;     ///< The target is at a server.
  bool archives = false;    ///< The target is an archive on this machine.
  HeldJson description;     ///< Tells the conversion from others.
};

Result<ConversionSides> open_sides(const std::string& source_name, const std::string& target_name,
                                   const ConversionOptions& options);

/// Refuses a source that has chunks which are not published, or is itself the unfinished result of
/// a conversion. A conversion in place holds its lock.
Result<void> check_source(const ConversionSides& sides, bool in_place);

}  // namespace zarrfs::tools
