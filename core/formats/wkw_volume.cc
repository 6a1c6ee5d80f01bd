// webknossos-wrap: a dataset with `datasource-properties.json`, whose layers are images and whose
// magnifications are arrays; or one directory with `header.wkw`. Source: webknossos-wrap,
// README.md; webknossos, "datasource-properties.json Specification".
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/base/json.h"
#include "core/formats/document_fields.h"
#include "core/formats/format.h"
#include "core/formats/made_documents.h"
#include "core/formats/voxel_chunk.h"
#include "core/formats/wkw.h"
#include "core/metadata/chunk_key.h"
#include "core/store/part_file.h"
#include "core/zarr/layout.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr const char* kHeaderName = "header.wkw";
/// The codec that numcodecs calls lz4 has the size of the decoded bytes before the block.
constexpr std::uint64_t kLz4Prefix = sizeof(std::uint32_t);

/// Where the blocks of one directory of wkw files are.
class WkwChunks final : public ChunkSource {
 public:
  WkwChunks(VolumeContext context, std::string directory, WkwHeader header)
      : context_(std::move(context)),
        directory_(std::move(directory)),
        header_(std::move(header)) {}

  [[nodiscard]] Result<std::shared_ptr<File>> find(
      std::span<const std::uint64_t> chunk) const override {
    const std::uint64_t edge = header_.file_edge();
    const std::string path = path_of(chunk);
    ZARRFS_TRY(const std::shared_ptr<const File> file, open_file(path));
    if (file == nullptr) return nullptr;
    auto range = [&]() -> Result<ByteRange> {
      ZARRFS_TRY(const auto index, index_of(*file, path));
      return index->find(
          wkw_block_number({chunk[3] % edge, chunk[2] % edge, chunk[1] % edge}, header_.file_log2));
    }();
    if (!range) return fail(range.error().fault, path + ": " + range.error().message);
    if (!header_.lz4) return std::make_shared<PartFile>(file, path, *range);
    const auto decoded = static_cast<std::uint32_t>(header_.block_bytes());
    return std::make_shared<MadeFile>(FilePlace{file, path, *range}, kLz4Prefix + range->length,
                                      [file, range = *range, decoded]() -> Result<Bytes> {
                                        ZARRFS_TRY(const Bytes block, file->read_range(range));
                                        Bytes bytes;
                                        append_little(bytes, decoded);
                                        bytes.insert(bytes.end(), block.begin(), block.end());
                                        return bytes;
                                      });
  }

  [[nodiscard]] Asked asked_for(std::span<const std::uint64_t> chunk) const override {
    return {path_of(chunk), hint()};
  }

 private:
  [[nodiscard]] std::string path_of(std::span<const std::uint64_t> chunk) const {
    const std::uint64_t edge = header_.file_edge();
    return join_path(directory_, "z" + std::to_string(chunk[1] / edge) + "/y" +
                                     std::to_string(chunk[2] / edge) + "/x" +
                                     std::to_string(chunk[3] / edge) + ".wkw");
  }
  /// A file begins with its header and the table of its blocks.
  [[nodiscard]] OpenHint hint() const {
    const std::uint64_t table = header_.lz4 ? header_.blocks() * sizeof(std::uint64_t) : 0;
    return {OpenHint::Part::kStart, WkwHeader::kBytes + table};
  }

  [[nodiscard]] Result<std::shared_ptr<const File>> open_file(const std::string& path) const {
    auto file = context_.store->open_for(path, hint());
    if (file && *file != nullptr) return std::shared_ptr<const File>(std::move(*file));
    if (!file && file.error().fault == Fault::kInvalid) {
      return fail(Fault::kDamaged, path + ": a directory stands where a file of blocks belongs");
    }
    if (!file) return fail(file.error());
    if (!context_.store->traits().directories) return nullptr;
    for (std::string above = parent_path(path); above.size() > directory_.size();
         above = parent_path(above)) {
      ZARRFS_TRY(const auto status, context_.store->status(above));
      if (status && S_ISDIR(status->st_mode)) break;
      if (status) return fail(Fault::kDamaged, above + ": a file stands where a directory belongs");
    }
    return nullptr;
  }

