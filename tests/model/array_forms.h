// Random small arrays: how they are stored, and with which codecs programs write their chunks.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/present/view_options.h"
#include "core/zarr/layout.h"

namespace zarrfs::testing {

using Random = std::mt19937_64;
using Shape = std::vector<std::uint64_t>;

struct ArrayForm {
  Shape shape;
  Shape chunk_shape;
  std::uint64_t most_cells = 0;  ///< A resized array has at most so many shards along each axis.
  Shape shard_shape;
  Json document;     ///< What makes the array: the store's zarr.json, or a program's document.
  CodecChain shown;  ///< The codecs of a chunk file.
  bool default_keys = false;  ///< Programs see keys that begin with "c".

  /// Chunks along each axis.
  [[nodiscard]] Shape counts() const;
  /// Bytes of a decoded chunk.
  [[nodiscard]] std::uint64_t chunk_bytes() const { return shown.decoded().bytes(); }
};

/// A shape that an array of this form may be resized to.
Shape random_array_shape(Random& random, const ArrayForm& form);

/// The codecs of a chunk, as a program reads them from a `.zarray`, or a zarr.json without
/// sharding.
CodecChain codecs_of(const Json& document);

/// An array as it stands in a store: rank 1 to 3, with or without (nested) sharding, index at the
/// start or the end, codecs around and within shards, each key encoding. `shown` is left open: only
/// what the view shows of it can tell.
ArrayForm stored_form(Random& random, ViewFormat format);

/// An array as a program makes it through a view: `document` is its `.zarray` or zarr.json.
ArrayForm written_form(Random& random, ViewFormat format);

}  // namespace zarrfs::testing
