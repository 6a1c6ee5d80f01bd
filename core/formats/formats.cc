#include <array>

#include "core/formats/format.h"

namespace zarrfs {

std::span<const Format> formats() {
  static constexpr std::array kFormats = {
      Format{"Neuroglancer precomputed", "info", 2, open_precomputed},
      Format{"webknossos-wrap", "datasource-properties.json", 2, open_wkw_dataset},
      Format{"webknossos-wrap", "header.wkw", 0, open_wkw_directory},
  };
  return kFormats;
}

}  // namespace zarrfs