  [[nodiscard]] Result<std::shared_ptr<const WkwIndex>> index_of(const File& file,
                                                                 const std::string& path) const {
    if (auto kept = std::dynamic_pointer_cast<const WkwIndex>(
            context_.indexes->find(path, file.identity()))) {
      return kept;
    }
    const std::uint64_t start = std::min(WkwHeader::kBytes, file.size());
    ZARRFS_TRY(const Bytes head, file.read_range({0, start}));
    ZARRFS_TRY(const WkwHeader header, parse_wkw_header(head));
    if (!header.same_form(header_)) {
      return fail(Fault::kDamaged, "its header says other blocks or voxels than " +
                                       join_path(directory_, kHeaderName));
    }
    Bytes ends;
    if (header.lz4) {
      const ByteRange table{WkwHeader::kBytes, header.blocks() * sizeof(std::uint64_t)};
      if (!lies_within(table, file.size())) {
        return fail(Fault::kDamaged, "its " + std::to_string(file.size()) +
                                         " bytes cannot hold the table of blocks " +
                                         spell_range(table));
      }
      ZARRFS_TRY(ends, file.read_range(table));
    }
    ZARRFS_TRY(WkwIndex made, WkwIndex::make(header, ends, file.identity()));
    auto index = std::make_shared<const WkwIndex>(std::move(made));
    context_.indexes->insert(path, index);
    return index;
  }

  VolumeContext context_;
  std::string directory_;
  WkwHeader header_;
};

/// The number in "z12" or "x3.wkw"; nothing for other names.
std::optional<std::uint64_t> numbered(std::string_view name, char letter, std::string_view ending) {
  if (!name.starts_with(letter) || !name.ends_with(ending)) return std::nullopt;
  name.remove_prefix(1);
  name.remove_suffix(std::min(ending.size(), name.size()));
  return parse_coordinate(name, std::uint64_t{1} << 31U);
}

/// Voxels up to the end of the last file that exists, along x, y and z.
Result<Extent3> extent_of_files(Store& store, const std::string& directory,
                                const WkwHeader& header) {
  const std::uint64_t edge = header.block_edge() * header.file_edge();
  Extent3 extent{};
  const auto visit = [&](const std::string& at, std::size_t axis,
                         const auto& deeper) -> Result<void> {
    constexpr std::array kLetters = {'x', 'y', 'z'};
    ZARRFS_TRY(const auto entries, store.list(at));
    if (!entries) return {};
    for (const Entry& entry : *entries) {
      const auto number = numbered(entry.name, kLetters.at(axis), axis == 0 ? ".wkw" : "");
      if (!number) continue;
      extent.at(axis) = std::max(extent.at(axis), (*number + 1) * edge);
      if (axis > 0) ZARRFS_CHECK(deeper(join_path(at, entry.name), axis - 1, deeper));
    }
    return {};
  };
  ZARRFS_CHECK(visit(directory, 2, visit));
  return extent;
}

Result<WkwHeader> header_of(const Document& document, const std::string& path) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(document.text.data());
  auto header = parse_wkw_header({bytes, document.text.size()});
  if (header) return header;
  return fail(header.error().fault, path + ": " + header.error().message);
}

/// A directory of wkw files as an array of `extent` voxels along x, y and z.
Result<VolumeNode> array_of(const VolumeContext& context, const std::string& directory,
                            const WkwHeader& header, const Extent3& extent) {
  const std::uint64_t edge = header.block_edge();
  ToldArray told;
  told.shape = {header.channels, extent[2], extent[1], extent[0]};
  told.chunk_shape = {header.channels, edge, edge, edge};
  told.data_type = header.data_type;
  told.dimension_names = {"c", "z", "y", "x"};
  // The channels of a voxel lie beside each other.
  if (header.channels > 1) {
    told.codecs.push_back(codec_named("transpose", {{"order", {1, 2, 3, 0}}}));
  }
  told.codecs.push_back(little_endian_bytes());
  if (header.lz4) told.codecs.push_back(codec_named("numcodecs.lz4", {{"acceleration", 1}}));
  VolumeNode node;
  node.document = array_document_of(told);
  node.counts = {1, divide_up(extent[2], edge), divide_up(extent[1], edge),
                 divide_up(extent[0], edge)};
  const auto chunks = checked_product(node.counts);
  if (!chunks || *chunks > kMaxChunks) {
    return fail(Fault::kUnsupported, directory + ": more than 2^48 blocks");
  }
  node.chunks = std::make_shared<WkwChunks>(context, directory, header);
  return node;
}

