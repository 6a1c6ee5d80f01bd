// Arrays that are not Zarr, shown as Zarr: a format gives the zarr.json that says the same of each
// of its groups and arrays, and a place for each chunk. A format is one file and one row of the
// table in formats.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

/// Where the bytes of one array's chunks are. Thread-safe.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  /// The bytes of a chunk as the codecs of the array's document make them: a part of a stored file,
  /// or bytes made of one when they are read. Null where the chunk is proven absent. kDamaged, with
  /// file, entry and numbers, where its place cannot be trusted. `chunk` is within the grid.
  [[nodiscard]] virtual Result<std::shared_ptr<File>> find(
      std::span<const std::uint64_t> chunk) const = 0;
  /// The stored file that find() opens first for a chunk, and what it reads of it first.
  struct Asked {
    std::string path;
    OpenHint hint;
  };
  [[nodiscard]] virtual Asked asked_for(std::span<const std::uint64_t> chunk) const = 0;
  /// Which chunks are there of the `count` that `prefix` and a number from 0 on name. A damaged one
  /// is: asking for it tells why.
  [[nodiscard]] virtual Result<std::vector<bool>> present(std::span<const std::uint64_t> prefix,
                                                          std::uint64_t count) const;
};

/// One group or array of a volume.
struct VolumeNode {
  Json document;                              ///< Its zarr.json, version 3.
  std::shared_ptr<const ChunkSource> chunks;  ///< Of arrays.
  std::vector<std::uint64_t> counts;          ///< Of arrays: chunks along each axis.
  std::optional<Error> error;                 ///< Why the node cannot be read.
};

/// The nodes below the file that marks a format, by path from the directory of that file.
using Volume = std::map<std::string, VolumeNode, std::less<>>;

/// What a format reads a volume with.
struct VolumeContext {
  std::shared_ptr<Store> store;
  std::string top;  ///< The directory of the file that marks the format, or that file.
  std::shared_ptr<IndexCache> indexes;
};

struct Format {
  std::string_view name;    ///< "Neuroglancer precomputed".
  std::string_view marker;  ///< The file that marks it: "info".
  std::size_t depth;        ///< Levels below the marker's directory on which its nodes may lie.
  /// Whether `marker` is how names end, and each file so named a volume of its own: an array that
  /// stands where the file does. `open` gets no text then.
  bool is_file = false;
  /// Null where `marker` is another program's file of that name; kDamaged or kUnsupported, naming
  /// the field, where it is the format's and cannot be used.
  Result<std::shared_ptr<const Volume>> (*open)(const VolumeContext& context,
                                                const Document& marker) = nullptr;
};

/// The one table of formats.
std::span<const Format> formats();

/// The largest marker that is read.
inline constexpr std::size_t kMaxMarker = std::size_t{16} << 20U;

// Of the formats' own files:
Result<std::shared_ptr<const Volume>> open_precomputed(const VolumeContext& context,
                                                       const Document& info);
Result<std::shared_ptr<const Volume>> open_wkw_dataset(const VolumeContext& context,
                                                       const Document& properties);
Result<std::shared_ptr<const Volume>> open_wkw_directory(const VolumeContext& context,
                                                         const Document& header);
Result<std::shared_ptr<const Volume>> open_b2nd(const VolumeContext& context,
                                                const Document& marker);

}  // namespace zarrfs
