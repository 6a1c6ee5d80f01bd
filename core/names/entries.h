// What the kernel is told of each kind of node: its number, its attributes, and how long both may
// be cached. A function without a NodeId gives the node a number, which counts one lookup.
// Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/names/name.h"
#include "core/names/statuses.h"
#include "core/names/view_parts.h"
#include "core/view/view.h"

namespace zarrfs {

class Entries {
 public:
  Entries(ViewParts& parts, const Statuses& statuses) : parts_(parts), statuses_(statuses) {}

  [[nodiscard]] InodeEntry of(NodeId id, const struct stat& status) const;
  /// `offer`: got before the chunk was looked at.
  InodeEntry of_chunk(NodeId id, const NodeState& array, const Coordinates& at,
                      const ShownPlace& place, const ShownChunk& chunk,
                      const std::optional<NameLoans::Offer>& offer);
  /// A chunk that cannot be read: it has a size, opening it works, and reading it is the error.
  InodeEntry of_broken_chunk(const NodeState& array, const ChunkOrPrefix& part,
                             std::optional<NodeId> id);
  /// `written`: while it is being written by the node; it shows what is stored until it is closed.
  [[nodiscard]] InodeEntry of_document(NodeId id, const struct stat& status, bool written) const;
  InodeEntry of_staged(const StagedPointer& file, std::optional<NodeId> id);
  [[nodiscard]] InodeEntry of_pass_through(NodeId id, const struct stat& status,
                                           const std::string& path) const;
  InodeEntry look_up_pass_through(const std::string& path, const struct stat& status);
  [[nodiscard]] InodeEntry of_link(NodeId id, const struct stat& status) const;
  InodeEntry look_up_link(const std::string& path, const struct stat& status);
  [[nodiscard]] std::function<InodeEntry(const struct stat&)> shown_as_pass_through(
      const std::string& path) const;

  /// The number of a chunk, or with version 0 of a directory of chunks: computed, not stored.
  /// `number`: that array.shown.names has.
  static NodeId id_of(const NodeState& array, std::uint64_t number, std::uint64_t version);

 private:
  ViewParts& parts_;
  const Statuses& statuses_;
};

/// The version of a pass-through file: another one once another file has taken its name.
std::uint64_t file_version(const struct stat& status);
/// That of a document.
std::uint64_t document_version(const Bytes& text);

}  // namespace zarrfs
