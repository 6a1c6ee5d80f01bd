// Documents as programs wrote them through a mount.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/held_json.h"
#include "core/base/json_fwd.h"
#include "core/base/lock_order.h"

namespace zarrfs {

/// The `.zarray` documents that programs wrote through this mount, as they wrote them: TensorStore
/// changes an array only if it finds exactly what it wrote. Thread-safe; bounded.
class WrittenDocuments {
 public:
  /// What this mount knows of an array.
  enum class Fact {
    kMade,        ///< It was made through this mount.
    kMarked,      ///< What its `_FillValue` says was written as a fill value.
    kUnnamed,     ///< Its attributes were written last without the names of axes that were shown.
    kUndeclared,  ///< The same of `_FillValue`.
    kRenamed,     ///< Its chunks have been listed by other names, through this mount, than they are
                  ///< now.
    kNamesKept,   ///< It was resized, and then written without the names, once: they stay.
  };
  void set(const std::string& path, Json document);
  /// The fill value of the `.zarray` that a program wrote for the array at `path`; nothing where
  /// none did, or it is long ago.
  [[nodiscard]] std::optional<Json> fill_value(const std::string& path) const;
  /// Path and document of those below the directory at `top`.
  [[nodiscard]] std::vector<std::pair<std::string, Json>> written_below(
      const std::string& top) const;
  void note(const std::string& path, Fact fact, bool is_so = true);
  [[nodiscard]] bool is(const std::string& path, Fact fact) const;
  /// The directory at `from` is now at `to`, with all below it.
  void moved(const std::string& from, const std::string& to);
  /// What the program wrote, with the shape of `document`, if it means the same; else `document`.
  [[nodiscard]] Json spell(const std::string& path, Json document) const;

 private:
  mutable TableMutex mutex_;
  std::unordered_map<std::string, HeldJson> documents_;
  std::map<Fact, std::set<std::string>> paths_;
};

}  // namespace zarrfs
