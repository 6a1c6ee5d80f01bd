// What the writers of a shard have noted with it, as a commit asks and adds to it: in the short
// text of a server's object (WriteHistory), or a note for each draft (DraftNotes).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/log/successor.h"
#include "core/store/conditional_writer.h"

namespace zarrfs {

using Drafts = std::map<std::uint64_t, Draft>;

class CommitNotes {
 public:
  /// Of what stands there now; nothing where nothing does. kDamaged where it cannot be read, and
  /// must not be taken for none.
  static Result<std::unique_ptr<CommitNotes>> of(
      const ConditionalWriter& server, const std::string& path,
      const std::optional<ConditionalWriter::Standing>& standing);
  virtual ~CommitNotes() = default;

  /// Drafts of `writer` that are in no version yet: not those of a put whose answer was lost, nor
  /// those that another writer found in its log.
  [[nodiscard]] virtual Drafts unpublished(const Drafts& drafts,
                                           const std::string& writer) const = 0;
  /// Chunks that others have written since the version with digest `version`; nothing where that
  /// cannot be told.
  [[nodiscard]] virtual std::optional<std::set<std::uint64_t>> written_since(
      std::uint64_t version, const std::string& writer) const = 0;
  /// Those of the drafts, from the log of a dead writer, whose chunk was put since they were
  /// written: by a writer that lived, or from another such log, where it was written later.
  [[nodiscard]] virtual std::vector<std::uint64_t> overtaken(const Drafts& drafts,
                                                             const std::string& writer) const = 0;
  /// Of the version that the drafts are put into. `taken`: they are from the log of a dead writer.
  virtual void add(const Drafts& drafts, const std::string& writer, bool taken) = 0;
  [[nodiscard]] virtual std::string text() const = 0;
};

}  // namespace zarrfs
