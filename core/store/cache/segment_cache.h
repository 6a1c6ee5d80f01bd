// Ranges of objects in memory: those that are kept, and those that are on their way, so that
// nothing is asked for twice. Bounded; what was unused for longest goes first. Thread-safe. Its
// lock is not held across I/O.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/lock_order.h"

namespace zarrfs {

class SegmentCache {
 public:
  explicit SegmentCache(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// The parts of `range` that are neither kept nor on their way, each of at most `most` bytes.
  /// From now on they are on their way: the caller must put() or give_up() each of them. `range`
  /// lies within the object.
  std::vector<ByteRange> begin(const std::string& object, ByteRange range, std::uint64_t most);
  /// Keeps the bytes at `offset` and ends the waiting for them.
  void put(const std::string& object, std::uint64_t offset, Bytes bytes);
  /// `range` does not come.
  void give_up(const std::string& object, ByteRange range);
  /// Waits until nothing of it is on its way, then copies it; false where a part is missing.
  bool read(const std::string& object, std::uint64_t offset, MutableByteView out);

  /// So much of the room is something else's, until the next call.
  void lend(std::uint64_t bytes);

  /// With what the table of them takes.
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t max_bytes() const { return max_bytes_; }

 private:
  struct Segment;
  using Segments = std::map<std::uint64_t, Segment>;  // by offset; never overlap
  struct Used {
    std::string object;
    std::uint64_t offset;
  };
  using Order = std::list<Used>;
  struct Segment {
    std::uint64_t length = 0;
    std::shared_ptr<const Bytes> buffer;  ///< Null: on its way.
    std::uint64_t at = 0;                 ///< Where in the buffer it begins.
    Order::iterator use;                  ///< Where it is kept.
  };
  static Segments::iterator first_at(Segments& segments, std::uint64_t offset);
  std::vector<ByteRange> gaps(Segments& segments, ByteRange range);
  void keep(const std::string& object, Segments& segments, ByteRange range,
            const std::shared_ptr<const Bytes>& buffer, std::uint64_t offset);
  static std::uint64_t cost(const std::string& object, std::uint64_t length);
  void make_room(std::size_t left);

  const std::uint64_t max_bytes_;
  mutable TableMutex mutex_;
  RankedCondition changed_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lent_ = 0;
  Order newest_first_;
  std::unordered_map<std::string, Segments> objects_;
};

}  // namespace zarrfs
