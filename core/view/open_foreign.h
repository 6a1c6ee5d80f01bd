// Files of the store that are not Zarr's while programs have them open, by their version: what stat
// tells of one whose name was removed or changed. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/view/view.h"

namespace zarrfs {

class OpenForeign {
 public:
  void opened(std::uint64_t version, const std::shared_ptr<OpenFile>& file);
  /// Null where no program has it open.
  [[nodiscard]] std::shared_ptr<OpenFile> find(std::uint64_t version) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<OpenFile>> files_;
};

}  // namespace zarrfs
