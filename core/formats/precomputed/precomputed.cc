// Neuroglancer's precomputed volumes: a directory with `info`, each scale an array whose chunks are
// files, or lie in shards. Source: neuroglancer, src/datasource/precomputed/volume.md and
// sharded.md; for compressed chunk files, cloud-volume (names with .gz, .zstd, ...).
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/base/json.h"
#include "core/base/lower_case.h"
#include "core/base/printable.h"
#include "core/formats/document_fields.h"
#include "core/formats/format.h"
#include "core/formats/images.h"
#include "core/formats/made_documents.h"
#include "core/formats/precomputed/precomputed_sharding.h"
#include "core/formats/precomputed/segmentation.h"
#include "core/formats/voxel_chunk.h"
#include "core/store/part_file.h"
#include "core/zarr/layout.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

/// No encoding of a chunk is longer than this many times its voxels, and a little.
constexpr std::uint64_t kMaxExpansion = 16;
constexpr std::uint64_t kMaxOverhead = std::uint64_t{1} << 20U;
/// The largest chunk that is made whole or decoded.
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 31U;
constexpr std::uint64_t kMaxChannels = std::uint64_t{1} << 20U;

enum class Encoding { kRaw, kJpeg, kPng, kSegmentation };

struct Scale {
  std::string key;
  Extent3 size{};
  std::array<std::int64_t, 3> offset{};
  std::array<double, 3> resolution{};
  Extent3 chunk{};  ///< Cut to the volume along axes that have one chunk.
  Encoding encoding = Encoding::kRaw;
  std::string encoding_name;
  Extent3 block{8, 8, 8};  ///< Of compressed_segmentation.
  std::optional<PrecomputedSharding> sharding;

  std::uint64_t channels = 1;
  std::string data_type;
  std::uint64_t item = 1;  ///< Bytes of a voxel of one channel.

  [[nodiscard]] Extent3 grid() const {
    return {divide_up(size[0], chunk[0]), divide_up(size[1], chunk[1]),
            divide_up(size[2], chunk[2])};
  }
  [[nodiscard]] bool cuts_chunks() const {
    return size[0] % chunk[0] != 0 || size[1] % chunk[1] != 0 || size[2] % chunk[2] != 0;
  }
  [[nodiscard]] std::uint64_t bytes_of(const Extent3& voxels) const {
    return voxels[0] * voxels[1] * voxels[2] * channels * item;
  }
  /// Whether Zarr is told of a gzip codec: the chunks in shards are compressed, and nothing else.
  [[nodiscard]] bool told_gzip() const {
    return encoding == Encoding::kRaw && sharding && sharding->gzip_data;
  }
};

/// A name that a chunk's file may have, and the codec that its bytes went through.
struct FileForm {
  const char* suffix;
  const char* codec;    ///< Empty: none. Null: one that zarrfs does not know,
  const char* unknown;  ///< which is this one.
};
constexpr std::array kFileForms = {
    FileForm{"", "", ""},
    FileForm{".gz", "gzip", ""},
    FileForm{".zstd", "zstd", ""},
    FileForm{".bz2", "bz2", ""},
    FileForm{".br", nullptr, "Brotli"},
    FileForm{".xz", nullptr, "LZMA"},
};
/// What the first request for a chunk's file brings; the rest is asked for when it is read.
constexpr std::uint64_t kFileStart = std::uint64_t{1} << 20U;

bool begins_like_gzip(const File& file) {
  std::array<std::uint8_t, 2> start{};
  const auto read = file.read_at(0, start);
  return read && *read == start.size() && start[0] == 0x1f && start[1] == 0x8b;
}

/// Where the chunks of one scale are.
class PrecomputedChunks final : public ChunkSource {
 public:
  PrecomputedChunks(VolumeContext context, Scale scale)
      : context_(std::move(context)),
        scale_(std::make_shared<const Scale>(std::move(scale))),
        directory_(join_path(context_.top, scale_->key)) {}

