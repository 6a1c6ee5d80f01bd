#include "core/store/remote/part_plan.h"

#include <algorithm>

namespace zarrfs {
namespace {

constexpr std::uint64_t kSentPart = std::uint64_t{16} << 20U;
constexpr std::uint64_t kCopiedPart = std::uint64_t{256} << 20U;
constexpr std::uint64_t kMostOfOneRun = 9000;  // the cuts between runs add more
constexpr std::size_t kMostParts = 10000;

std::vector<ObjectPiece> runs_of(std::uint64_t size, const std::vector<ByteRange>& fresh) {
  std::vector<ObjectPiece> runs;
  std::uint64_t at = 0;
  for (const ByteRange& range : fresh) {
    if (range.length == 0) continue;
    if (range.offset > at) runs.push_back({{at, range.offset - at}, true});
    runs.push_back({range, false});
    at = range.offset + range.length;
  }
  if (at < size) runs.push_back({{at, size - at}, true});
  return runs;
}

/// Runs that may be parts: a short one takes what it lacks from the one behind it. Of less than
/// `least` bytes none is copied, but sent.
std::vector<ObjectPiece> lengthen(const std::vector<ObjectPiece>& runs, std::uint64_t size,
                                  std::uint64_t least) {
  std::vector<ObjectPiece> good;
  for (ObjectPiece run : runs) {
    ObjectPiece* const before = good.empty() || good.back().copied ? nullptr : &good.back();
    if (before != nullptr && run.copied && before->range.length < kLeastPart) {
      const std::uint64_t taken = std::min(run.range.length, kLeastPart - before->range.length);
      before->range.length += taken;
      run.range = {run.range.offset + taken, run.range.length - taken};
      if (run.range.length == 0) continue;
    }
    const bool last = run.range.offset + run.range.length == size;
    if (!last && run.range.length < least) run.copied = false;
    if (before != nullptr && !run.copied) {
      before->range.length += run.range.length;
    } else {
      good.push_back(run);
    }
  }
  return good;
}

std::vector<ObjectPiece> cut(const std::vector<ObjectPiece>& runs, std::uint64_t size) {
  std::vector<ObjectPiece> parts;
  for (const ObjectPiece& run : runs) {
    const std::uint64_t most =
        std::max(run.copied ? kCopiedPart : kSentPart, size / kMostOfOneRun + 1);
    const std::uint64_t count = divide_up(run.range.length, most);
    const std::uint64_t each = divide_up(run.range.length, count);
    for (std::uint64_t at = 0; at < run.range.length; at += each) {
      parts.push_back({{run.range.offset + at, std::min(each, run.range.length - at)}, run.copied});
    }
  }
  return parts;
}

}  // namespace

std::vector<ObjectPiece> plan_parts(std::uint64_t size, const std::vector<ByteRange>& fresh) {
  const auto runs = runs_of(size, fresh);
  for (std::uint64_t least = kLeastPart;; least *= 2) {
    auto parts = cut(lengthen(runs, size, least), size);
    if (parts.size() <= kMostParts || least >= size) return parts;
  }
}

std::uint64_t bytes_copied(const std::vector<ObjectPiece>& parts) {
  std::uint64_t bytes = 0;
  for (const ObjectPiece& part : parts) bytes += part.copied ? part.range.length : 0;
  return bytes;
}

}  // namespace zarrfs
