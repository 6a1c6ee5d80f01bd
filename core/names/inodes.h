// From the number by which the kernel calls a node to what it stands for now. kStale where that is
// something else by now: the kernel then looks the name up again. Thread-safe.
#pragma once

#include <memory>
#include <optional>

#include "core/names/name.h"
#include "core/names/view_parts.h"

namespace zarrfs {

/// What a number leads to. `state` is the array of a part, or the directory a named node is or
/// lies in.
struct InodeTarget {
  NodeId id = 0;
  std::optional<NamedNode> named;
  ChunkOrPrefix part;  ///< Where not `named`.
  ShownPlace place;    ///< Of the part, where it is a chunk.
  /// Of a chunk's version. Of a directory of chunks: 0, or what stands for the older node by which
  /// it was come to. The directories in it have numbers with that tag. To the kernel a directory is
  /// in one place: by one number, found by the older node and by the one of now, its lookups would
  /// move it to and fro, and fail with ESTALE while a program makes something in either.
  /// Source: d_splice_alias and __d_unalias of Linux.
  std::uint64_t tag = 0;
  StatePtr state;
};

/// What opening needs of what was found, so that it opens just that: a chunk, or a document's text.
/// Of other files it has none.
struct FoundContent {
  struct Chunk {
    InodeTarget target;
    ShownChunk chunk;
  };
  struct Document {
    std::shared_ptr<const Bytes> text;
    bool written = false;  ///< By the node that was found.
  };
  std::optional<Chunk> chunk;
  std::optional<Document> document;
};

class Inodes {
 public:
  explicit Inodes(ViewParts& parts) : parts_(parts) {}

  Result<InodeTarget> resolve(NodeId node);
  /// The same for who looks at names: what was known of a directory that cannot be read any more,
  /// with NodeState::unread. A chunk in one is kStale: by its name it is found as a broken one.
  Result<InodeTarget> resolve_or_known(NodeId node);
  /// The chunk, where it still is what the node was given out for.
  Result<ShownChunk> current_chunk(const InodeTarget& target);
  /// kStale where another version of the chunk has taken the place of what the node was given out
  /// for. Not where it is written by this node.
  Result<void> check_opened(const InodeTarget& target);
  /// What is being written under the name of the chunk, or null; kStale where it has taken the
  /// place of what the node stands for.
  Result<StagedPointer> current_staged(const InodeTarget& target);

  /// Whether the document is being written by this node: it stays the document, whatever is stored
  /// meanwhile.
  [[nodiscard]] bool is_written_by(const std::string& document, NodeId node) const {
    const StagedPointer file = parts_.staged.find(document);
    return file != nullptr && file->written_by() == node;
  }
  /// What some program has open to write under the name of the chunk, by whatever node, or null.
  [[nodiscard]] StagedPointer staged_of(const InodeTarget& target) const;

 private:
  Result<void> check_current(const InodeTarget& target);
  static bool is_of(const InodeTarget& target, const ShownChunk& chunk);
  using Get = Result<StatePtr> (NodeCache::*)(const std::string& path);
  Result<InodeTarget> resolve_by(NodeId node, Get get);
  Result<InodeTarget> resolve_part(NodeId node, Get get);
  /// What a directory is that was one of the store until an array was made around it.
  Result<InodeTarget> resolve_adopted(const NamedNode& directory);

  ViewParts& parts_;
};

}  // namespace zarrfs
