#include "core/view/open_foreign.h"

namespace zarrfs {

void OpenForeign::opened(std::uint64_t version, const std::shared_ptr<OpenFile>& file) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const auto& one) { return one.second.expired(); });
  files_.emplace(version, file);
}

std::shared_ptr<OpenFile> OpenForeign::find(std::uint64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = files_.equal_range(version);
  for (auto one = first; one != last; ++one) {
    if (auto file = one->second.lock()) return file;
  }
  return nullptr;
}

}  // namespace zarrfs
