// zarr.json, parsed: groups and arrays. Source: Zarr v3 core ("Metadata"), chunk-grids and
// chunk-key-encodings extensions, ZEP 2 (sharding), ZEP 3 (rectilinear grids).
//
// Parse, don't validate: an ArrayMetadata or GroupMetadata that exists is consistent. Errors tell
// apart kDamaged (the document contradicts itself or the specification: shown as damage) and
// kUnsupported (a feature that zarrfs does not know: the node is hidden, by name).
// Immutable values; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/held_json.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/codecs/codec.h"
#include "core/metadata/grid.h"
#include "core/types/data_type.h"

namespace zarrfs {

struct ChunkKeyEncoding {
  enum class Kind { kDefault, kV2 };
  Kind kind = Kind::kDefault;
  char separator = '/';
  /// The key of a chunk or shard relative to its array: "c/1/2", "1.2", "c", "0".
  [[nodiscard]] std::string key(std::span<const std::uint64_t> coordinates) const;
};

struct ArrayMetadata {
  std::vector<std::uint64_t> shape;  ///< In elements; rank at most 32.
  DataType type;
  Grid grid;  ///< Of the shards.
  ChunkKeyEncoding key_encoding;
  Bytes fill;  ///< One element, little-endian; the value's bytes for variable-length types.
  HeldJson fill_value;  ///< As spelled.
  std::vector<CodecSpec> codecs;
  std::vector<std::optional<std::string>> dimension_names;  ///< Empty, or one per dimension.
  HeldJson attributes = HeldJson::object();
  /// Whether the byte order of the `bytes` codec that the elements reach is big.
  bool big_endian = false;
  /// CRC-32C of what decides which bytes a chunk has and where it lies: type, grid, codecs, rank.
  std::uint32_t form = 0;
  /// The whole document as read, for rewriting it: unknown members are kept.
  HeldJson document;
};

struct GroupMetadata {
  HeldJson attributes = HeldJson::object();
  HeldJson document;          ///< Without consolidated_metadata's contents (see `consolidated`).
  bool consolidated = false;  ///< Whether the document has an inline consolidated_metadata.
};

using NodeMetadata = std::variant<GroupMetadata, ArrayMetadata>;

/// Parses the text of the `zarr.json` of the node at `path` (for messages).
/// The contents of an inline consolidated_metadata are skipped, whatever their size.
Result<NodeMetadata> parse_node(std::string_view text, const std::string& path);

/// Parses an array document that is already JSON.
Result<ArrayMetadata> parse_array(const Json& document, const std::string& path);

/// The largest zarr.json that is read.
inline constexpr std::size_t kMaxDocument = std::size_t{64} << 20U;

}  // namespace zarrfs
