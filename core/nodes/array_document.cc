#include "core/nodes/array_document.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "core/base/json.h"
#include "core/codecs/codec.h"
#include "core/metadata/chunk_key.h"
#include "core/metadata/v2_metadata.h"
#include "core/present/presentation.h"
#include "core/zarr/layout.h"
#include "core/zarr/shard_form.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr const char* kKeyEncoding = "chunk_key_encoding";
/// Chunks that a shard of a new array has room for, however small the array is, along its first
/// axis: appending must not make a shard of each slice.
constexpr std::uint64_t kRoomToGrow = 1024;

/// Elements of a sample along an axis: a power of 2, so that filters of larger elements take it.
constexpr std::uint64_t kFew = 4;

/// Elements that tell byte orders and orders of axes apart, also if there is only one: none is 0,
/// and steps along two axes change them differently.
Bytes small_numbers(const Elements& elements) {
  constexpr std::uint64_t kNumbers = 29;  // the powers of kFew are others modulo this prime
  Bytes sample(elements.bytes());
  for (std::uint64_t i = 0; i < elements.count(); ++i) {
    sample[i * elements.type.size] = static_cast<std::uint8_t>(1 + i % kNumbers);
  }
  return sample;
}

/// Elements that tell what is done to parts of them.
Bytes random_bytes(const Elements& elements, std::minstd_rand& random) {
  constexpr std::uint64_t kFromBit = 8;  // the lowest bits are less random
  Bytes sample(elements.bytes());
  for (std::uint8_t& byte : sample) byte = static_cast<std::uint8_t>(random() >> kFromBit);
  return sample;
}

/// Whether a chunk that is written by the one document is read the same by the other.
bool same_bytes(const ArrayMetadata& written, const ArrayMetadata& read,
                std::vector<std::uint64_t> shape) {
  for (std::uint64_t& edge : shape) edge = std::min(edge, kFew);
  const auto writer = CodecChain::make(written.codecs, {written.type, shape});
  const auto reader = CodecChain::make(read.codecs, {read.type, shape});
  if (!writer || !reader) return false;
  if (written.type.variable_length()) return read.type.variable_length();
  const auto is_same = [&](Bytes sample) {
    if (written.type.kind == TypeKind::kBool) {
      for (std::uint8_t& byte : sample) byte %= 2;
    }
    const auto encoded = writer->encode(sample);
    if (!encoded) return true;  // it takes other numbers only
    const auto as_written = writer->decode(*encoded);
    const auto as_read = reader->decode(*encoded);
    return as_written && as_read && *as_written == *as_read;
  };
  constexpr int kSamples = 4;  // a few elements of one byte may look the same by chance
  std::minstd_rand random;
  bool same = is_same(small_numbers(writer->decoded()));
  for (int i = 0; i < kSamples && same; ++i) {
    same = is_same(random_bytes(writer->decoded(), random));
  }
  return same;
}

std::vector<std::uint64_t> with_room_to_grow(std::vector<std::uint64_t> shape,
                                             const std::vector<std::uint64_t>& chunk_shape) {
  std::uint64_t across = 1;
  for (std::size_t axis = 1; axis < shape.size() && across < kRoomToGrow; ++axis) {
    across *= std::max<std::uint64_t>(1, divide_up(shape[axis], chunk_shape[axis]));
  }
  const auto room =
      checked_multiply(chunk_shape[0], std::max<std::uint64_t>(1, kRoomToGrow / across));
  shape[0] = std::max(shape[0], room.value_or(0));
  return shape;
}

/// Whether the elements of a chunk lie in the same order whatever the order of its axes.
bool is_line(const Json& document) {
  const Json grid = document.value("chunk_grid", Json());
  if (!grid.is_object() || !grid.contains("configuration")) return false;
  const Json configuration = grid["configuration"];
  if (!configuration.is_object()) return false;
  const Json edges = configuration.value("chunk_shape", Json());
  const auto is_long = [](const Json& edge) { return edge != 1; };
  return edges.is_array() && std::count_if(edges.begin(), edges.end(), is_long) <= 1;
}
}  // namespace

Json plain_codecs(const Json& document) {
  Json codecs = Json::array();
  const bool line = is_line(document);
  for (Json codec : document.value("codecs", Json::array())) {
    if (codec.is_object() && codec.value("configuration", Json()) == Json::object()) {
      codec.erase("configuration");
    }
    const bool idle = line && codec.is_object() && codec.value("name", Json()) == "transpose";
    if (!idle) codecs.push_back(std::move(codec));
  }
  return codecs;
}