  [[nodiscard]] Result<std::shared_ptr<File>> find(
      std::span<const std::uint64_t> chunk) const override {
    const Extent3 at{chunk[3], chunk[2], chunk[1]};
    return scale_->sharding ? find_in_shard(at) : find_file(at);
  }
  [[nodiscard]] Asked asked_for(std::span<const std::uint64_t> chunk) const override {
    const Extent3 at{chunk[3], chunk[2], chunk[1]};
    if (scale_->sharding) return {shard_path(id_of(at)), hint()};
    return {path_of(at) + kFileForms.at(form_).suffix, hint()};
  }
  /// Files that a server lists need not be asked for one by one.
  [[nodiscard]] Result<std::vector<bool>> present(std::span<const std::uint64_t> prefix,
                                                  std::uint64_t count) const override {
    const StoreTraits traits = context_.store->traits();
    if (scale_->sharding || traits.near || !traits.lists)
      return ChunkSource::present(prefix, count);
    ZARRFS_TRY(const auto entries, context_.store->list(directory_));
    std::unordered_set<std::string_view> names;
    if (entries) {
      for (const Entry& entry : *entries) names.insert(entry.name);
    }
    std::vector<bool> there;
    for (std::uint64_t x = 0; x < count; ++x) {
      const std::string name = file_name({x, prefix[2], prefix[1]});
      there.push_back(std::any_of(kFileForms.begin(), kFileForms.end(), [&](const FileForm& form) {
        return names.contains(name + form.suffix);
      }));
    }
    return there;
  }

 private:
  /// Stored bytes of a chunk.
  struct Stored {
    std::shared_ptr<const File> file;
    std::string path;
    ByteRange range;
    std::string name;   ///< For messages.
    std::string codec;  ///< Around the encoding; empty for none.
  };

  [[nodiscard]] Extent3 extent_at(const Extent3& at) const {
    Extent3 extent{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::uint64_t begin = at.at(axis) * scale_->chunk.at(axis);
      extent.at(axis) = std::min(scale_->chunk.at(axis), scale_->size.at(axis) - begin);
    }
    return extent;
  }

