// How one array (or group) is shown, worked out once, as data: the documents to show and one rule
// for the chunks' bytes. Pure: array metadata x profile -> presentation. No I/O. Immutable;
// thread-safe. Source: Zarr v2 specification, Zarr v3 core, OME-NGFF 0.4 and 0.5, and what real
// readers accept (docs/readers.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/held_json.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/metadata/metadata.h"
#include "core/present/blosc_wrap.h"
#include "core/present/dimension_names.h"
#include "core/present/level_names.h"
#include "core/present/profile.h"
#include "core/present/view_options.h"
#include "core/zarr/layout.h"

namespace zarrfs {

/// From stored bytes of an inner chunk to the bytes shown.
enum class ByteRule {
  kVerbatim,  ///< The stored bytes.
  kTrim,  ///< Without `trim_front` and `trim_back` bytes: checksums that the reader does not know.
  kBloscWrap,  ///< The same compressed payload in a blosc container; size + `size_change`.
  kDecode,     ///< Decoded to raw elements of the type shown; every chunk has `fixed_size` bytes.
  kRechunk,    ///< A chunk of another grid, put together from the decoded chunks it overlaps;
               ///< `fixed_size` bytes.
};

/// What the metadata alone cannot tell, found out by whoever builds the presentation.
struct ArrayCircumstances {
  bool zstd_without_size = false;     ///< Sampled zstd frames lack their content size.
  bool omit_dimension_names = false;  ///< The same dimension name has several sizes in this group.
  bool in_ome_image =
      false;  ///< The array belongs to an OME-Zarr image (its group's attributes say so).
  bool image_level = false;  ///< A group above lists the array in its `multiscales`.
  std::shared_ptr<const DimensionNames> dimensions;  ///< Of the whole store; null where the reader
                                                     ///< needs no such names.
  std::string shown_name;      ///< Of a level with another name in the store; else empty.
  bool names_dropped = false;  ///< A program has written attributes without the names it was shown:
                               ///< none are made up.
  bool mark_dropped = false;   ///< The same of `_FillValue`, which only `.zarray` says now.
  bool netcdf_wrote = false;   ///< netCDF-C wrote the data set, and finds it as it wrote it.
  bool made_here = false;      ///< In this mount: until the next one it is as in a plain directory.
};

struct Presentation {
  bool hidden = false;
  bool not_rechunked = false;  ///< Although the user asked for it; `reason` says why.
  std::string
      reason;  ///< Why hidden, decoded, materialised or re-chunked: for the report. One sentence.
  HeldJson document;    ///< `.zarray`, or the array's `zarr.json` in the v3 view.
  HeldJson attributes;  ///< `.zattrs`; null in the v3 view (there they are in the document).

  ChunkKeyEncoding keys;                    ///< How chunks are named in listings.
  std::vector<std::uint64_t> chunk_shape;   ///< Of the chunks shown, in elements. Empty where they
                                            ///< have many shapes (v3 view of a rectilinear grid).
  std::vector<std::uint64_t> chunk_counts;  ///< Chunks shown along each axis. Empty for rank 0.

  ByteRule rule = ByteRule::kVerbatim;
  std::uint32_t trim_front = 0;
  std::uint32_t trim_back = 0;
  std::int32_t size_change = 0;
  std::uint64_t fixed_size = 0;
  /// Steps of the chunk's chain whose encoding is shown; those after them are what is trimmed.
  std::size_t kept_steps = 0;
  Container container =
      Container::kNone;  ///< Of kBloscWrap, with the size of what it holds, decoded.
  std::uint64_t container_bytes = 0;
  /// kDecode, kRechunk: elements are shown as widened(*widened_from).
  std::optional<DataType> widened_from;

  std::string shown_name;  ///< Of the array, where it has another one in the store; else empty.

  Materialise materialise = Materialise::kOff;
  std::shared_ptr<const Bytes>
      fill_chunk;  ///< What a missing chunk is answered with, where materialised.
  /// The element that programs of the view take absent chunks for, by its `fill_value`, where that
  /// is not the fill value of the store: so that is what they leave where they remove a chunk.
  std::optional<Bytes> removed_element;

  /// Size shown for `stored` bytes (by kDecode and kRechunk always fixed_size); kDamaged where they
  /// are too few.
  [[nodiscard]] Result<std::uint64_t> shown_size(std::uint64_t stored) const;
  /// The bytes shown for a whole stored chunk. Not for kRechunk.
  [[nodiscard]] Result<Bytes> present(ByteView stored) const;
  /// Elements (array type, C order, little-endian, of `chunk_shape`) -> bytes shown by kDecode and
  /// kRechunk.
  [[nodiscard]] Result<Bytes> present_elements(ByteView elements) const;
  /// The inverse of `present`: bytes that a program wrote -> bytes to store. kReadOnly, with the
  /// reason, where that cannot be done.
  [[nodiscard]] Result<Bytes> restore(ByteView shown) const;
  /// Why `restore` cannot work for this array; empty where it can.
  std::string read_only_reason;

  std::shared_ptr<const ArrayMetadata> array;
  std::shared_ptr<const Layout> layout;
};

/// The presentation of an array at `path` under `profile`. Never an error: what cannot be shown
/// rightly is `hidden`, with the reason.
Presentation present_array(const std::string& path, std::shared_ptr<const ArrayMetadata> array,
                           std::shared_ptr<const Layout> layout, const Profile& profile,
                           const ViewOptions& options, const ArrayCircumstances& circumstances);

/// `.zgroup` of the v2 view; the group's `zarr.json` in the v3 view (without consolidated metadata:
/// the view adds its own).
Json group_document(const GroupMetadata* group, ViewFormat format);

/// `.zattrs` of a group: attributes with OME-Zarr 0.5 turned into 0.4, and its levels called as
/// `levels` says.
Json group_attributes(const GroupMetadata& group, const Profile& profile,
                      const LevelNames& levels = {});

/// Whether the attributes are those of an OME-Zarr 0.5 image, plate or collection.
bool is_ome(const Json& attributes);

/// `.zattrs` as a program wrote it -> v3 attributes: OME 0.4 is wrapped again where `old` has 0.5,
/// and what group_attributes leaves out stays. The inverse of group_attributes.
Json ungroup_attributes(const Json& written, const GroupMetadata& old, const Profile& profile,
                        const LevelNames& levels = {});
/// Of a group that was shown by no profile in particular.
Json ungroup_attributes(const Json& written, const GroupMetadata& old);

}  // namespace zarrfs
