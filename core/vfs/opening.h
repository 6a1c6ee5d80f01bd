// Opening what a node stands for. Thread-safe.
#pragma once

#include <memory>

#include "core/chunks/far_ahead.h"
#include "core/chunks/read_ahead.h"
#include "core/files/decoded_chunks.h"
#include "core/names/namespace.h"
#include "core/vfs/pass_through.h"
#include "core/vfs/staged_files.h"

namespace zarrfs {

class Opening {
 public:
  Opening(ViewParts& parts, Namespace& names, Documents& documents, Entries& entries,
          Inodes& inodes, const Statuses& statuses, CallerRights& rights, ControlFiles& control,
          StagedFiles& staged, PassThrough& pass_through);

  Result<std::shared_ptr<OpenFile>> open_file(NodeId node);
  /// See View::find_and_open. An error counts no lookup.
  Result<std::optional<FoundAndOpened>> find_and_open(NodeId parent, std::string_view name);
  Result<std::shared_ptr<OpenFile>> open_for_writing(NodeId node, int flags);
  /// Both at once, whatever takes the name meanwhile. An error counts no lookup.
  Result<std::optional<FoundAndOpened>> find_and_open_to_write(NodeId parent, std::string_view name,
                                                               int flags);
  Result<std::shared_ptr<OpenDirectory>> open_directory(NodeId node);

 private:
  /// open_chunk(), and what is read ahead with it.
  Result<std::shared_ptr<OpenFile>> open_shown(const InodeTarget& target, const ShownChunk& chunk);
  /// Opens what was found of a chunk: an error only where it is another one by now.
  Result<std::shared_ptr<OpenFile>> open_chunk(const InodeTarget& target, const ShownChunk& chunk);
  /// `bytes`: what decoding it has just given.
  std::shared_ptr<OpenFile> open_decoded(const InodeTarget& target, const ShownChunk& chunk,
                                         const std::shared_ptr<const Bytes>& bytes);
  Result<std::shared_ptr<OpenFile>> open_named(NodeId id, const NamedNode& node,
                                               const StatePtr& state);
  Result<std::shared_ptr<OpenFile>> open_document(NodeId id, const NamedNode& node,
                                                  const NodeState& state);
  Result<std::shared_ptr<OpenFile>> open_broken(const NamedNode& node);
  Result<std::optional<FoundAndOpened>> open_found_chunk(NodeId node, int flags);
  Result<std::shared_ptr<OpenFile>> write_named(NodeId id, const NamedNode& node,
                                                const StatePtr& state, int flags);

  ViewParts& parts_;
  Namespace& names_;
  Documents& documents_;
  Entries& entries_;
  Inodes& inodes_;
  const Statuses& statuses_;
  CallerRights& rights_;
  ControlFiles& control_;
  StagedFiles& staged_;
  PassThrough& pass_through_;
  ReadAhead read_ahead_;
  FarAhead far_ahead_;
};

}  // namespace zarrfs