  /// "0-64_0-64_64-100".
  [[nodiscard]] std::string file_name(const Extent3& at) const {
    const Extent3 extent = extent_at(at);
    std::string name;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto begin =
          scale_->offset.at(axis) + static_cast<std::int64_t>(at.at(axis) * scale_->chunk.at(axis));
      if (axis > 0) name += '_';
      name += std::to_string(begin) + "-" +
              std::to_string(begin + static_cast<std::int64_t>(extent.at(axis)));
    }
    return name;
  }

  [[nodiscard]] std::string path_of(const Extent3& at) const {
    return join_path(directory_, file_name(at));
  }
  [[nodiscard]] std::uint64_t id_of(const Extent3& at) const {
    return compressed_morton_code(at, scale_->grid()).value_or(0);
  }
  [[nodiscard]] std::string shard_path(std::uint64_t id) const {
    const PrecomputedSharding& sharding = *scale_->sharding;
    return join_path(directory_, sharding.file_name(sharding.place_of(id).shard));
  }
  /// A shard begins with its index.
  [[nodiscard]] OpenHint hint() const {
    const std::uint64_t bytes = scale_->sharding ? scale_->sharding->index_size() : kFileStart;
    return {OpenHint::Part::kStart, bytes};
  }

  /// The form that the last file had first: all files of a scale have the same.
  [[nodiscard]] Result<std::shared_ptr<File>> find_file(const Extent3& at) const {
    const std::string path = path_of(at);
    const std::size_t last = form_;
    ZARRFS_TRY(const auto usual, open_file(path + kFileForms.at(last).suffix));
    if (usual != nullptr) return chunk_in_file(usual, path, last, at);
    std::vector<std::string> others;
    for (const FileForm& form : kFileForms) others.push_back(path + form.suffix);
    context_.store->expect(others, hint());
    for (std::size_t form = 0; form < kFileForms.size(); ++form) {
      if (form == last) continue;
      ZARRFS_TRY(const auto file, open_file(others[form]));
      if (file == nullptr) continue;
      form_ = form;
      return chunk_in_file(file, path, form, at);
    }
    return check_directory();
  }

  [[nodiscard]] Result<std::shared_ptr<File>> chunk_in_file(const std::shared_ptr<File>& file,
                                                            const std::string& path,
                                                            std::size_t number,
                                                            const Extent3& at) const {
    const FileForm& form = kFileForms.at(number);
    const std::string name = path + form.suffix;
    if (form.codec == nullptr) {
      return fail(Fault::kUnsupported, name + ": is compressed by " + form.unknown +
                                           ", as its name tells, which zarrfs does not read");
    }
    Stored stored{file, name, {0, file->size()}, name, form.codec};
    const bool fits = scale_->encoding != Encoding::kRaw ||
                      stored.range.length == scale_->bytes_of(extent_at(at));
    if (stored.codec.empty() && !fits && begins_like_gzip(*file)) stored.codec = "gzip";
    return chunk_of(std::move(stored), extent_at(at));
  }

  [[nodiscard]] Result<std::shared_ptr<File>> open_file(const std::string& path) const {
    auto file = context_.store->open_for(path, hint());
    if (file || file.error().fault != Fault::kInvalid) return file;
    return fail(Fault::kDamaged, path + ": a directory stands where a file of chunks belongs");
  }

  /// Absence, unless a file stands where the directory of the chunks belongs.
  [[nodiscard]] Result<std::shared_ptr<File>> check_directory() const {
    if (!context_.store->traits().directories) return nullptr;
    ZARRFS_TRY(const auto status, context_.store->status(directory_));
    if (!status || S_ISDIR(status->st_mode)) return nullptr;
    return fail(Fault::kDamaged,
                directory_ + ": a file stands where a directory of chunks belongs");
  }

  [[nodiscard]] Result<std::shared_ptr<File>> find_in_shard(const Extent3& at) const {
    const PrecomputedSharding& sharding = *scale_->sharding;
    const std::uint64_t id = id_of(at);
    const PrecomputedSharding::Place place = sharding.place_of(id);
    const std::string path = shard_path(id);
    ZARRFS_TRY(const auto file, open_file(path));
    if (file == nullptr) return check_directory();
    ZARRFS_TRY(const auto index, minishard(*file, path, place.minishard));
    const auto range = index->find(id);
    if (!range) return nullptr;
    const std::string name = "shard " + path + ": chunk " + std::to_string(id);
    if (!lies_within(*range, file->size()) || range->length == 0) {
      return fail(Fault::kDamaged, name + " " + spell_range(*range) +
                                       (range->length == 0 ? " is empty" : " lies past the end, ") +
                                       (range->length == 0 ? "" : std::to_string(file->size())));
    }
    return chunk_of({file, path, *range, name, sharding.gzip_data ? "gzip" : ""}, extent_at(at));
  }

  [[nodiscard]] Result<std::shared_ptr<const MinishardIndex>> minishard(
      const File& file, const std::string& path, std::uint64_t number) const {
    const std::string key = path + "//" + std::to_string(number);
    if (auto kept = std::dynamic_pointer_cast<const MinishardIndex>(
            context_.indexes->find(key, file.identity()))) {
      return kept;
    }
    auto read = read_minishard(file, number);
    if (!read) {
      return fail(read.error().fault, "shard " + path + ": minishard " + std::to_string(number) +
                                          ": " + read.error().message);
    }
    auto index = std::make_shared<const MinishardIndex>(std::move(*read));
    context_.indexes->insert(key, index);
    return index;
  }

  [[nodiscard]] Result<MinishardIndex> read_minishard(const File& file,
                                                      std::uint64_t number) const {
    const PrecomputedSharding& sharding = *scale_->sharding;
    if (file.size() < sharding.index_size()) {
      return fail(Fault::kDamaged, std::to_string(file.size()) +
                                       " bytes cannot hold the shard index of " +
                                       std::to_string(sharding.index_size()));
    }
    constexpr std::uint64_t kEntry = 16;
    ZARRFS_TRY(const Bytes entry, file.read_range({number * kEntry, kEntry}));
    ZARRFS_TRY(const auto range, minishard_range(entry, sharding, file.size()));
    if (!range) return MinishardIndex::parse({}, sharding, file.identity());
    if (range->length > kMaxIndexBytes) {
      return fail(Fault::kUnsupported, "its index has " + std::to_string(range->length) +
                                           " bytes, more than " + std::to_string(kMaxIndexBytes));
    }
    ZARRFS_TRY(Bytes index, file.read_range(*range));
    if (sharding.gzip_index) {
      ZARRFS_TRY(index, decompress("gzip", index, kMaxIndexBytes));
    }
    return MinishardIndex::parse(index, sharding, file.identity());
  }

  /// The chunk as Zarr has it: the stored bytes where they are the same, else made of them.
  [[nodiscard]] Result<std::shared_ptr<File>> chunk_of(Stored stored, const Extent3& extent) const {
    const Scale& scale = *scale_;
    const bool whole = extent == scale.chunk;
    const bool told_gzip = scale.told_gzip();
    const bool raw = scale.encoding == Encoding::kRaw && stored.codec.empty();
    if (raw && stored.range.length != scale.bytes_of(extent)) {
      return fail(Fault::kDamaged, stored.name + ": " + std::to_string(stored.range.length) +
                                       " bytes, and its voxels are " +
                                       std::to_string(scale.bytes_of(extent)));
    }
    if (whole && (raw || told_gzip)) {
      return std::make_shared<PartFile>(stored.file, stored.path, stored.range);
    }
    const std::uint64_t bytes = scale.bytes_of(scale.chunk);
    if (stored.range.length / kMaxExpansion > scale.bytes_of(extent) + kMaxOverhead) {
      return fail(Fault::kDamaged, stored.name + ": " + std::to_string(stored.range.length) +
                                       " bytes are too many for the " +
                                       std::to_string(scale.bytes_of(extent)) + " of its voxels");
    }
    const FilePlace origin{stored.file, stored.path, stored.range};
    return std::make_shared<MadeFile>(
        origin, told_gzip ? stored_gzip_size(bytes) : bytes,
        [scale = scale_, stored = std::move(stored), extent]() -> Result<Bytes> {
          auto voxels = decode(*scale, stored, extent);
          if (!voxels) {
            return fail(voxels.error().fault, stored.name + ": " + voxels.error().message);
          }
          if (extent != scale->chunk) {
            *voxels = made_whole(*voxels, extent, scale->chunk, scale->channels, scale->item);
          }
          return scale->told_gzip() ? stored_gzip(*voxels) : std::move(*voxels);
        });
  }

  /// The voxels of a stored chunk: x fastest, then y, z and channel.
  static Result<Bytes> decode(const Scale& scale, const Stored& stored, const Extent3& extent) {
    const std::uint64_t size = scale.bytes_of(extent);
    ZARRFS_TRY(Bytes bytes, stored.file->read_range(stored.range));
    if (!stored.codec.empty()) {
      const std::uint64_t limit =
          scale.encoding == Encoding::kRaw ? size : size * kMaxExpansion + kMaxOverhead;
      ZARRFS_TRY(bytes, decompress(stored.codec, bytes, limit));
    }
    const ImageForm image{extent[0] * extent[1] * extent[2], scale.channels, scale.item};
    switch (scale.encoding) {
      case Encoding::kRaw: break;
      case Encoding::kJpeg: return decode_jpeg(bytes, image);
      case Encoding::kPng: return decode_png(bytes, image);
      case Encoding::kSegmentation:
        return decode_segmentation(bytes, {extent, scale.channels, scale.item, scale.block});
    }
    if (bytes.size() == size) return bytes;
    return fail(Fault::kDamaged, std::to_string(bytes.size()) + " bytes, and its voxels are " +
                                     std::to_string(size));
  }

  VolumeContext context_;
  std::shared_ptr<const Scale> scale_;
  std::string directory_;
  mutable std::atomic<std::size_t> form_{0};  ///< Of the file that was found last.
};

