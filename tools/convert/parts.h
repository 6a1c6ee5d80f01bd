// A conversion that several machines make, each some parts of it: any part on any machine, in any
// order, again and again. The marker in the target is the plan (parts_place.h); a part is a run of
// pieces that follow each other, and a piece is whole in the target or absent.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "tools/convert/convert.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {

struct PartsStep {
  enum class Kind {
    kBegin,   ///< Writes the marker.
    kPart,    ///< Makes part `part` of `parts`.
    kFinish,  ///< Names what is missing, or makes the result a store.
    kStatus,  ///< Tells how far it is.
  };
  Kind kind = Kind::kBegin;
  std::uint64_t part = 0;   ///< From 1.
  std::uint64_t parts = 0;  ///< 0: kBegin does not say.
  bool json = false;        ///< Of kStatus.
};

/// Returns the exit status.
Result<int> convert_in_parts(const Console& console, const std::string& source,
                             const std::string& target, const ConversionOptions& options,
                             const PartsStep& step);

}  // namespace zarrfs::tools
