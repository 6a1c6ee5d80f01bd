#include "core/chunks/joined_ranges.h"

#include <algorithm>
#include <utility>

namespace zarrfs {

namespace {

/// What may be brought for nothing, where a gap is joined: more if it is no longer than what is
/// usually wanted, as between every second of chunks: each of those costs a request.
std::uint64_t most_waste(std::uint64_t gap, std::uint64_t wanted, std::size_t ranges) {
  const std::uint64_t usual = wanted / ranges;
  return gap <= usual + usual / 4 ? wanted / 4 * 3 : wanted / 2;
}

}  // namespace

std::vector<ByteRange> join_ranges(std::vector<ByteRange> ranges, std::uint64_t most) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<std::pair<std::uint64_t, std::size_t>> gaps;  // length, and the range behind it
  std::uint64_t wanted = ranges.empty() ? 0 : ranges.front().length;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const std::uint64_t end = ranges[i - 1].offset + ranges[i - 1].length;
    gaps.emplace_back(ranges[i].offset - std::min(end, ranges[i].offset), i);
    wanted += ranges[i].length;
  }
  std::sort(gaps.begin(), gaps.end());
  std::vector<bool> joins(ranges.size(), false);
  std::uint64_t wasted = 0;
  for (const auto& [gap, behind] : gaps) {
    wasted += gap;
    if (wasted > most_waste(gap, wanted, ranges.size())) break;
    joins[behind] = true;
  }
  std::vector<ByteRange> found;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::uint64_t end = ranges[i].offset + ranges[i].length;
    if (joins[i] && end - found.back().offset <= most) {
      found.back().length = std::max(found.back().length, end - found.back().offset);
    } else {
      found.push_back(ranges[i]);
    }
  }
  return found;
}

}  // namespace zarrfs
