// Writing to a store where nothing is renamed: a whole object at a time, and only in place of what
// the writer has seen there. Thread-safe, as Store is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/store/store.h"

namespace zarrfs {

class SharedStore;

/// The part of a Store that replaces objects on condition. New files (Store::create) of such a
/// store lie on this machine.
class ConditionalWriter {
 public:
  virtual ~ConditionalWriter() = default;

  using Say = std::function<void(const std::string& line)>;
  /// The caller is the store's one writer on this machine from now on: what an earlier one left
  /// half done at the server is removed there. `say`: one line for what a user should know.
  virtual Result<void> begin(Say say) = 0;

  /// What stands at a path now.
  struct Standing {
    FileIdentity identity;
    std::string version;  ///< Equal versions: equal bytes.
    std::string note;     ///< What its writer left with it; empty where it left none.
  };
  /// Asks the storage; nothing where there is no object.
  virtual Result<std::optional<Standing>> look(const std::string& path) = 0;
  /// The version that is shown to readers, "" where there is none. May be some seconds old.
  virtual Result<std::string> shown_version(const std::string& path) = 0;
  /// Whether the storage does not answer, so that nothing can be put now. Looks again, for a
  /// moment.
  virtual bool away() = 0;
  /// Files that were written before the document of their array, and lie on this machine until it
  /// comes; not more than 1,000 of them.
  virtual std::vector<std::string> waiting() = 0;

  /// Puts the bytes of the new file `from`, with `note`, in place of the object `expected` (zeros:
  /// there is none). kStale where another one stands there. After any other error it is not known
  /// whether it was done: look() tells, by the note. Durable when it returns.
  virtual Result<FileIdentity> put(const std::string& from, const std::string& path,
                                   const FileIdentity& expected, const std::string& note) = 0;
  /// What tells this writer's drafts from all others in the notes, where these tell of each draft
  /// (DraftNotes, and not WriteHistory); then nothing is removed. Else empty.
  [[nodiscard]] virtual std::string mount_id() const { return {}; }
  /// The writers beside this one, and what they leave; null where each keeps its own.
  virtual SharedStore* shared() { return nullptr; }

  /// Removes the object `expected`. kStale where another one stands there.
  virtual Result<void> remove_object(const std::string& path, const FileIdentity& expected) = 0;
};

/// Null where files are renamed over each other.
inline ConditionalWriter* conditional_writer_of(Store& store) { return store.conditional_writer(); }

/// The status of a file that only a program's atomic write would make. While the storage does not
/// answer there is none: nobody takes that for the fill value, and writing goes on.
inline Result<std::optional<struct stat>> status_of_temporary(Store& store,
                                                              const std::string& path) {
  auto status = store.status(path);
  if (status || status.error().fault != Fault::kIo) return status;
  ConditionalWriter* const server = conditional_writer_of(store);
  if (server != nullptr && server->away()) return std::nullopt;
  return status;
}

}  // namespace zarrfs
