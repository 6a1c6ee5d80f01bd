#include "tools/shared/shown.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/printable.h"
#include "core/chunks/zstd_frames.h"
#include "core/metadata/grid.h"
#include "core/present/cf_mask.h"
#include "core/present/profile_file.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

Result<bool> lies_in_image(const Source& source, const std::string& path) {
  if (path.empty()) return false;
  ZARRFS_TRY(const SourceNode parent, load_source_node(*source.store, parent_path(path)));
  return parent.node.group &&
         (is_ome(parent.node.group->attributes) || is_ome04(parent.node.group->attributes));
}

}  // namespace

// The names of dimensions of the arrays in one group.
struct GroupDimensions {
  std::string group;
  std::set<std::string> ambiguous;  // have several lengths
  bool named = false;               // some array's have names
};

namespace {

Result<std::shared_ptr<const GroupDimensions>> dimensions_in(const Source& source,
                                                             const std::string& group) {
  auto found = std::make_shared<GroupDimensions>();
  found->group = group;
  const auto listed = source.store->list(group);
  if (!listed && listed.error().fault == Fault::kUnsupported) return found;  // nothing tells names
  if (!listed) return fail(listed.error());
  const auto& entries = *listed;
  if (!entries) return found;
  std::map<std::string, std::uint64_t> sizes;
  for (const Entry& entry : *entries) {
    if (entry.kind != EntryKind::kDirectory) continue;
    ZARRFS_TRY(const SourceNode node,
               load_source_node(*source.store, join_path(group, entry.name)));
    if (!node.node.array) continue;
    const ArrayMetadata& array = *node.node.array;
    found->named = found->named || (!array.shape.empty() && has_dimension_names(array));
    for (std::size_t axis = 0; axis < array.dimension_names.size(); ++axis) {
      const auto& name = array.dimension_names[axis];
      if (!name) continue;
      const auto known = sizes.emplace(*name, array.shape[axis]).first;
      if (known->second != array.shape[axis]) found->ambiguous.insert(*name);
    }
  }
  return found;
}

// What the names of dimensions of one group's arrays tell of each.
Result<void> look_at_siblings(const Source& source, const SourceArray& around, const ShownAs& as,
                              ArrayCircumstances& circumstances) {
  if (around.path.empty()) return {};
  const std::string parent = parent_path(around.path);
  if (as.group == nullptr || as.group->group != parent) {
    ZARRFS_TRY(as.group, dimensions_in(source, parent));
  }
  const auto& names = around.node.node.array->dimension_names;
  circumstances.omit_dimension_names =
      std::any_of(names.begin(), names.end(),
                  [&](const auto& name) { return name && as.group->ambiguous.contains(*name); });
  // zarr-python 3 writes no names where there are no axes: they are none then, not unknown.
  if (as.group->named && around.node.node.array->shape.empty()) {
    circumstances.dimensions = std::make_shared<const DimensionNames>();
  }
  return {};
}

// Looks at the first chunk of the first, a middle and the last shard.
Result<bool> sampled_frames_lack_size(const Source& source, const SourceArray& array) {
  const auto frame = zstd_frame_offset(array.node.node.layout->chunk_chain());
  if (!frame) return false;
  const auto reader = source.reader(array.path, array.node);
  ZARRFS_TRY(const StoredShards stored,
             list_shards(*source.store, array.path, *array.node.node.array));
  if (stored.cells.empty()) return false;
  const auto counts = reader->layout().grid().counts();
  for (const std::size_t sample :
       {std::size_t{0}, stored.cells.size() / 2, stored.cells.size() - 1}) {
    const auto cell = coordinates_of(stored.cells[sample], counts);
    std::optional<std::vector<std::uint64_t>> chunk;
    if (!reader->layout().sharded()) chunk = cell;
    const auto take_first = [&](const ArrayReader::Visited& visited) {
      chunk = visited.chunk;
      return false;
    };
    if (!chunk && !reader->visit_shard(cell, 0, take_first)) continue;
    if (!chunk) continue;
    const auto found = reader->find_chunk(*chunk);
    if (!found || !*found) continue;
    ChunkBytes head = **found;
    if (head.range.length < *frame + kZstdFrameStart) continue;
    head.range = {head.range.offset + *frame, kZstdFrameStart};
    const auto bytes = head.read();
    if (bytes && zstd_lacks_size(*bytes)) return true;
  }
  return false;
}

}  // namespace

Result<ShownAs> ShownAs::choose(const std::string& view, const std::string& profile,
                                const std::string& fill) {
  ShownAs as;
  if (view != "v2" && view != "v3") {
    return fail(Fault::kInvalid, "--view " + printable(view) + ": it is v2 or v3");
  }
  as.options.format = view == "v2" ? ViewFormat::kV2 : ViewFormat::kV3;
  ZARRFS_CHECK(take_profile(as.options, profile));
  if (!fill.empty()) as.options.columns.emplace_back("fill", fill);
  ZARRFS_TRY(as.profile, choose_profile(as.options));
  return as;
}

Result<Presentation> presentation_of(const Source& source, const SourceArray& array,
                                     const ShownAs& as) {
  ArrayCircumstances circumstances;
  ZARRFS_TRY(circumstances.in_ome_image, lies_in_image(source, array.path));
  ZARRFS_TRY(circumstances.image_level, is_image_level(*source.store, array.path));
  ZARRFS_CHECK(look_at_siblings(source, array, as, circumstances));
  ZARRFS_TRY(circumstances.zstd_without_size, sampled_frames_lack_size(source, array));
  if (as.profile.as_noted) {
    ZARRFS_TRY(circumstances.netcdf_wrote, is_of_netcdf(*source.store, array.path));
  }
  return present_array(array.path, array.node.node.array, array.node.node.layout, as.profile,
                       as.options, circumstances);
}

std::string describe_rule(const Presentation& presentation) {
  if (presentation.hidden) return "hidden: " + presentation.reason;
  std::string text;
  switch (presentation.rule) {
    case ByteRule::kVerbatim: text = "verbatim"; break;
    case ByteRule::kTrim: text = "without a checksum"; break;
    case ByteRule::kBloscWrap: text = "in another container"; break;
    case ByteRule::kDecode: text = "decoded"; break;
    case ByteRule::kRechunk: text = "in other chunks"; break;
  }
  if (!presentation.reason.empty()) text += ": " + presentation.reason;
  return text;
}

}  // namespace zarrfs::tools
