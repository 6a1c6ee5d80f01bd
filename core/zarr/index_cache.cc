#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/lock_order.h"
#include "core/zarr/array_reader.h"

namespace zarrfs {
namespace {

/// What an entry costs beside the shard itself: the key twice, nodes of a list and a map.
constexpr std::size_t kOverhead = 256;

}  // namespace

struct IndexCache::State {
  struct Entry {
    std::string path;
    std::shared_ptr<const Shard> shard;
    std::size_t bytes = 0;
  };
  using Recent = std::list<Entry>;  // most recent first

  void erase(std::map<std::string, Recent::iterator>::iterator found) {
    bytes -= found->second->bytes;
    recent.erase(found->second);
    by_path.erase(found);
  }

  std::size_t max_bytes = 0;
  TableMutex mutex;
  std::size_t bytes = 0;
  Recent recent;
  std::map<std::string, Recent::iterator> by_path;
};

IndexCache::IndexCache(std::size_t max_bytes) : state_(std::make_unique<State>()) {
  state_->max_bytes = max_bytes;
}

IndexCache::~IndexCache() = default;

std::shared_ptr<const Shard> IndexCache::find(const std::string& path,
                                              const FileIdentity& identity) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->by_path.find(path);
  if (found == state_->by_path.end() || found->second->shard->identity() != identity) {
    return nullptr;
  }
  state_->recent.splice(state_->recent.begin(), state_->recent, found->second);
  return found->second->shard;
}

void IndexCache::insert(const std::string& path, std::shared_ptr<const Shard> shard) {
  const std::size_t bytes = shard->memory() + 2 * path.size() + kOverhead;
  const std::lock_guard lock(state_->mutex);
  if (const auto old = state_->by_path.find(path); old != state_->by_path.end()) state_->erase(old);
  state_->recent.push_front({path, std::move(shard), bytes});
  state_->by_path.emplace(path, state_->recent.begin());
  state_->bytes += bytes;
  while (state_->bytes > state_->max_bytes && state_->recent.size() > 1) {
    state_->erase(state_->by_path.find(state_->recent.back().path));
  }
}

void IndexCache::drop(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  if (const auto found = state_->by_path.find(path); found != state_->by_path.end()) {
    state_->erase(found);
  }
  const std::string inner = path + "//";
  for (auto next = state_->by_path.lower_bound(inner);
       next != state_->by_path.end() && next->first.starts_with(inner);) {
    state_->erase(next++);
  }
}

std::size_t IndexCache::bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bytes;
}

}  // namespace zarrfs