/// Parses one document `info`.
class InfoReader {
 public:
  InfoReader(const VolumeContext& context, const Json& info)
      : context_(context), info_(info), name_(join_path(context.top, "info")) {}

  Result<std::shared_ptr<const Volume>> run() {
    auto read = read_all();
    if (read) return std::make_shared<const Volume>(std::move(volume_));
    return fail(read.error().fault, name_ + ": " + read.error().message);
  }

 private:
  Result<void> read_all() {
    ZARRFS_CHECK(read_type());
    ZARRFS_TRY(channels_, whole_member(info_, "num_channels", ""));
    if (channels_ == 0 || channels_ > kMaxChannels) {
      return fail(Fault::kDamaged, "num_channels is " + std::to_string(channels_));
    }
    ZARRFS_TRY(const Json scales, needed_member(info_, "scales", ""));
    if (!scales.is_array() || scales.empty()) {
      return fail(Fault::kDamaged, "scales is " + brief(scales) + ", not a list of scales");
    }
    for (std::size_t i = 0; i < scales.size(); ++i) {
      ZARRFS_CHECK(read_scale(scales.at(i), "scales[" + std::to_string(i) + "]"));
    }
    const Json* type = find_member(info_, "type");
    const std::string name = last_name(context_.top);
    volume_[""].document = group_document_of(
        ome_attributes(name, "nanometer", told_, type != nullptr && *type == "segmentation"));
    return {};
  }

