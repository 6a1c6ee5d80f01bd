// The words in which programs wrote documents through a mount.
#pragma once

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

/// The `.zarray` documents that programs wrote through this mount, in their own words: TensorStore
/// changes an array only where it finds exactly what it wrote. Thread-safe; bounded.
class Spellings {
 public:
  void set(const std::string& path, Json document);
  /// The fill value of the `.zarray` that a program wrote for the array at `path`; nothing where
  /// none did, or it is long ago.
  [[nodiscard]] std::optional<Json> fill_value(const std::string& path) const;
  /// Path and document of those below the directory at `top`.
  [[nodiscard]] std::vector<std::pair<std::string, Json>> written_below(
      const std::string& top) const;
  /// What `_FillValue` of the array at `path` says was written as a fill value, through this mount.
  void marked(const std::string& path, bool is_marked);
  [[nodiscard]] bool is_marked(const std::string& path) const;
  /// Whether the attributes of the array at `path` were written last without the names of its axes
  /// that were shown.
  void unnamed(const std::string& path, bool is_unnamed);
  [[nodiscard]] bool is_unnamed(const std::string& path) const;
  /// The same of `_FillValue`.
  void undeclared(const std::string& path, bool is_undeclared);
  [[nodiscard]] bool is_undeclared(const std::string& path) const;
  /// The array at `path` was made through this mount.
  void made(const std::string& path);
  [[nodiscard]] bool is_made(const std::string& path) const;
  /// The directory at `from` is now at `to`, with all below it.
  void moved(const std::string& from, const std::string& to);
  /// The program's words for `document` where they say the same, with its shape; else `document`.
  [[nodiscard]] Json spell(const std::string& path, Json document) const;

 private:
  mutable TableMutex mutex_;
  std::unordered_map<std::string, HeldJson> documents_;
  std::set<std::string> made_;
  std::set<std::string> marked_;
  std::set<std::string> unnamed_;
  std::set<std::string> undeclared_;
};

}  // namespace zarrfs
