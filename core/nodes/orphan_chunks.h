// Chunk files that a program wrote before the document of their array: until then they are files of
// the store like any other. Before the array is made they are parked in `.zarrfs-early` of
// its directory, since their names may be those of its shards; then each is put where it belongs.
// There also wait chunks outside an array, which netCDF-C writes before the document that tells of
// them: until the array has grown to them.
// `.zarrfs/early` in the store lists the arrays of which that is not finished, so that a mount that
// is killed loses none: the next one that writes goes on.
//
// What is no chunk, as the temporary file of a copy that still runs, stays there, and is shown
// where programs know it: see parked_path.
//
// OrphanChunks: one call at a time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/chunks/chunk_writer.h"
#include "core/nodes/mount_overlay.h"
#include "core/nodes/node_cache.h"
#include "core/zarr/visit_limit.h"

namespace zarrfs {

/// Where the file that programs call `path`, in a directory of chunks of `array`, was moved when
/// the array was made around it.
std::string parked_path(const std::string& array, const std::string& path);

/// The file at `path` is gone: the directories go that were parked with it and are empty now.
void drop_empty_parked(Store& store, std::string path);

/// Where all that is parked of the array lies.
std::string parking_place(const std::string& array);

class OrphanChunks {
 public:
  OrphanChunks(ViewShared& shared, NodeCache& nodes, MountOverlay& overlay)
      : shared_(shared), nodes_(nodes), overlay_(overlay), chunks_(shared) {}

  /// A chunk outside the array at `path` is going to be written to its parked_path().
  Result<void> expect(const std::string& path);
  /// Whether there may be such chunks.
  [[nodiscard]] bool expects(const std::string& path) const { return waiting_.contains(path); }
  /// The directory at `from` is now at `to`, with all below it; or the node at `path` is gone.
  Result<void> moved(const std::string& from, const std::string& to);
  Result<void> removed(const std::string& path);
  /// Parks what may be a chunk of the array that is going to be made at `path`.
  Result<void> park(const std::string& path);
  /// Puts what was parked, if anything, where it belongs: into the array, as far as that goes, or
  /// back where there is none.
  Result<void> place(const std::string& path);
  /// Places what an earlier mount has left.
  Result<void> place_left();

 private:
  Result<void> keep_directories(const std::string& from, const std::string& shown_as,
                                VisitLimit& visits);
  /// Whether chunks are left that lie outside the array.
  Result<bool> adopt(const NodeState& array);
  /// Files that are chunks of the array now, and directories that held them, the inner ones first.
  struct Taken {
    VisitLimit visits;
    std::vector<std::string> files;
    std::vector<Coordinates> chunks;
    std::vector<std::string> directories;
    bool outside = false;  ///< There are chunks that lie outside the array.
  };
  Result<void> take_files(const NodeState& array, const std::string& directory,
                          const std::string& key, Taken& taken);
  Result<void> take_file(const NodeState& array, const Coordinates& chunk, const std::string& path);
  Result<void> restore(const std::string& path);
  Result<std::set<std::string>> listed();
  Result<void> list();

  ViewShared& shared_;
  NodeCache& nodes_;
  MountOverlay& overlay_;
  ChunkWriter chunks_;
  std::set<std::string> waiting_;  ///< Paths of the arrays whose chunks were parked.
};

}  // namespace zarrfs
