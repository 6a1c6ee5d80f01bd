// `.zarrfs` in the root of a mount: files that tell of the mount itself (report.json, stats.json).
// Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/lock_order.h"
#include "core/names/statuses.h"
#include "core/names/view_parts.h"
#include "core/view/view.h"

namespace zarrfs {

/// The folder. Stored names that begin so are never shown.
inline constexpr const char* kOwnFolder = ".zarrfs";

class ControlFiles {
 public:
  ControlFiles(ViewParts& parts, const Statuses& statuses);

  /// The folder, as found in the root.
  InodeEntry folder();
  /// The file `name` of the folder.
  std::optional<InodeEntry> find(std::string_view name);
  static void list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink);

  [[nodiscard]] struct stat status(const NamedNode& node);
  /// The text of a file.
  [[nodiscard]] std::string text(const NamedNode& node);
  /// The text of report.json.
  std::string report();
  /// What could not be put into its shard.
  std::vector<Unpublished> unpublished();
  void set_front_statistics(std::function<std::string()> render_json_object);

 private:
  [[nodiscard]] std::string statistics();

  ViewParts& parts_;
  const Statuses& statuses_;
  struct timespec started_ {};
  [[nodiscard]] Json sharing() const;
  [[nodiscard]] Json memory_held() const;

  TableMutex front_mutex_;
  std::function<std::string()> front_statistics_;
};

}  // namespace zarrfs
