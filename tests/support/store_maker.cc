#include "tests/support/store_maker.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/base/json.h"
#include "core/zarr/tree.h"

namespace zarrfs::test {

namespace {
[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "store maker: %s\n", message.c_str());
  std::abort();
}

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().message);
  return std::move(*result);
}

void append(Bytes& out, const Bytes& more) { out.insert(out.end(), more.begin(), more.end()); }

/// The bytes of one shard (or nested shard) at `cell` that holds `chunks`, named by their entries
/// from `level` on.
Bytes encode_shard(const Layout& layout, const std::vector<std::uint64_t>& cell, std::size_t level,
                   const std::map<std::vector<std::uint64_t>, Bytes>& chunks) {
  if (level == layout.levels().size()) return chunks.begin()->second;
  std::map<std::uint64_t, std::map<std::vector<std::uint64_t>, Bytes>> inner;
  for (const auto& [entries, bytes] : chunks) inner[entries[level]][entries] = bytes;

  const IndexFormat format =
      level == 0 ? must(layout.index_format_of(cell)) : layout.index_format(level);
  ShardIndex index = ShardIndex::empty(format.entries());
  const std::uint64_t front = format.at_start() ? format.encoded_size() : 0;
  Bytes body;
  for (const auto& [entry, part] : inner) {
    const Bytes bytes = encode_shard(layout, cell, level + 1, part);
    index.set(entry, {front + body.size(), bytes.size()});
    append(body, bytes);
  }
  Bytes shard;
  if (format.at_start()) append(shard, must(index.encode(format)));
  append(shard, body);
  if (!format.at_start()) append(shard, must(index.encode(format)));
  return must(layout.levels()[level].around.encode(shard));
}
}  // namespace

Json ArrayPlan::little_endian_codecs() {
  return Json::parse(R"([{"name":"bytes","configuration":{"endian":"little"}}])");
}

Json ArrayPlan::checked_index_codecs() {
  return Json::parse(R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}])");
}

Json ArrayPlan::document() const {
  Json codecs = chunk_codecs;
  if (!chunk_shape.empty()) {
    Json sharding = {{"chunk_shape", chunk_shape},
                     {"codecs", chunk_codecs},
                     {"index_codecs", index_codecs},
                     {"index_location", index_location}};
    codecs = Json::array();
    codecs.push_back(Json{{"name", "sharding_indexed"}, {"configuration", std::move(sharding)}});
    for (const Json& codec : codecs_around) codecs.push_back(codec);
  }
  Json document = {
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", shape},
      {"data_type", data_type},
      {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", shard_shape}}}}},
      {"chunk_key_encoding", key_encoding},
      {"fill_value", fill_value},
      {"codecs", codecs},
      {"attributes", attributes}};
  if (!dimension_names.is_null()) document["dimension_names"] = dimension_names;
  document.update(extra);
  return document;
}

StoreMaker& StoreMaker::group(const std::string& path, const Json& attributes, const Json& extra) {
  Json document = {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes}};
  document.update(extra);
  return text(join_path(path, "zarr.json"), dump_document(document));
}

StoreMaker& StoreMaker::array(const std::string& path, const ArrayPlan& plan) {
  // Through text, so that numbers have the types that a parsed document gives them.
  const Json document = must(parse_json(dump_json(plan.document()), path));
  ArrayMetadata metadata = must(parse_array(document, path));
  Layout layout = must(Layout::make(metadata));
  arrays_.insert_or_assign(path, Array{std::move(metadata), std::move(layout), {}});
  return text(join_path(path, "zarr.json"), dump_document(document));
}

StoreMaker& StoreMaker::chunk(const std::string& array_path,
                              const std::vector<std::uint64_t>& chunk, const Bytes& elements) {
  const Layout& layout = arrays_.at(array_path).layout;
  return stored_chunk(array_path, chunk, must(layout.chunk_chain().encode(elements)));
}

StoreMaker& StoreMaker::stored_chunk(const std::string& array_path,
                                     const std::vector<std::uint64_t>& chunk, const Bytes& stored) {
  Array& array = arrays_.at(array_path);
  ChunkPlace place = array.layout.place_of(chunk);
  array.cells[place.cell][place.entries] = stored;
  write_cell(array_path, array, place.cell);
  return *this;
}

void StoreMaker::write_cell(const std::string& path, const Array& array,
                            const std::vector<std::uint64_t>& cell) const {
  const std::filesystem::path target = file(join_path(path, array.metadata.key_encoding.key(cell)));
  const Bytes bytes = encode_shard(array.layout, cell, 0, array.cells.at(cell));
  replace_file(target, std::string(bytes.begin(), bytes.end()));
}

StoreMaker& StoreMaker::text(const std::string& path, const std::string& contents) {
  replace_file(file(path), contents);
  return *this;
}

std::filesystem::path StoreMaker::shard_of(const std::string& array_path,
                                           const std::vector<std::uint64_t>& chunk) const {
  const Array& array = arrays_.at(array_path);
  const auto cell = array.layout.place_of(chunk).cell;
  return file(join_path(array_path, array.metadata.key_encoding.key(cell)));
}

const Layout& StoreMaker::layout(const std::string& array_path) const {
  return arrays_.at(array_path).layout;
}

Bytes counting_elements(std::uint16_t first, std::size_t count) {
  Bytes elements;
  for (std::size_t i = 0; i < count; ++i) {
    append_little(elements, static_cast<std::uint16_t>(first + i));
  }
  return elements;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void replace_file(const std::filesystem::path& path, const std::string& contents) {
  std::filesystem::create_directories(path.parent_path());
  const std::filesystem::path temporary = path.string() + ".partial";
  {
    std::ofstream out(temporary, std::ios::binary);
    out << contents;
    if (!out.flush()) give_up("cannot write " + path.string());
  }
  std::filesystem::rename(temporary, path);
}

}  // namespace zarrfs::test
