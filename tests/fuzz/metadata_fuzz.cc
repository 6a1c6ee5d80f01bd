// zarr.json of any text, as far as what would be shown of it.
#include "core/base/json.h"
#include "core/metadata/metadata.h"
#include "core/present/presentation.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto node = parse_node(text, "a");
  if (!node) {
    fuzz::require(!node.error().message.empty());
    return 0;
  }
  if (const auto* group = std::get_if<GroupMetadata>(&*node)) {
    group_document(group, ViewFormat::kV2);
    group_document(group, ViewFormat::kV3);
    group_attributes(*group, *choose_profile(ViewOptions{}));
    return 0;
  }
  const auto array = std::make_shared<const ArrayMetadata>(std::get<ArrayMetadata>(*node));
  auto made = Layout::make(*array);
  if (!made) return 0;
  const auto layout = std::make_shared<const Layout>(std::move(*made));
  if (layout->regular() && layout->chunk_count() > 0) {
    std::vector<std::uint64_t> last = layout->chunk_counts();
    for (std::uint64_t& count : last) --count;
    const auto back = layout->chunk_at(layout->place_of(last));
    fuzz::require(back && *back == last);
  }
  for (const char* name : {"generic", "ome", "gdal", "netcdf"}) {
    ViewOptions options;
    options.profile = name;
    present_array("a", array, layout, *choose_profile(options), options, {});
  }
  ViewOptions v3;
  v3.format = ViewFormat::kV3;
  present_array("a", array, layout, *choose_profile(v3), v3, {});
  return 0;
}
