// Converts a whole store: arrays as planned, everything else copied, metadata made true.
//
// The result is written beside the original, checked, and only then takes its place (in place) or
// is declared complete. A file in the result, .zarrfs-conversion, says what is being made until it
// is complete; a conversion that was killed goes on where it was when it is started again with the
// same arguments.
#pragma once

#include <string>

#include "core/base/result.h"
#include "tools/convert/convert_plan.h"
#include "tools/shared/console.h"
#include "tools/shared/source_options.h"

namespace zarrfs::tools {

/// Whether the fill value of an array means missing data to its readers. Zarr v2 says so by having
/// one (xarray, GDAL), Zarr v3 by the attribute `_FillValue`.
enum class FillMeaning {
  kAuto,     ///< From v2: of arrays with `_ARRAY_DIMENSIONS` that are no level of an image.
  kMissing,  ///< Always: where nothing else is marked.
  kValue,    ///< Never: it is a value as any other.
};

struct ConversionOptions {
  Form form;
  FillMeaning fill = FillMeaning::kAuto;
  std::string profile = "generic";  ///< Readers for which v2 is made.
  bool in_place = false;            ///< `target` is not used.
  bool check_bytes = false;         ///< Compare all bytes with the source's; always so in place.
  unsigned threads = 1;
  SourceOptions source_options = {};
  std::string target_remote = {};  ///< Of a target at one.
};

/// Converts `source` to `target`, a directory, a bucket's URL or an archive, as its name says,
/// which does not exist, is empty, or is the unfinished result of the same conversion. Tells on
/// `console` what became of each array. Returns false where a node does not get the form asked for:
/// it is copied as it is or, where v2 has no words for it and the conversion is not in place, left
/// out, by name. `unfinished` becomes what is left where it fails after something was made.
Result<bool> convert_store(const Console& console, const std::string& source,
                           const std::string& target, const ConversionOptions& options,
                           std::string& unfinished);

/// Removes what an unfinished conversion of `source`, in place or to `target`, left, and says so.
Result<void> discard_conversion(const Console& console, const std::string& source,
                                const std::string& target, const ConversionOptions& options);

}  // namespace zarrfs::tools
