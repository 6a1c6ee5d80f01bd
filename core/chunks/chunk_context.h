// What all arrays of one view share in finding, reading and writing chunks.
#pragma once

#include <memory>

#include "core/present/view_options.h"
#include "core/store/store.h"
#include "core/write/write_buffer.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {

struct ChunkContext {
  std::shared_ptr<Store> store;
  ViewOptions options;
  std::shared_ptr<ReadCounters> counters;
  std::shared_ptr<WriteBuffer> writes;  ///< Null where the view only reads.
};

}  // namespace zarrfs
