#include "core/view/plain_writers.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "core/view/chunk_names.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr std::chrono::seconds kPatience{10};
constexpr int kLooks = 20;  // while others wait
constexpr std::chrono::milliseconds kBetweenLooks{5};
}  // namespace

std::uint64_t PlainWriters::opened(const std::string& path) {
  const std::lock_guard lock(mutex_);
  open_[next_] = path;
  return next_++;
}

void PlainWriters::closed(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  open_.erase(number);
}

void PlainWriters::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, path] : open_) path = moved_path(path, from, to);
}

Result<NodeMaking> PlainWriters::making_node(const std::string& path) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    NodeMaking lock(making_mutex_, std::try_to_lock);
    for (int look = 0; lock && look < kLooks; ++look) {  // nobody opens another one meanwhile
      if (!any_part_of(path)) return lock;
      std::this_thread::sleep_for(kBetweenLooks);
    }
    if (std::chrono::steady_clock::now() > give_up) {
      return fail(Fault::kBusy,
                  "/" + path + ": files in it, which would be parts of it, are open for writing");
    }
    if (lock) lock.unlock();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

bool PlainWriters::any_part_of(const std::string& path) const {
  const std::string start = path.empty() ? path : path + "/";
  const std::lock_guard lock(mutex_);
  return std::any_of(open_.begin(), open_.end(), [&](const auto& one) {
    if (!one.second.starts_with(start)) return false;
    const std::string_view below = std::string_view(one.second).substr(start.size());
    return below == ".zattrs" || below == ".zmetadata" ||
           looks_like_chunk(below.substr(0, below.find('/')));
  });
}

}  // namespace zarrfs
