// What a store tells of chunks whose bytes lie in other files: references, and virtual chunks of
// Icechunk. Had from Store::chunks_elsewhere. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/formats/virtual_targets.h"

namespace zarrfs {

class ChunksElsewhere {
 public:
  virtual ~ChunksElsewhere() = default;
  /// A URL, and how many chunks lie there.
  using Visit = std::function<void(std::string_view url, std::uint64_t chunks)>;
  /// Calls `visit` for each URL, for some more than once. Returns what was not looked at, because
  /// it is too much; empty where that is nothing.
  virtual Result<std::string> visit_urls(const Visit& visit) = 0;
  /// Whether the path of a place (File::place) is that of a file in the store's own directory.
  [[nodiscard]] virtual bool is_own_file(std::string_view path) const = 0;
  /// By what the URLs are judged.
  [[nodiscard]] virtual const VirtualTargets& targets() const = 0;
};

}  // namespace zarrfs
