// Changes to documents, from what a program writes (.zarray, .zattrs, .zgroup, .zmetadata, or
// zarr.json of the v3 view) to the store's zarr.json: what each makes of the node that is there.
// array_document.h works out what is stored for an array, DocumentStore stores it.
//
// Thread-safe; one change at a time. A commit never waits for a change, and a change may wait for
// commits.
#pragma once

#include <mutex>
#include <string>

#include "core/base/held_json.h"
#include "core/base/json_fwd.h"
#include "core/chunks/chunk_writer.h"
#include "core/nodes/array_document.h"
#include "core/nodes/consolidation.h"
#include "core/nodes/creation_gate.h"
#include "core/nodes/document_store.h"
#include "core/nodes/missing_marks.h"
#include "core/nodes/mount_overlay.h"
#include "core/nodes/netcdf_arrays.h"
#include "core/nodes/orphan_chunks.h"
#include "core/write/commit.h"

namespace zarrfs {

class MetadataEditor {
 public:
  MetadataEditor(ViewShared& shared, NodeCache& nodes, Consolidation& consolidation,
                 MountOverlay& overlay)
      : shared_(shared),
        nodes_(nodes),
        consolidation_(consolidation),
        overlay_(overlay),
        chunks_(shared),
        orphan_chunks_(shared, nodes, overlay),
        documents_(*shared.store),
        marks_(shared, documents_),
        netcdf_arrays_(shared, documents_) {}

  /// Takes `text` as the document `name` of the directory at `path`. Only the first JSON value
  /// counts. kInvalid, and nothing is changed, where it cannot be taken. `alone`: held where no
  /// node is at `path`; given up as soon as one is.
  Result<void> write(const std::string& path, const std::string& name, ByteView text,
                     ExclusiveCreation alone);
  /// Whether write() would refuse the text for what it says, as far as that can be told without
  /// changing anything: kInvalid then. Nothing is said of a text that is no complete document.
  Result<void> check(const std::string& path, const std::string& name, ByteView text);
  /// A chunk outside the array at `path` is going to be written: see OrphanChunks::expect().
  Result<void> expect_early(const std::string& path) {
    const std::lock_guard lock(change_mutex_);
    return orphan_chunks_.expect(path);
  }
  [[nodiscard]] bool expects_early(const std::string& path) {
    const std::lock_guard lock(change_mutex_);
    return orphan_chunks_.expects(path);
  }
  /// Finishes what an earlier mount had begun.
  Result<void> resume();
  /// As if the document of attributes held nothing.
  Result<void> clear_attributes(const std::string& path);
  /// Removes the node at `path` with all that is stored below it.
  Result<void> remove_node(const std::string& path);
  /// Removes the zarr.json of the node at `path` only.
  Result<void> remove_document(const std::string& path);
  /// Moves a directory: `rename` does what cannot be told from outside in between.
  Result<void> move(const std::string& from, const std::string& to,
                    const std::function<Result<void>()>& rename);
  /// Keeps an attribute that lists the chunks true. Called by commits.
  Result<void> chunks_changed(const ChunkChanges& changes);

 private:
  Result<void> noted(const std::string& path, const std::string& name, Result<void> result);
  Result<void> take(const std::string& path, const std::string& name, ByteView text,
                    ExclusiveCreation alone);
  Result<void> check_unnoted(const std::string& path, const std::string& name, ByteView text);
  Result<void> check_v2(const NodeState& state, const std::string& name, const Json& written);
  Result<void> check_v3(const NodeState& state, const Json& written);
  static Result<void> check_format(const NodeState& state, const std::string& name,
                                   const Json& written, int format);
  static Result<void> check_integers_of(const std::string& path, const std::string& name,
                                        std::string_view text);
  Result<void> check_place(const NodeState& state, const std::string& name);
  void note_renamed(const NodeState& state, const Json& zarray);
  Result<NewArray> checked_new_array(const NodeState& state, const Json& plain);
  Result<void> write_json(const std::string& path, const std::string& name, const Json& json);
  Result<void> write_v2(const NodeState& state, const std::string& name, const Json& written);
  Result<void> write_v3(const NodeState& state, const Json& written);
  Result<void> write_group(const NodeState& state, const Json& document);
  Result<void> write_array(const NodeState& state, const Json& plain, const Json& shown);
  Result<void> write_attributes(const NodeState& state, const Json& written);
  Result<void> make_array(const NodeState& state, const Json& plain);
  void keep_unsaid(const NodeState& state, const Json& zarray, Json& plain) const;
  Result<void> write_zgroup(const NodeState& state, const Json& written);
  /// `.zarray` in the words that all readers take alike, what it says in v3, and what the one that
  /// is shown says; null where there is none.
  struct WrittenArray {
    HeldJson zarray;
    HeldJson plain;
    HeldJson shown;
  };
  Result<bool> is_written_by_netcdf(const NodeState& state);
  Result<WrittenArray> understand(const NodeState& state, const Json& written, const Json& early);
  /// Of a data set of netCDF-C, which has no `.zmetadata` by itself.
  Result<void> note_consolidated(const std::string& path);
  static void take_unsaid(const NodeState& state, const Json& zarray, Json& attributes);
  Result<void> store_unsaid(const NodeState& state, const Json& zarray);
  Result<void> resize(const NodeState& state, const std::vector<std::uint64_t>& shape);

  Result<bool> has_chunks(const NodeState& state);
  Result<void> check_replaceable(const NodeState& state);
  Result<void> finish_removals(const std::string& path);
  /// Attributes that were written before there was a node; null where there were none.
  Result<Json> early_attributes(const NodeState& state);
  /// Removes the documents that were written before there was a node, once they are in its own.
  Result<void> remove_early_documents(const NodeState& state);
  Result<void> check_attributes(const std::string& path, const std::string& name,
                                std::string_view text) const;
  void forget() {
    nodes_.forget();
    consolidation_.forget();
  }

  ViewShared& shared_;
  NodeCache& nodes_;
  Consolidation& consolidation_;
  MountOverlay& overlay_;
  ChunkWriter chunks_;
  OrphanChunks orphan_chunks_;
  DocumentStore documents_;
  MissingMarks marks_;
  NetcdfArrays netcdf_arrays_;
  /// One change at a time; held across commits.
  Ranked<std::mutex, LockRank::kChange> change_mutex_;
};

}  // namespace zarrfs
