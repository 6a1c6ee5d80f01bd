#include "tests/model/array_forms.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "core/base/json.h"
#include "core/metadata/metadata.h"

namespace zarrfs::testing {
namespace {

constexpr std::uint64_t kMostChunks = 64;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "array form: %s\n", result.error().message.c_str());
  std::abort();
}

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random() % (most - least + 1);
}

bool maybe(Random& random) { return random() % 2 == 0; }

/// The codecs of a chunk.
struct ChunkCodecs {
  Shape order;        ///< Of a transpose.
  bool wide = false;  ///< uint16 rather than uint8.
  bool big_endian = false;
  bool gzip = false;
  bool checksum = false;

  [[nodiscard]] bool transposes() const { return !std::is_sorted(order.begin(), order.end()); }
  [[nodiscard]] std::string type() const { return wide ? "uint16" : "uint8"; }
};

ChunkCodecs random_codecs(Random& random, std::size_t rank) {
  ChunkCodecs codecs;
  codecs.order.resize(rank);
  std::iota(codecs.order.begin(), codecs.order.end(), 0);
  if (random() % 3 == 0) std::shuffle(codecs.order.begin(), codecs.order.end(), random);
  codecs.wide = maybe(random);
  codecs.big_endian = codecs.wide && maybe(random);
  codecs.gzip = random() % 4 == 0;
  codecs.checksum = random() % 3 == 0;
  return codecs;
}

Json named(const std::string& name, Json configuration = Json::object()) {
  return {{"name", name}, {"configuration", std::move(configuration)}};
}

Json transpose(const ChunkCodecs& codecs) { return named("transpose", {{"order", codecs.order}}); }

Json plain_bytes(const ChunkCodecs& codecs) {
  return named("bytes", {{"endian", codecs.big_endian ? "big" : "little"}});
}

/// The chain behind a transpose.
Json behind_transpose(const ChunkCodecs& codecs) {
  Json chain = Json::array({plain_bytes(codecs)});
  if (codecs.gzip) chain.push_back(named("gzip", {{"level", 1}}));
  if (codecs.checksum) chain.push_back(named("crc32c"));
  return chain;
}

Json whole_chain(const ChunkCodecs& codecs) {
  Json chain = behind_transpose(codecs);
  if (codecs.transposes()) chain.insert(chain.begin(), transpose(codecs));
  return chain;
}

Json sharding(Random& random, const Shape& chunk_shape, Json codecs) {
  Json index_codecs = Json::array({named("bytes", {{"endian", "little"}})});
  if (random() % 4 != 0) index_codecs.push_back(named("crc32c"));
  return named("sharding_indexed", {{"chunk_shape", chunk_shape},
                                    {"codecs", std::move(codecs)},
                                    {"index_codecs", std::move(index_codecs)},
                                    {"index_location", maybe(random) ? "end" : "start"}});
}

/// Adds a codec around the shard, now and then.
Json with_codec_around(Random& random, Json chain) {
  const std::uint64_t choice = random() % 8;
  if (choice == 0) chain.push_back(named("gzip", {{"level", 1}}));
  if (choice == 1) chain.push_back(named("crc32c"));
  return chain;
}

Shape times(Shape shape, Random& random, std::uint64_t most) {
  for (std::uint64_t& length : shape) length *= between(random, 1, most);
  return shape;
}

Shape reordered(const Shape& shape, const Shape& order) {
  Shape result;
  for (const std::uint64_t axis : order) result.push_back(shape[axis]);
  return result;
}

/// The codecs of the array, and the shape of its shards in `shard_shape`.
Json sharded_chain(Random& random, const ChunkCodecs& codecs, const Shape& chunk_shape,
                   Shape& shard_shape) {
  const bool transposed_outside = codecs.transposes() && maybe(random);
  const bool nested = random() % 3 == 0;
  const std::uint64_t most = chunk_shape.size() == 1 ? 4 : 2;
  const auto in_order = [&](const Shape& shape) {
    return transposed_outside ? reordered(shape, codecs.order) : shape;
  };
  Json chain = transposed_outside ? behind_transpose(codecs) : whole_chain(codecs);
  Shape middle = chunk_shape;
  if (nested) {
    middle = times(chunk_shape, random, 2);
    Json inner = Json::array({sharding(random, in_order(chunk_shape), std::move(chain))});
    chain = with_codec_around(random, std::move(inner));
  }
  shard_shape = times(middle, random, most);
  Json outer = Json::array({sharding(random, in_order(middle), std::move(chain))});
  outer = with_codec_around(random, std::move(outer));
  if (transposed_outside) outer.insert(outer.begin(), transpose(codecs));
  return outer;
}

Json key_encoding(bool default_keys, bool slash) {
  return named(default_keys ? "default" : "v2", {{"separator", slash ? "/" : "."}});
}

