// Where the machines that make parts of one conversion meet: small files at the root of the target.
// No locks, which do not cross machines: what has to be decided once is decided by link(2) or, at a
// server, by If-None-Match. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {

/// The file that says that the result is whole.
inline constexpr const char* kFinishedNote = ".zarrfs-finished";

class PartsPlace {
 public:
  virtual ~PartsPlace() = default;

  /// What the file says; nothing where there is none.
  virtual Result<std::optional<std::string>> read(const std::string& name) = 0;
  /// A new file, whole and durable from the moment that others see it. False, and nothing is done,
  /// if there is one of that name: the first one wins.
  virtual Result<bool> put_first(const std::string& name, std::string_view text) = 0;
  /// The same, in place of what is there.
  virtual Result<void> put(const std::string& name, std::string_view text) = 0;
  virtual Result<void> remove(const std::string& name) = 0;
  /// Whether there is such a file. At a server, as it was seconds ago.
  virtual Result<bool> has(const std::string& name) = 0;

  /// Makes the target where there is nothing. False where something that is not of zarrfs is there.
  virtual Result<bool> prepare() = 0;
  /// Removes what processes noted, and what those that were killed left under temporary names, but
  /// neither the marker nor kFinishedNote.
  virtual Result<void> remove_temporary() = 0;

  /// What the pieces are written to.
  [[nodiscard]] virtual Target& target() = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// `path` is that of a local directory; `create`: which is made where it is not there.
Result<std::unique_ptr<PartsPlace>> open_local_parts(const std::string& path, bool create);
/// `url` is one of a bucket; `options`: see remote_options().
Result<std::unique_ptr<PartsPlace>> open_remote_parts(const std::string& url,
                                                      const std::string& options);

}  // namespace zarrfs::tools