bool same_fill(const Json& a, const Json& b) {
  const Json fill_of_a = a.value("fill_value", Json());
  const Json fill_of_b = b.value("fill_value", Json());
  if (same_json(fill_of_a, fill_of_b)) return true;
  const auto type = parse_data_type(a.value("data_type", Json()));
  if (!type || !same_json(a["data_type"], b.value("data_type", Json()))) return false;
  const auto element_of_a = parse_fill_value(*type, fill_of_a, false);
  const auto element_of_b = parse_fill_value(*type, fill_of_b, false);
  return element_of_a && element_of_b && *element_of_a == *element_of_b;
}

bool same_but_shape(const Json& a, const Json& b) {
  for (const char* member : {"data_type", "chunk_grid"}) {
    if (!same_json(a.value(member, Json()), b.value(member, Json()))) return false;
  }
  if (!same_json(plain_codecs(a), plain_codecs(b))) return false;
  const auto rank = [](const Json& document) {
    return document.value("shape", Json::array()).size();
  };
  return same_fill(a, b) && rank(a) == rank(b);
}

bool finds_chunks_as_named(const Json& written, const Json& shown) {
  if (!written.contains(kKeyEncoding)) return true;
  const auto keys = parse_chunk_key_encoding(written[kKeyEncoding]);
  const auto shown_keys = parse_chunk_key_encoding(shown.value(kKeyEncoding, Json()));
  return keys && shown_keys && keys->kind == shown_keys->kind;
}

Result<std::vector<std::uint64_t>> shape_of(const Json& document, const std::string& path) {
  std::vector<std::uint64_t> shape;
  for (const Json& length : document.value("shape", Json::array())) {
    if (!length.is_number_unsigned())
      return fail(Fault::kInvalid, "/" + join_path(path, "shape") + ": " + dump_json(length));
    shape.push_back(length.get<std::uint64_t>());
  }
  return shape;
}

Result<NewArray> array_to_store(Json plain, const std::string& path, const ViewOptions& options) {
  // A document of v3 tells its writer what its chunks are called; one of v2 either way.
  Result<ChunkKeyEncoding> keys{ChunkKeyEncoding{ChunkKeyEncoding::Kind::kDefault, '/'}};
  if (options.format == ViewFormat::kV3 && plain.contains(kKeyEncoding)) {
    keys = parse_chunk_key_encoding(plain[kKeyEncoding]);
  }
  if (!keys)
    return fail(Fault::kInvalid, "/" + join_path(path, "zarr.json") + ": " + keys.error().message);
  plain[kKeyEncoding] = render_chunk_key_encoding(*keys);
  const auto as_invalid = [](Error error) {
    return fail(Fault::kInvalid, std::move(error.message));
  };
  auto metadata = parse_array(plain, path);
  if (!metadata) return as_invalid(metadata.error());
  auto layout = Layout::make(*metadata);
  if (!layout) return as_invalid(layout.error());
  const ArrayMetadata written = *metadata;
  Json document = std::move(plain);
  if (!layout->sharded() && layout->regular() && !metadata->shape.empty()) {
    const auto& chunk_shape = layout->chunk_shape();
    ZARRFS_TRY(const auto shard, choose_shard_shape(options.writing->shards,
                                                    with_room_to_grow(metadata->shape, chunk_shape),
                                                    chunk_shape, metadata->type.size));
    document = sharded_document(std::move(document), shard, layout->chunk_shape());
    metadata = parse_array(document, path);
    if (!metadata) return as_invalid(metadata.error());
    if (auto sharded = Layout::make(*metadata); !sharded) return as_invalid(sharded.error());
  }
  return NewArray{std::move(document), std::move(*metadata), written};
}

Result<void> check_shown_as_written(const NewArray& array, const std::string& path,
                                    const Profile& profile, const ViewOptions& options,
                                    const ArrayCircumstances& circumstances) {
  const auto refuse = [&](const std::string& reason) {
    return fail(Fault::kInvalid, "/" + path + " cannot be made in this mount: " + reason);
  };
  auto layout = Layout::make(array.stored);
  if (!layout) return refuse(layout.error().message);
  const std::vector<std::uint64_t> chunk_shape = layout->chunk_shape();
  const Presentation shown = present_array(
      path, std::make_shared<const ArrayMetadata>(array.stored),
      std::make_shared<const Layout>(std::move(*layout)), profile, options, circumstances);
  if (shown.hidden) return refuse(shown.reason);
  Json document = shown.document;
  if (options.format == ViewFormat::kV2) {
    auto plain = v3_document_of_v2(shown.document, Json(), path);
    if (!plain) return refuse(plain.error().message);
    document = std::move(*plain);
  }
  const auto as_shown = parse_array(document, path);
  if (!as_shown) return refuse(as_shown.error().message);
  if (same_json(array.written.document["chunk_grid"], document["chunk_grid"]) &&
      same_bytes(array.written, *as_shown, chunk_shape)) {
    return {};
  }
  return refuse("it would be shown as " + dump_json(shown.document) +
                ", and chunks that are written as the document says would be misread");
}

}  // namespace zarrfs
