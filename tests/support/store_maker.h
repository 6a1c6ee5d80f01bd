// Makes small Zarr v3 stores in a temporary directory, with the encoders of core: any codecs, index
// variants, nesting and key encodings. For tests. One thread at a time. Failures end the test
// program with a message.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json.h"
#include "core/zarr/layout.h"
#include "tests/support/temp_dir.h"

namespace zarrfs::test {

/// What an array is to be. Defaults: 4 x 4 elements of uint16 in one shard of 2 x 2 raw chunks.
struct ArrayPlan {
  std::vector<std::uint64_t> shape = {4, 4};
  std::vector<std::uint64_t> shard_shape = {4, 4};  ///< Without sharding, of the chunks.
  std::vector<std::uint64_t> chunk_shape = {2, 2};  ///< Empty: no sharding.
  Json data_type = "uint16";
  Json fill_value = 0;
  Json chunk_codecs = little_endian_codecs();
  Json index_codecs = checked_index_codecs();
  std::string index_location = "end";
  Json codecs_around = Json::array();  ///< After sharding.
  Json key_encoding = {{"name", "default"}};
  Json attributes = Json::object();
  Json dimension_names;         ///< Null: none.
  Json extra = Json::object();  ///< Further members of the document.

  static Json little_endian_codecs();
  static Json checked_index_codecs();
  /// The `zarr.json`.
  [[nodiscard]] Json document() const;
};

/// A store under construction; on disk after each call.
class StoreMaker {
 public:
  [[nodiscard]] std::string root() const { return directory_.path(); }
  [[nodiscard]] std::filesystem::path file(const std::string& path) const {
    return directory_ / path;
  }

  StoreMaker& group(const std::string& path, const Json& attributes = Json::object(),
                    const Json& extra = Json::object());
  /// The document of an array, without chunks.
  StoreMaker& array(const std::string& path, const ArrayPlan& plan = {});
  /// Encodes `elements` (C order, little-endian) as a chunk and writes its shard again, with the
  /// chunks given before.
  StoreMaker& chunk(const std::string& array_path, const std::vector<std::uint64_t>& chunk,
                    const Bytes& elements);
  /// As chunk(), with bytes that are stored as they are.
  StoreMaker& stored_chunk(const std::string& array_path, const std::vector<std::uint64_t>& chunk,
                           const Bytes& stored);
  /// Any file; directories are made.
  StoreMaker& text(const std::string& path, const std::string& contents);
  /// The file of the shard that holds a chunk.
  [[nodiscard]] std::filesystem::path shard_of(const std::string& array_path,
                                               const std::vector<std::uint64_t>& chunk) const;
  [[nodiscard]] const Layout& layout(const std::string& array_path) const;

 private:
  using Entries = std::vector<std::uint64_t>;
  struct Array {
    ArrayMetadata metadata;
    Layout layout;
    std::map<std::vector<std::uint64_t>, std::map<Entries, Bytes>> cells;
  };
  void write_cell(const std::string& path, const Array& array,
                  const std::vector<std::uint64_t>& cell) const;

  TempDir directory_;
  std::map<std::string, Array> arrays_;
};

/// `count` elements of uint16: first, first + 1, ...
Bytes counting_elements(std::uint16_t first, std::size_t count);

/// The whole of a file.
std::string file_text(const std::filesystem::path& path);
/// Writes a file under a temporary name and renames it into place.
void replace_file(const std::filesystem::path& path, const std::string& contents);

}  // namespace zarrfs::test