/// Parses one datasource-properties.json.
class DatasetReader {
 public:
  DatasetReader(const VolumeContext& context, const Json& properties)
      : context_(context), properties_(properties) {}

  Result<std::shared_ptr<const Volume>> run() {
    auto read = read_all();
    if (read) return std::make_shared<const Volume>(std::move(volume_));
    return fail(read.error().fault, join_path(context_.top, "datasource-properties.json") + ": " +
                                        read.error().message);
  }

 private:
  Result<void> read_all() {
    ZARRFS_CHECK(read_scale());
    ZARRFS_TRY(const Json layers, needed_member(properties_, "dataLayers", ""));
    if (!layers.is_array()) {
      return fail(Fault::kDamaged, "dataLayers is " + brief(layers) + ", not a list");
    }
    volume_[""].document = group_document_of(Json::object());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Json* format = find_member(layers.at(i), "dataFormat");
      if (format != nullptr && *format != "wkw") continue;
      ZARRFS_CHECK(read_layer(layers.at(i), "dataLayers[" + std::to_string(i) + "]"));
    }
    return {};
  }

  Result<void> read_scale() {
    ZARRFS_TRY(Json scale, needed_member(properties_, "scale", ""));
    if (scale.is_object()) {
      const Json* unit = find_member(scale, "unit");
      if (unit != nullptr && unit->is_string()) unit_ = unit->get<std::string>();
      ZARRFS_TRY(scale, needed_member(scale, "factor", "scale"));
    }
    ZARRFS_TRY(voxel_, parse_positive3(scale, "scale"));
    return {};
  }

  Result<void> read_layer(const Json& layer, const std::string& field) {
    ZARRFS_TRY(const Json spelled, needed_member(layer, "name", field));
    const std::string name = spelled.is_string() ? spelled.get<std::string>() : std::string();
    if (!fits_a_name(name)) {
      return fail(Fault::kDamaged, field + ".name is " + brief(spelled) + ", which is no name");
    }
    ZARRFS_TRY(const Extent3 end, end_of_box(layer, field));
    std::vector<ToldScale> scales;
    ZARRFS_TRY(const auto mags, mags_of(layer, field));
    for (const Mag& mag : mags) {
      ZARRFS_TRY(const auto path, add_mag(name, mag, end));
      if (!path) continue;
      ToldScale scale{*path, voxel_, {}};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        scale.voxel_size.at(axis) *= static_cast<double>(mag.factor.at(axis));
      }
      scales.push_back(std::move(scale));
    }
    if (scales.empty()) return {};
    const Json* category = find_member(layer, "category");
    const bool label = category != nullptr && *category == "segmentation";
    volume_[name].document = group_document_of(ome_attributes(name, unit_, scales, label));
    return {};
  }

  struct Mag {
    Extent3 factor{};
    std::string name;  ///< Of its directory, where the document says it.
  };

  /// `mags`, or `wkwResolutions` of older documents.
  static Result<std::vector<Mag>> mags_of(const Json& layer, const std::string& field) {
    const bool is_new = find_member(layer, "mags") != nullptr;
    const char* list = is_new ? "mags" : "wkwResolutions";
    ZARRFS_TRY(const Json spelled, needed_member(layer, list, field));
    if (!spelled.is_array()) {
      return fail(Fault::kDamaged, field + "." + list + " is " + brief(spelled) + ", not a list");
    }
    std::vector<Mag> mags;
    for (std::size_t i = 0; i < spelled.size(); ++i) {
      const std::string item = field + "." + list + "[" + std::to_string(i) + "]";
      ZARRFS_TRY(Json factor, needed_member(spelled.at(i), is_new ? "mag" : "resolution", item));
      if (factor.is_number()) factor = Json::array({factor, factor, factor});
      Mag mag;
      ZARRFS_TRY(mag.factor, parse_sizes3(factor, item, 1));
      const Json* path = find_member(spelled.at(i), "path");
      if (path != nullptr && path->is_string()) {
        const std::string text = path->get<std::string>();
        mag.name = last_name(text);
      }
      mags.push_back(std::move(mag));
    }
    return mags;
  }

  static bool fits_a_name(const std::string& name) {
    return is_plain_name(name) && name.size() < 256;
  }

  /// The voxels of the finest magnification from 0 to the end of the layer's box.
  static Result<Extent3> end_of_box(const Json& layer, const std::string& field) {
    ZARRFS_TRY(const Json box, needed_member(layer, "boundingBox", field));
    const std::string name = field + ".boundingBox";
    ZARRFS_TRY(const Json corner, needed_member(box, "topLeft", name));
    ZARRFS_TRY(Extent3 end, parse_sizes3(corner, name + ".topLeft", 0));
    constexpr std::array kEdges = {"width", "height", "depth"};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      ZARRFS_TRY(const std::uint64_t edge, whole_member(box, kEdges.at(axis), name));
      end.at(axis) += edge;  // two numbers of at most 2^53
    }
    return end;
  }

  /// The name of the magnification's directory; nothing where it has none.
  Result<std::optional<std::string>> add_mag(const std::string& layer, const Mag& mag,
                                             const Extent3& end) {
    const std::uint64_t x = mag.factor[0];
    const std::uint64_t y = mag.factor[1];
    const std::uint64_t z = mag.factor[2];
    const std::string long_name =
        std::to_string(x) + "-" + std::to_string(y) + "-" + std::to_string(z);
    std::vector<std::string> names;
    if (fits_a_name(mag.name)) names.push_back(mag.name);
    if (x == y && y == z) names.push_back(std::to_string(x));
    names.push_back(long_name);
    for (const std::string& name : names) {
      const std::string directory = join_path(join_path(context_.top, layer), name);
      const std::string path = join_path(directory, kHeaderName);
      ZARRFS_TRY(const auto document, context_.store->read_document(path, kMaxMarker));
      if (!document) continue;
      VolumeNode& node = volume_[join_path(layer, name)];
      auto made = [&]() -> Result<VolumeNode> {
        ZARRFS_TRY(const WkwHeader header, header_of(*document, path));
        const Extent3 extent{divide_up(end[0], x), divide_up(end[1], y), divide_up(end[2], z)};
        return array_of(context_, directory, header, extent);
      }();
      if (made) {
        node = std::move(*made);
      } else {
        node.error = std::move(made.error());
      }
      return name;
    }
    return std::nullopt;
  }

  const VolumeContext& context_;
  const Json& properties_;
  Volume volume_;
  std::array<double, 3> voxel_{};
  std::string unit_ = "nanometer";
};

}  // namespace

Result<std::shared_ptr<const Volume>> open_wkw_dataset(const VolumeContext& context,
                                                       const Document& properties) {
  const std::string name = join_path(context.top, "datasource-properties.json");
  ZARRFS_TRY(const Json json, parse_json(properties.text, name, {.bytes = kMaxMarker}));
  return DatasetReader(context, json).run();
}

Result<std::shared_ptr<const Volume>> open_wkw_directory(const VolumeContext& context,
                                                         const Document& header) {
  ZARRFS_TRY(const WkwHeader parsed, header_of(header, join_path(context.top, kHeaderName)));
  ZARRFS_TRY(const Extent3 extent, extent_of_files(*context.store, context.top, parsed));
  ZARRFS_TRY(VolumeNode node, array_of(context, context.top, parsed, extent));
  auto volume = std::make_shared<Volume>();
  volume->emplace("", std::move(node));
  return volume;
}

}  // namespace zarrfs