/// Chunk and array of a random form that is not sharded yet.
ArrayForm random_shape(Random& random) {
  ArrayForm form;
  const std::size_t rank = between(random, 1, 3);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    form.chunk_shape.push_back(between(random, 1, rank == 3 ? 2 : 4));
  }
  form.most_cells = rank == 1 ? 3 : 2;
  return form;
}

Json v3_document(const ArrayForm& form, const ChunkCodecs& codecs, Json chain, Json keys) {
  return {{"zarr_format", 3},
          {"node_type", "array"},
          {"shape", form.shape},
          {"data_type", codecs.type()},
          {"chunk_grid", named("regular", {{"chunk_shape", form.shard_shape}})},
          {"chunk_key_encoding", std::move(keys)},
          {"fill_value", 7},
          {"codecs", std::move(chain)},
          {"attributes", Json::object()}};
}

Json v2_document(const ArrayForm& form, const ChunkCodecs& codecs, bool slash) {
  const std::string wide = codecs.big_endian ? ">u2" : "<u2";
  Json compressor;
  if (codecs.gzip) compressor = {{"id", "gzip"}, {"level", 1}};
  return {{"zarr_format", 2},
          {"shape", form.shape},
          {"chunks", form.chunk_shape},
          {"dtype", codecs.wide ? wide : "|u1"},
          {"compressor", compressor},
          {"fill_value", 7},
          {"order", codecs.transposes() ? "F" : "C"},
          {"filters", nullptr},
          {"dimension_separator", slash ? "/" : "."}};
}

/// The codecs and the type of a `.zarray`, in the words of v3.
std::pair<Json, std::string> words_of_v2(const Json& document) {
  const std::string dtype = document["dtype"].get<std::string>();
  Json chain = Json::array();
  if (document["order"] == "F") {
    Shape order(document["chunks"].size());
    std::iota(order.rbegin(), order.rend(), 0);
    chain.push_back(named("transpose", {{"order", order}}));
  }
  chain.push_back(named("bytes", {{"endian", dtype[0] == '>' ? "big" : "little"}}));
  if (!document["compressor"].is_null()) chain.push_back(named("gzip", {{"level", 1}}));
  return {chain, dtype.ends_with("u2") ? "uint16" : "uint8"};
}

}  // namespace

Shape ArrayForm::counts() const {
  Shape counts;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    counts.push_back(divide_up(shape[axis], chunk_shape[axis]));
  }
  return counts;
}

Shape random_array_shape(Random& random, const ArrayForm& form) {
  Shape shape;
  std::uint64_t chunks = 1;
  for (std::size_t axis = 0; axis < form.chunk_shape.size(); ++axis) {
    const std::uint64_t edge = form.chunk_shape[axis];
    const std::uint64_t most = std::min(form.shard_shape[axis] * form.most_cells,
                                        std::max<std::uint64_t>(1, kMostChunks / chunks) * edge);
    shape.push_back(between(random, 1, most));
    chunks *= divide_up(shape.back(), edge);
  }
  return shape;
}

CodecChain codecs_of(const Json& document) {
  const bool v2 = document["zarr_format"] == 2;
  const auto [chain, type] =
      v2 ? words_of_v2(document)
         : std::pair(document["codecs"], document["data_type"].get<std::string>());
  const Json& chunk_shape =
      v2 ? document["chunks"] : document["chunk_grid"]["configuration"]["chunk_shape"];
  std::vector<CodecSpec> specs;
  for (const Json& codec : chain) specs.push_back(must(parse_codec_spec(codec)));
  return must(CodecChain::make(specs, {must(parse_data_type(type)), chunk_shape.get<Shape>()}));
}

ArrayForm stored_form(Random& random, ViewFormat format) {
  ArrayForm form = random_shape(random);
  const ChunkCodecs codecs = random_codecs(random, form.chunk_shape.size());
  form.shard_shape = form.chunk_shape;
  const bool sharded = random() % 5 != 0;
  Json chain = sharded ? sharded_chain(random, codecs, form.chunk_shape, form.shard_shape)
                       : whole_chain(codecs);
  form.shape = random_array_shape(random, form);
  const bool default_keys = maybe(random);
  form.default_keys = default_keys && format == ViewFormat::kV3;
  form.document =
      v3_document(form, codecs, std::move(chain), key_encoding(default_keys, maybe(random)));
  return form;
}

ArrayForm written_form(Random& random, ViewFormat format) {
  ArrayForm form = random_shape(random);
  const ChunkCodecs codecs = random_codecs(random, form.chunk_shape.size());
  form.shard_shape = form.chunk_shape;
  form.most_cells *= 2;
  form.shape = random_array_shape(random, form);
  if (format == ViewFormat::kV2) {
    form.document = v2_document(form, codecs, maybe(random));
  } else {
    form.default_keys = maybe(random);
    form.document = v3_document(form, codecs, whole_chain(codecs),
                                key_encoding(form.default_keys, maybe(random)));
  }
  form.shown = codecs_of(form.document);
  return form;
}

}  // namespace zarrfs::testing