  Result<void> read_type() {
    ZARRFS_TRY(const Json type, needed_member(info_, "data_type", ""));
    data_type_ = lower_case(type.is_string() ? type.get<std::string>() : std::string());
    static const std::set<std::string> kTypes = {"uint8", "uint16", "uint32", "uint64", "int8",
                                                 "int16", "int32",  "int64",  "float32"};
    if (!kTypes.contains(data_type_)) {
      return fail(Fault::kUnsupported,
                  "data_type is " + brief(type) + ", which zarrfs does not know");
    }
    ZARRFS_TRY(const DataType known, parse_data_type(Json(data_type_)));
    item_ = known.size;
    return {};
  }

  Result<void> read_scale(const Json& spelled, const std::string& field) {
    Scale scale;
    scale.channels = channels_;
    scale.data_type = data_type_;
    scale.item = item_;
    ZARRFS_TRY(const Json key, needed_member(spelled, "key", field));
    ZARRFS_TRY(scale.key, parse_key(key, field + ".key"));
    ZARRFS_TRY(const Json size, needed_member(spelled, "size", field));
    ZARRFS_TRY(scale.size, parse_sizes3(size, field + ".size", 0));
    ZARRFS_TRY(const Json resolution, needed_member(spelled, "resolution", field));
    ZARRFS_TRY(scale.resolution, parse_positive3(resolution, field + ".resolution"));
    if (const Json* offset = find_member(spelled, "voxel_offset")) {
      ZARRFS_TRY(scale.offset, parse_whole3(*offset, field + ".voxel_offset"));
    }
    ZARRFS_TRY(scale.chunk, parse_chunk(spelled, field, scale.size));
    const Json* sharding = find_member(spelled, "sharding");
    std::string unknown;
    if (sharding != nullptr && !sharding->is_null()) {
      auto parsed = parse_precomputed_sharding(*sharding, field + ".sharding");
      if (!parsed && parsed.error().fault != Fault::kUnsupported) return fail(parsed.error());
      if (parsed) scale.sharding = *parsed;
      if (!parsed) unknown = "sharding";
    }
    ZARRFS_CHECK(read_encoding(spelled, field, scale));
    ZARRFS_CHECK(check_size(scale, field));
    return add(std::move(scale), field, unknown);
  }

