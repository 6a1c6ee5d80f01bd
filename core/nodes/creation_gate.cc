#include "core/nodes/creation_gate.h"

#include <algorithm>
#include <string_view>

#include "core/chunks/chunk_names.h"
#include "core/nodes/orphan_chunks.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
// A lookup is a few requests to a store, which may be far away. While lookups that began are waited
// for, new ones are kept away: twice as long as the last time if that was in vain. Then they are
// let in.
constexpr std::chrono::milliseconds kMostForNames{2000};
// A node that waits keeps new writers away for a moment, so that it has its turn; then they are let
// in, since who holds a file open may need another one before closing it.
constexpr std::chrono::milliseconds kKeptAway{100};
constexpr std::chrono::milliseconds kLetIn{50};
/// Who waits asks far more often.
constexpr std::chrono::seconds kGivenUp{2};

bool is_part_of(const std::string& path, const std::string& node) {
  const std::string start = node.empty() ? node : node + "/";
  if (!path.starts_with(start)) return false;
  std::string_view below = std::string_view(path).substr(start.size());
  const std::string parked = parking_place("") + "/";
  if (below.starts_with(parked)) below.remove_prefix(parked.size());
  return below == ".zattrs" || below == ".zmetadata" ||
         looks_like_chunk(below.substr(0, below.find('/')));
}
}  // namespace

Result<std::uint64_t> CreationGate::opened(const std::string& path, bool is_new) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  for (const auto& [node, since] : waiting_) {
    if (is_new && now - since < kKeptAway && is_part_of(path, node)) {
      return fail(Fault::kBusy, "/" + path + ": the document of /" + node + " is being written");
    }
  }
  open_[next_] = path;
  return next_++;
}

void CreationGate::closed(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  open_.erase(number);
}

void CreationGate::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, path] : open_) path = moved_path(path, from, to);
}

Result<ExclusiveCreation> CreationGate::exclusive_creation(const std::string& path) {
  ExclusiveCreation lock = when_no_name_is_looked_up();
  const bool made = lock && !any_part_of(path);
  node_came(path, made);
  if (made) return lock;
  return fail(Fault::kBusy,
              "/" + path +
                  (lock ? ": files in it, which would be parts of it, are open for writing"
                        : ": the store has not yet told which names there are"));
}

ExclusiveCreation CreationGate::when_no_name_is_looked_up() {
  const std::lock_guard turn(turnstile_);
  const bool let_in = Clock::now() - gave_up_ < kLetIn;
  if (let_in) return ExclusiveCreation(creation_mutex_, std::try_to_lock);
  ExclusiveCreation lock(creation_mutex_, for_names_);
  for_names_ = lock ? kFirstForNames : std::min(2 * for_names_, kMostForNames);
  if (!lock) gave_up_ = Clock::now();
  return lock;
}

void CreationGate::node_came(const std::string& path, bool made) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const auto& one) {
    return made ? one.first == path : now - one.second > kGivenUp;
  });
  if (made) return;
  const auto [at, is_new] = waiting_.try_emplace(path, now);
  if (!is_new && now - at->second > kKeptAway + kLetIn) at->second = now;
}

bool CreationGate::node_waits(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return waiting_.contains(path);
}

bool CreationGate::node_waits_around(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const auto& one) { return is_part_of(path, one.first); });
}

bool CreationGate::any_part_of(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(open_.begin(), open_.end(),
                     [&](const auto& one) { return is_part_of(one.second, path); });
}

}  // namespace zarrfs
