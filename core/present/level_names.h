// Names of the levels of an image in a plate, for readers that look for 0, 1, ... whatever the
// metadata calls them (ome-zarr 0.8 and 0.9). Immutable; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"

namespace zarrfs {

class LevelNames {
 public:
  LevelNames() = default;
  /// Of an image's `multiscales`: its levels by their number. Nothing is renamed where they are
  /// called so already, or have names that cannot be.
  static LevelNames numbered(const Json& multiscales);

  [[nodiscard]] bool empty() const { return names_.empty(); }
  /// Every shown name.
  [[nodiscard]] std::vector<std::string> all_shown() const;
  /// What the view calls the child `stored` of the image.
  [[nodiscard]] std::string shown(const std::string& stored) const;
  /// What the store calls the child `shown`; nothing for the stored name of a renamed level.
  [[nodiscard]] std::optional<std::string> stored(const std::string& shown) const;
  /// `multiscales` with the paths of levels as shown, and as stored.
  [[nodiscard]] Json show(Json multiscales) const;
  [[nodiscard]] Json restore(Json multiscales) const;

 private:
  std::vector<std::pair<std::string, std::string>> names_;  // stored, shown
};

}  // namespace zarrfs