  /// A path of plain names below the volume.
  static Result<std::string> parse_key(const Json& key, const std::string& field) {
    const std::string path = key.is_string() ? key.get<std::string>() : std::string();
    std::string_view rest = path;
    bool plain = !path.empty() && path.size() < 256;
    while (plain && !rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find('/'));
      plain = !part.empty() && part != "." && part != ".." && part.find('\0') == part.npos;
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    }
    if (plain && path.back() != '/') return path;
    return fail(Fault::kUnsupported,
                field + " is " + brief(key) + ", which is no name below the volume's directory");
  }

  static Result<Extent3> parse_chunk(const Json& spelled, const std::string& field,
                                     const Extent3& size) {
    ZARRFS_TRY(const Json sizes, needed_member(spelled, "chunk_sizes", field));
    if (!sizes.is_array() || sizes.empty()) {
      return fail(Fault::kDamaged, field + ".chunk_sizes is " + brief(sizes) + ", not a list");
    }
    ZARRFS_TRY(Extent3 chunk, parse_sizes3(sizes.at(0), field + ".chunk_sizes[0]", 1));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      chunk.at(axis) = std::min(chunk.at(axis), std::max<std::uint64_t>(size.at(axis), 1));
    }
    return chunk;
  }

  static Result<void> read_encoding(const Json& spelled, const std::string& field, Scale& scale) {
    ZARRFS_TRY(const Json encoding, needed_member(spelled, "encoding", field));
    scale.encoding_name = encoding.is_string() ? encoding.get<std::string>() : brief(encoding);
    if (scale.encoding_name == "jpeg") scale.encoding = Encoding::kJpeg;
    if (scale.encoding_name == "png") scale.encoding = Encoding::kPng;
    if (scale.encoding_name != "compressed_segmentation") return {};
    scale.encoding = Encoding::kSegmentation;
    if (scale.item != 4 && scale.item != 8) {
      return fail(Fault::kDamaged, field + ".encoding is compressed_segmentation, and data_type " +
                                       scale.data_type + " is neither uint32 nor uint64");
    }
    ZARRFS_TRY(const Json block,
               needed_member(spelled, "compressed_segmentation_block_size", field));
    ZARRFS_TRY(scale.block, parse_sizes3(block, field + ".compressed_segmentation_block_size", 1));
    for (const std::uint64_t edge : scale.block) {
      if (edge <= 1024) continue;
      return fail(Fault::kUnsupported, field + ".compressed_segmentation_block_size is " +
                                           brief(block) + ", larger than 1024");
    }
    return {};
  }

  /// Sizes that later arithmetic relies on.
  static Result<void> check_size(const Scale& scale, const std::string& field) {
    const std::array<std::uint64_t, 5> factors{scale.chunk[0], scale.chunk[1], scale.chunk[2],
                                               scale.channels, scale.item};
    const auto bytes = checked_product(factors);
    if (!bytes || *bytes > kMaxChunkBytes) {
      return fail(Fault::kUnsupported, field + ".chunk_sizes: a chunk has more than 2 GiB");
    }
    const Extent3 grid = scale.grid();
    const auto chunks = checked_product(grid);
    const bool ids_fit = compressed_morton_code(Extent3{}, grid).has_value();
    if (chunks && *chunks <= kMaxChunks && (!scale.sharding || ids_fit)) return {};
    return fail(Fault::kUnsupported, field + ".size: more than 2^48 chunks");
  }

  Result<void> add(Scale scale, const std::string& field, const std::string& unknown) {
    static const std::set<std::string> kEncodings = {"raw", "jpeg", "png",
                                                     "compressed_segmentation"};
    ToldArray told;
    told.shape = {scale.channels, scale.size[2], scale.size[1], scale.size[0]};
    told.chunk_shape = {scale.channels, scale.chunk[2], scale.chunk[1], scale.chunk[0]};
    told.data_type = scale.data_type;
    told.dimension_names = {"c", "z", "y", "x"};
    told.attributes["neuroglancer_precomputed"] = {{"encoding", scale.encoding_name},
                                                   {"resolution", scale.resolution},
                                                   {"voxel_offset", scale.offset}};
    told.codecs.push_back(little_endian_bytes());
    if (scale.told_gzip()) told.codecs.push_back(codec_named("gzip", {{"level", 6}}));
    // What zarrfs cannot decode is shown as a codec that it does not know: the array is hidden.
    const std::string hidden =
        kEncodings.contains(scale.encoding_name) ? unknown : scale.encoding_name;
    if (!hidden.empty()) told.codecs.push_back(codec_named("neuroglancer_precomputed." + hidden));
    told_.push_back({scale.key, scale.resolution, scale.offset});
    VolumeNode node;
    node.document = array_document_of(told);
    const Extent3 grid = scale.grid();
    node.counts = {1, grid[2], grid[1], grid[0]};
    const std::string key = scale.key;
    node.chunks = std::make_shared<PrecomputedChunks>(context_, std::move(scale));
    if (volume_.emplace(key, std::move(node)).second) return {};
    return fail(Fault::kDamaged, field + ".key: two scales are called " + printable(key));
  }

  const VolumeContext& context_;
  const Json& info_;
  std::string name_;
  Volume volume_;
  std::vector<ToldScale> told_;
  std::uint64_t channels_ = 1;
  std::string data_type_;
  std::uint64_t item_ = 1;
};

}  // namespace

Result<std::shared_ptr<const Volume>> open_precomputed(const VolumeContext& context,
                                                       const Document& info) {
  const std::string name = join_path(context.top, "info");
  const auto json = parse_json(info.text, name, {.bytes = kMaxMarker});
  if (!json || !json->is_object()) {
    if (info.text.find("neuroglancer_multiscale_volume") == std::string::npos) return nullptr;
    return fail(json ? Error{Fault::kDamaged, name + ": is no JSON object"} : json.error());
  }
  const Json* type = find_member(*json, "@type");
  const bool ours = type == nullptr ? find_member(*json, "scales") != nullptr
                                    : *type == "neuroglancer_multiscale_volume";
  if (!ours) return nullptr;
  return InfoReader(context, *json).run();
}

}  // namespace zarrfs
