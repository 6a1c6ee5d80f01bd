#include "core/store/cache/segment_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::uint64_t kOfTables = 384;  // of a segment, beside its object's name, twice

}  // namespace

/// The first segment that ends behind `offset`.
SegmentCache::Segments::iterator SegmentCache::first_at(Segments& segments, std::uint64_t offset) {
  auto at = segments.upper_bound(offset);
  if (at == segments.begin()) return at;
  const auto before = std::prev(at);
  return before->first + before->second.length > offset ? before : at;
}

std::vector<ByteRange> SegmentCache::gaps(Segments& segments, ByteRange range) {
  std::vector<ByteRange> found;
  const std::uint64_t end = range.offset + range.length;
  std::uint64_t covered = range.offset;
  for (auto at = first_at(segments, covered); at != segments.end() && at->first < end; ++at) {
    if (at->first > covered) found.push_back({covered, at->first - covered});
    covered = at->first + at->second.length;
  }
  if (covered < end) found.push_back({covered, end - covered});
  return found;
}

std::vector<ByteRange> SegmentCache::begin(const std::string& object, ByteRange range,
                                           std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  Segments& segments = objects_[object];
  std::vector<ByteRange> missing;
  for (const ByteRange& gap : gaps(segments, range)) {
    for (std::uint64_t at = 0; at < gap.length; at += most) {
      missing.push_back({gap.offset + at, std::min(most, gap.length - at)});
    }
  }
  for (const ByteRange& one : missing) segments.emplace(one.offset, Segment{one.length, {}, 0, {}});
  return missing;
}

std::uint64_t SegmentCache::cost(const std::string& object, std::uint64_t length) {
  return length + kOfTables + 2 * object.size();
}

/// Of a small part of `buffer` a copy, so that the rest of it does not stay.
void SegmentCache::keep(const std::string& object, Segments& segments, ByteRange range,
                        const std::shared_ptr<const Bytes>& buffer, std::uint64_t offset) {
  newest_first_.push_front({object, range.offset});
  Segment segment{range.length, buffer, range.offset - offset, newest_first_.begin()};
  if (range.length < buffer->size() / 2) {
    const auto first = buffer->begin() + static_cast<std::ptrdiff_t>(segment.at);
    const auto last = first + static_cast<std::ptrdiff_t>(range.length);
    segment.buffer = std::make_shared<const Bytes>(first, last);
    segment.at = 0;
  }
  segments.emplace(range.offset, std::move(segment));
  bytes_ += cost(object, range.length);
}

void SegmentCache::put(const std::string& object, std::uint64_t offset, Bytes bytes) {
  const ByteRange range{offset, bytes.size()};
  const auto buffer = std::make_shared<const Bytes>(std::move(bytes));
  const std::uint64_t end = range.offset + range.length;
  {
    const std::lock_guard lock(mutex_);
    Segments& segments = objects_[object];
    // What is on its way within the range has come; what reaches out of it still comes.
    for (auto at = first_at(segments, offset); at != segments.end() && at->first < end;) {
      const bool within = at->first >= offset && at->first + at->second.length <= end;
      at = within && at->second.buffer == nullptr ? segments.erase(at) : std::next(at);
    }
    for (const ByteRange& one : gaps(segments, range)) keep(object, segments, one, buffer, offset);
    make_room(1);
  }
  changed_.notify_all();
}

void SegmentCache::give_up(const std::string& object, ByteRange range) {
  {
    const std::lock_guard lock(mutex_);
    Segments& segments = objects_[object];
    const auto found = segments.find(range.offset);
    const bool on_its_way = found != segments.end() && found->second.buffer == nullptr;
    if (on_its_way && found->second.length == range.length) segments.erase(found);
    if (segments.empty()) objects_.erase(object);
  }
  changed_.notify_all();
}

bool SegmentCache::read(const std::string& object, std::uint64_t offset, MutableByteView out) {
  const std::uint64_t end = offset + out.size();
  std::unique_lock lock(mutex_);
  const auto waits = [&] {
    const auto segments = objects_.find(object);
    if (segments == objects_.end()) return false;
    for (auto at = first_at(segments->second, offset);
         at != segments->second.end() && at->first < end; ++at) {
      if (at->second.buffer == nullptr) return true;
    }
    return false;
  };
  changed_.wait(lock, [&] { return !waits(); });
  const auto found = objects_.find(object);
  if (found == objects_.end() || !gaps(found->second, {offset, out.size()}).empty()) {
    return out.empty();
  }
  for (auto at = first_at(found->second, offset); at != found->second.end() && at->first < end;
       ++at) {
    const Segment& segment = at->second;
    const std::uint64_t first = std::max(offset, at->first);
    const std::uint64_t last = std::min(end, at->first + segment.length);
    std::memcpy(out.data() + (first - offset),
                segment.buffer->data() + segment.at + (first - at->first), last - first);
    newest_first_.splice(newest_first_.begin(), newest_first_, segment.use);
  }
  return true;
}

void SegmentCache::lend(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  lent_ = std::min(bytes, max_bytes_);
  make_room(0);
}

/// `left`: so many of the newest stay, whatever they take. The caller holds the lock.
void SegmentCache::make_room(std::size_t left) {
  while (bytes_ > max_bytes_ - lent_ && newest_first_.size() > left) {
    const Used oldest = std::move(newest_first_.back());
    newest_first_.pop_back();
    const auto object = objects_.find(oldest.object);
    const auto segment = object->second.find(oldest.offset);
    bytes_ -= cost(oldest.object, segment->second.length);
    object->second.erase(segment);
    if (object->second.empty()) objects_.erase(object);
  }
}

std::uint64_t SegmentCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace zarrfs
