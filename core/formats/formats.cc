#include <array>

#include "core/base/request.h"
#include "core/formats/format.h"

namespace zarrfs {

Result<std::vector<bool>> ChunkSource::present(std::span<const std::uint64_t> prefix,
                                               std::uint64_t count) const {
  std::vector<bool> there;
  std::vector<std::uint64_t> chunk(prefix.begin(), prefix.end());
  chunk.push_back(0);
  for (std::uint64_t& at = chunk.back(); at < count; ++at) {
    ZARRFS_CHECK(check_wanted());
    const auto file = find(chunk);
    there.push_back(!file || *file != nullptr);
  }
  return there;
}

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
