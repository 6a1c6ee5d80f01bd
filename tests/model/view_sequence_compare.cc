// View and model compared; store and model compared.
#include <algorithm>

#include "core/base/json.h"
#include "core/metadata/chunk_key.h"
#include "core/metadata/v2_note.h"
#include "core/zarr/array_reader.h"
#include "core/zarr/tree.h"
#include "tests/model/view_sequence.h"

namespace zarrfs::testing {
namespace {

constexpr std::uint64_t kFewChunks = 2;
constexpr std::size_t kCache = std::size_t{1} << 20U;

std::string list_of(const std::set<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += " " + name;
  return list;
}

void require_equal(const std::set<std::string>& found, const std::set<std::string>& expected,
                   const std::string& what) {
  require(found == expected, what + " are:" + list_of(found) + "\nexpected:" + list_of(expected));
}

bool includes(const std::set<std::string>& all, const std::set<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

/// Calls `visit` with each of the coordinates below `counts`.
template <class Visit>
void for_each_chunk(const Shape& counts, const Visit& visit) {
  Shape chunk(counts.size(), 0);
  for (std::size_t axis = counts.size(); axis > 0;) {
    visit(chunk);
    for (axis = counts.size(); axis > 0 && ++chunk[axis - 1] == counts[axis - 1]; --axis) {
      chunk[axis - 1] = 0;
    }
  }
}

/// The shard of a chunk, from the array's grid alone.
Shape cell_of(const ArrayForm& form, const ArrayReader& reader, const Shape& chunk) {
  const auto& grid = reader.metadata().document["chunk_grid"]["configuration"]["chunk_shape"];
  Shape cell;
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    cell.push_back(chunk[axis] * form.chunk_shape[axis] / grid[axis].get<std::uint64_t>());
  }
  return cell;
}

}  // namespace

void ViewSequence::compare_chunk(const Target& target) {
  const auto& chunks = target.array->chunks;
  const auto expected = chunks.find(target.chunk);
  if (expected == chunks.end()) {
    require(shown_->absent(target.path), target.path + " is there");
  } else {
    require(read(target.path) == expected->second.shown, target.path + " has other bytes");
  }
}

void ViewSequence::compare_some() {
  for (std::uint64_t left = kFewChunks; left > 0; --left) {
    if (const Target target = any_target(); target.array != nullptr) compare_chunk(target);
    if (const Target target = any_chunk(); target.array != nullptr) compare_chunk(target);
  }
}

void ViewSequence::compare() {
  compare_listing();
  for (const auto& [path, attributes] : model_.groups) compare_documents(path, attributes);
  for (const auto& [path, array] : model_.arrays) compare_array(path, array);
  for (const auto& [path, file] : model_.files) {
    require(read(path) == file.shown, path + " has other bytes");
  }
}

void ViewSequence::compare_array(const std::string& path, const ModelArray& array) {
  compare_documents(path, array.attributes);
  const std::string name = join_path(path, v2() ? ".zarray" : "zarr.json");
  const Json document = must(parse_json(read(name), name), "reading " + name);
  require(document["shape"].get<Shape>() == array.form.shape, path + " has another shape");
  for (const auto& [chunk, value] : array.chunks) {
    const std::string chunk_name = chunk_path(path, array, chunk);
    require(read(chunk_name) == value.shown, chunk_name + " has other bytes");
  }
}

void ViewSequence::compare_documents(const std::string& path, const Json& attributes) {
  const std::string name = join_path(path, v2() ? ".zattrs" : "zarr.json");
  if (v2() && !model_.shows(path, ".zattrs", !attributes.empty())) return;  // compare_listing looks
  Json shown = must(parse_json(read(name), name), "reading " + name);
  if (!v2()) shown = shown.value("attributes", Json::object());
  require(same_json(shown, attributes),
          path + " has attributes " + dump_json(shown) + ", not " + dump_json(attributes));
}

void ViewSequence::list_below(const std::string& path, std::set<std::string>& files,
                              std::set<std::string>& directories) {
  for (const std::string& name : must(shown_->list(path), "listing " + path)) {
    const std::string below_path = join_path(path, name);
    const bool is_directory = S_ISDIR(find(below_path).status.st_mode);
    const bool is_new = (is_directory ? directories : files).insert(below_path).second;
    require(is_new, below_path + " is listed twice");
    if (is_directory) list_below(below_path, files, directories);
  }
}

void ViewSequence::expect_array(const std::string& path, const ModelArray& array,
                                std::set<std::string>& files, std::set<std::string>& directories) {
  ChunkKeyEncoding keys{ChunkKeyEncoding::Kind::kV2, '.'};
  const std::string name = join_path(path, v2() ? ".zarray" : "zarr.json");
  const Json document = must(shown_->json(name), "reading " + name);
  if (v2()) {
    keys.separator = document["dimension_separator"].get<std::string>()[0];
  } else {
    keys = must(parse_chunk_key_encoding(document["chunk_key_encoding"]), "parsing " + name);
  }
  files.insert(name);
  if (v2() && model_.shows(path, ".zattrs", !array.attributes.empty())) {
    files.insert(join_path(path, ".zattrs"));
  }
  directories.insert(path);
  for (const auto& [chunk, value] : array.chunks) {
    const std::string chunk_name = join_path(path, keys.key(chunk));
    files.insert(chunk_name);
    for (auto slash = chunk_name.rfind('/'); slash > path.size();
         slash = chunk_name.rfind('/', slash - 1)) {
      directories.insert(chunk_name.substr(0, slash));
    }
  }
}

bool ViewSequence::is_within_array(const std::string& path) const {
  return std::any_of(model_.arrays.begin(), model_.arrays.end(),
                     [&](const auto& array) { return is_at_or_below(path, array.first); });
}

void ViewSequence::compare_listing() {
  std::set<std::string> files;
  std::set<std::string> directories;
  list_below("", files, directories);
  std::set<std::string> expected_files;
  std::set<std::string> expected_directories = model_.directories;
  for (const auto& [path, file] : model_.files) expected_files.insert(path);
  for (const auto& [path, attributes] : model_.groups) {
    if (!path.empty()) expected_directories.insert(path);
    expected_files.insert(join_path(path, v2() ? ".zgroup" : "zarr.json"));
    if (v2() && model_.shows(path, ".zattrs", !attributes.empty())) {
      expected_files.insert(join_path(path, ".zattrs"));
    }
    if (v2() && model_.shows(path, ".zmetadata", false)) {
      expected_files.insert(join_path(path, ".zmetadata"));
    }
  }
  for (const auto& [path, array] : model_.arrays) {
    expect_array(path, array, expected_files, expected_directories);
  }
  require_equal(files, expected_files, "the files listed");
  require(includes(directories, expected_directories),
          "directories are missing:" + list_of(directories));
  // Within arrays there are also those that a program made, and those of shards without chunks.
  std::erase_if(directories, [&](const std::string& path) {
    return expected_directories.contains(path) || is_within_array(path);
  });
  require(directories.empty(), "too many directories:" + list_of(directories));
}

void ViewSequence::compare_unpublished() {
  const std::size_t listed = view().unpublished().size();
  require(listed == model_.chunks_held_back(), std::to_string(listed) +
                                                   " chunks are listed as unpublished, not " +
                                                   std::to_string(model_.chunks_held_back()));
}

void ViewSequence::compare_store() {
  std::set<std::string> files;
  for (const auto& [path, file] : model_.files) {
    files.insert(path);
    const auto stored = must(store_->read_document(path, kCache), "reading " + path);
    require(stored && stored->text == file.shown, path + " has other bytes in the store");
  }
  for (const auto& [path, attributes] : model_.groups) {
    files.insert(join_path(path, "zarr.json"));
    const Node node = must(load_node(*store_, path), "loading " + path);
    require(node.kind == Node::Kind::kGroup, path + " is no group in the store");
    require(same_json(node.group->attributes, attributes), path + " has other attributes");
  }
  for (const auto& [path, array] : model_.arrays) compare_stored_array(path, array, files);
  if (model_.chunks_held_back() == 0) require_equal(store_->files(), files, "files of the store");
}

void ViewSequence::compare_stored_array(const std::string& path, const ModelArray& array,
                                        std::set<std::string>& files) {
  files.insert(join_path(path, "zarr.json"));
  const Node node = must(load_node(*store_, path), "loading " + path);
  require(node.layout != nullptr, path + " is no array in the store: " + node.error.message);
  require(node.array->shape == array.form.shape, path + " has another shape in the store");
  require(same_json(without_note(node.array->attributes), array.attributes),
          path + " has other attributes");
  ArrayReader reader(store_, path, node.array, node.layout, std::make_shared<IndexCache>(kCache),
                     std::make_shared<ReadCounters>());
  for_each_chunk(array.form.counts(), [&](const Shape& chunk) {
    const std::string name = path + " chunk " + ChunkKeyEncoding{}.key(chunk);
    const auto expected = array.chunks.find(chunk);
    const bool held = expected != array.chunks.end() && !expected->second.elements;
    const auto stored = must(reader.find_chunk(chunk), "finding " + name);
    if (held) return;  // the store has what was published before, or nothing
    require(stored.has_value() == (expected != array.chunks.end()),
            name + (stored ? " is in the store" : " is not in the store"));
    if (!stored) return;
    require(must(reader.read_elements(chunk), "reading " + name) == *expected->second.elements,
            name + " has other elements in the store");
    files.insert(reader.shard_path(cell_of(array.form, reader, chunk)));
  });
}

}  // namespace zarrfs::testing
