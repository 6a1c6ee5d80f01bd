#include <array>

#include "core/formats/format.h"

namespace zarrfs {

std::span<const Format> formats() {
  static constexpr std::array kFormats = {
      Format{"Neuroglancer precomputed", "info", 2, false, open_precomputed},
      Format{"webknossos-wrap", "datasource-properties.json", 2, false, open_wkw_dataset},
      Format{"webknossos-wrap", "header.wkw", 0, false, open_wkw_directory},
      Format{"Blosc2", ".b2nd", 0, true, open_b2nd},
  };
  return kFormats;
}

}  // namespace zarrfs
