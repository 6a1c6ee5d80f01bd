// What the classes of the view work on: the rooms below, and the tables of this one. Each part is
// thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/chunks/chunk_finder.h"
#include "core/chunks/chunk_writer.h"
#include "core/files/decoded_chunks.h"
#include "core/files/staged_table.h"
#include "core/names/inode_table.h"
#include "core/names/name_loans.h"
#include "core/names/names_in_use.h"
#include "core/names/removed_chunks.h"
#include "core/nodes/consolidation.h"
#include "core/nodes/creation_gate.h"
#include "core/nodes/metadata_editor.h"
#include "core/nodes/mount_overlay.h"
#include "core/nodes/move_gate.h"
#include "core/nodes/node_cache.h"
#include "core/nodes/stored_permissions.h"

namespace zarrfs {

struct ViewParts {
  ViewParts(std::shared_ptr<Store> store, const ViewOptions& options, Profile profile);

  ViewShared shared;
  StoredPermissions permissions;
  NodeCache nodes;
  Consolidation consolidation;
  ChunkFinder chunks;
  InodeTable table;
  std::shared_ptr<DecodedChunks> decoded;
  ListingWatch listings;
  NameLoans loans{listings};
  // Writing:
  StagedTable staged;
  MountOverlay overlay;
  RemovedChunks removed_chunks;
  NamesInUse names_in_use;
  CreationGate creation_gate;
  MoveGate move_gate;
  ChunkWriter chunk_writer;
  MetadataEditor editor;

  /// ChunkWriter::put of what a program wrote, who finds it from here on.
  Result<void> put_chunk(const NodeState& array, const Coordinates& chunk, ByteView shown,
                         const struct timespec& modified);
  [[nodiscard]] bool writable() const { return shared.writes != nullptr; }
  /// Whether nothing that was written is still to be put into its shard.
  [[nodiscard]] bool all_is_stored() const;
  /// See NameLoans. While something that was written is not in its shards, nothing is lent.
  std::optional<NameLoans::Offer> offer(const ShownPlace& place);
  /// See ListingWatch. While something that was written is not in its shards, no listing has one.
  std::optional<std::uint64_t> serial_of(const Directory& directory,
                                         const std::function<bool()>& is_sound);
  /// While a node is being created, a path below it is neither pass-through nor yet one of its
  /// chunks: names are made only while this is held.
  SharedCreation shared_creation();
  /// For callers that will write a document in the directory at `path`. Taken before the mutex of
  /// any file, because the holders of shared_creation() that it waits for may hold one.
  Result<ExclusiveCreation> exclusive_creation(const std::string& path);
  /// Has the report and the log tell of an error that is worth it; gives `result` back.
  template <class T>
  Result<T> reported(Result<T> result) {
    if (!result && is_worth_reporting(result.error().fault)) {
      shared.reporter.fault(result.error());
    }
    return result;
  }
};

}  // namespace zarrfs
