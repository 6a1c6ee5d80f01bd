#include "core/view/node_numbers.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

constexpr unsigned kMostTagBits = 24;
/// No range takes more than this part of the numbers that are left, so that they last.
constexpr unsigned kPartOfRest = 18;  // 2^18
constexpr unsigned kLeastTagBits = 8;

unsigned tag_bits_for(std::uint64_t span, std::uint64_t left) {
  const std::uint64_t most = std::max<std::uint64_t>((left >> kPartOfRest) / span, 1);
  const auto bits = static_cast<unsigned>(std::bit_width(most)) - 1;
  return std::clamp(bits, kLeastTagBits, kMostTagBits);
}

}  // namespace

Result<NodeNumbers::Range> NodeNumbers::range_of(const std::string& array_path,
                                                 std::uint64_t generation, std::uint64_t span,
                                                 bool versions) {
  span = std::max<std::uint64_t>(span, 1);
  const std::lock_guard lock(mutex_);
  if (const auto home = homes_.find(array_path); home != homes_.end()) {
    for (const Range& range : home->second.ranges) {
      // A directory that was moved here has the ranges that it had.
      const bool same = range->generation() == generation && range->array_path() == array_path;
      if (same && range->span() == span) return range;
    }
  }
  if (ranges_.size() >= sweep_at_) sweep();
  ZARRFS_TRY(auto made, make(array_path, generation, span, versions));
  ranges_.emplace(made->first(), made);
  Home& home = homes_[array_path];
  home.ranges.push_back(made);
  if (home.ranges.size() > kMostGenerations) outdate(home);
  return made;
}

Result<NodeNumbers::Range> NodeNumbers::make(const std::string& array_path,
                                             std::uint64_t generation, std::uint64_t span,
                                             bool versions) {
  const auto largest =
      std::max_element(free_.begin(), free_.end(), [](const auto& one, const auto& other) {
        return one.second - one.first < other.second - other.first;
      });
  const std::uint64_t left = largest == free_.end() ? 0 : largest->second - largest->first;
  unsigned bits = versions ? tag_bits_for(span, left) : 0;
  while (bits > 0 && span > left >> bits) --bits;
  if (span > left >> bits) {
    return fail(Fault::kUnsupported, "array " + array_path + ": no node numbers are left for " +
                                         std::to_string(span) + " chunks");
  }
  const std::uint64_t wanted = span << bits;
  const auto place = std::find_if(free_.begin(), free_.end(), [wanted](const auto& one) {
    return one.second - one.first >= wanted;
  });
  const auto [first, end] = *place;
  free_.erase(place);
  if (first + wanted < end) free_.emplace(first + wanted, end);
  return std::make_shared<const NodeRange>(array_path, generation, first, span, bits);
}

void NodeNumbers::free_numbers(Numbers numbers) {
  auto after = free_.lower_bound(numbers.first);
  if (after != free_.end() && after->first == numbers.second) {
    numbers.second = after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->second == numbers.first) {
      before->second = numbers.second;
      return;
    }
  }
  free_.emplace_hint(after, numbers);
}

/// The oldest generation's nodes are stale from now on, but the kernel may still know them.
void NodeNumbers::outdate(Home& home) {
  const Range oldest = std::move(home.ranges.front());
  home.ranges.pop_front();
  ranges_.erase(oldest->first());
  // Those of one array that is changed again and again lie side by side.
  if (!home.outdated.empty() && home.outdated.back().second == oldest->first()) {
    home.outdated.back().second = oldest->end();
  } else {
    home.outdated.emplace_back(oldest->first(), oldest->end());
  }
}

/// Frees what nobody has.
void NodeNumbers::release(Home& home) {
  std::erase_if(home.ranges, [this](const Range& range) {
    constexpr long kHere = 2;  // in `ranges_` and in `home`; only under the mutex more are made
    if (range->given_.load(std::memory_order_relaxed) || range.use_count() > kHere) return false;
    ranges_.erase(range->first());
    free_numbers({range->first(), range->end()});
    return true;
  });
}

std::optional<ComputedNode> NodeNumbers::find(NodeId node) const {
  const std::lock_guard lock(mutex_);
  auto after = ranges_.upper_bound(node);
  if (after == ranges_.begin()) return std::nullopt;
  const NodeRange& range = *(--after)->second;
  if (node >= range.end()) return std::nullopt;
  const std::uint64_t number = node - range.first();
  return ComputedNode{range.array_path(), range.generation(), number / range.span(),
                      number % range.span()};
}

void NodeNumbers::forgotten(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = homes_.find(path);
  if (found == homes_.end()) return;
  Home& home = found->second;
  for (const Range& range : home.ranges) range->given_.store(false, std::memory_order_relaxed);
  for (const Numbers& numbers : home.outdated) free_numbers(numbers);
  home.outdated.clear();
  release(home);
  if (home.ranges.empty()) homes_.erase(found);
}

void NodeNumbers::moved(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, Home>> taken;
  for (auto one = homes_.begin(); one != homes_.end();) {
    if (!is_at_or_below(one->first, from)) {
      ++one;
      continue;
    }
    taken.emplace_back(moved_path(one->first, from, to), std::move(one->second));
    one = homes_.erase(one);
  }
  for (auto& [path, home] : taken) {
    Home& there = homes_[path];
    there.ranges.insert(there.ranges.begin(), home.ranges.begin(), home.ranges.end());
    there.outdated.insert(there.outdated.end(), home.outdated.begin(), home.outdated.end());
  }
}

/// Arrays that were looked at, but no chunk of them.
void NodeNumbers::sweep() {
  for (auto one = homes_.begin(); one != homes_.end();) {
    release(one->second);
    const bool empty = one->second.ranges.empty() && one->second.outdated.empty();
    one = empty ? homes_.erase(one) : std::next(one);
  }
  sweep_at_ = std::max<std::size_t>(1024, 2 * ranges_.size());
}

std::uint64_t NodeNumbers::bytes() const {
  constexpr std::uint64_t kRange = 512;  // with its path, twice, and the nodes of the tables
  return size() * kRange;
}

std::size_t NodeNumbers::size() const {
  const std::lock_guard lock(mutex_);
  return ranges_.size();
}

}  // namespace zarrfs
