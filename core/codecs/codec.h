// Codecs: from the elements of a chunk to its stored bytes and back.
// Source: Zarr v3 core ("Codecs") and zarr-extensions (codecs/), numcodecs for `numcodecs.*`.
//
// Elements in memory are in C order of the shape and little-endian. Variable-length types (string,
// variable-length bytes) are held in the wire format of vlen-utf8/vlen-bytes: uint32 count, then
// each item as uint32 length and bytes. Codecs and chains are immutable; all functions are
// thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/held_json.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/types/data_type.h"

namespace zarrfs {

/// A codec as metadata names it; aliases resolved, 3.0 form.
struct CodecSpec {
  std::string name;
  HeldJson configuration = HeldJson::object();
  bool must_understand = true;
};

/// Parses one member of a `codecs` list: "name", {"name": ...}, with or without configuration.
Result<CodecSpec> parse_codec_spec(const Json& spelled);

/// Shape and type of the elements at one point of a chain.
struct Elements {
  DataType type;
  std::vector<std::uint64_t> shape;
  /// Number of elements.
  [[nodiscard]] std::uint64_t count() const;
  /// Bytes in memory; 0 for variable-length types.
  [[nodiscard]] std::uint64_t bytes() const;
};

enum class CodecStage { kArrayToArray, kArrayToBytes, kBytesToBytes };

/// A codec as it stands in a chain of Zarr v3, to be said in Zarr v2.
struct V2Question {
  const CodecSpec& spec;
  const Elements& decoded;  ///< What reaches the codec.
  bool big_endian = false;  ///< Byte order in which the elements are stored.
};

/// What readers of Zarr v2 call a codec: numcodecs' name and configuration.
struct V2Spelling {
  HeldJson json;
  bool elementwise = true;  ///< Whether the order of axes is nothing to it.
  bool identity = false;  ///< Whether decoding changes nothing, so that a reader need not know it.
  bool converts = false;  ///< Delta into another type: only readers with astype do it (not GDAL).
};

class Codec {
 public:
  virtual ~Codec() = default;
  [[nodiscard]] virtual CodecStage stage() const = 0;
  /// Elements after encoding (array to array codecs only change them).
  [[nodiscard]] virtual Result<Elements> encoded(const Elements& decoded) const { return decoded; }
  /// `decoded` describes the elements on the decoded side. The result is never longer than `limit`
  /// bytes: a longer one is kDamaged (a decompression bomb).
  [[nodiscard]] virtual Result<Bytes> decode(ByteView bytes, const Elements& decoded,
                                             std::uint64_t limit) const = 0;
  [[nodiscard]] virtual Result<Bytes> encode(ByteView bytes, const Elements& decoded) const = 0;
  /// Bytes that encoding adds to any input of bytes: a fixed checksum's size; nothing where the
  /// size depends on the bytes.
  struct FixedOverhead {
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };
  [[nodiscard]] virtual std::optional<FixedOverhead> fixed_overhead() const { return std::nullopt; }
  /// The codec of numcodecs 0.11 that makes the same bytes; nothing where there is none, and the
  /// chunks are shown decoded. Asked of codecs that work on elements or on bytes; of those between
  /// the two only where elements have variable length.
  [[nodiscard]] virtual std::optional<V2Spelling> v2_spelling(const V2Question& question) const;
};

/// The one table of codecs: name -> factory. `decoded` are the elements that reach the codec.
/// kUnsupported for unknown names; kDamaged for malformed configurations.
Result<std::unique_ptr<Codec>> make_codec(const CodecSpec& spec, const Elements& decoded);

/// The name by which the table knows a codec: "endian" -> "bytes",
/// "https://codec.zarrs.dev/array_to_bytes/vlen_utf8" -> "vlen-utf8"; the name itself where it has
/// no alias.
std::string canonical_codec_name(const std::string& name);

/// All names the table knows, sorted: for documentation and tests.
std::vector<std::string> codec_names();

/// A whole chain: array to array codecs, one array to bytes codec, bytes to bytes codecs.
class CodecChain {
 public:
  struct Step {
    CodecSpec spec;
    CodecStage stage = CodecStage::kBytesToBytes;
    /// The elements before this step encodes; for bytes to bytes steps those of the last array.
    Elements decoded;
    std::shared_ptr<const Codec> codec;
  };

  /// Builds the chain for chunks of `decoded`. Codecs that are not known and need not be understood
  /// are left out.
  static Result<CodecChain> make(const std::vector<CodecSpec>& specs, const Elements& decoded);
  /// Only bytes to bytes codecs (after sharding, or of an index behind `bytes`).
  static Result<CodecChain> make_bytes_only(const std::vector<CodecSpec>& specs);

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const Elements& decoded() const { return decoded_; }
  /// The bytes of a whole chunk, in memory order (see above). Where nothing tells their number
  /// (variable-length elements, chains of bytes only), more than 2 GiB are kDamaged.
  [[nodiscard]] Result<Bytes> decode(ByteView stored) const;
  [[nodiscard]] Result<Bytes> encode(ByteView elements) const;

 private:
  std::vector<Step> steps_;
  Elements decoded_;
};

}  // namespace zarrfs
