// Which listings are sure to be what they were: those of directories of chunks (or of an array,
// where that holds nothing but documents and chunks) for which each change of what they show is
// told by the store's watch, or is made through this mount. A listing has a serial then, another
// one after each change; the kernel may keep the names as long as it is the same.
//
// A change that was done when serial_of() is called counts, whether or not its event was read.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/lock_order.h"
#include "core/names/name.h"
#include "core/store/store_watch.h"

namespace zarrfs {

class ListingWatch {
 public:
  /// From now on listings have serials. Before the first request.
  void begin(std::shared_ptr<StoreWatch> watch) { watch_ = std::move(watch); }

  /// The number of the listing; nothing where nobody would tell of a change. What is read of the
  /// store after the call is no older than the number. `is_sound`: whether what is known of the
  /// directory is so in the store; asked once its changes are told.
  std::optional<std::uint64_t> serial_of(const Directory& directory,
                                         const std::function<bool()>& is_sound);

  /// A listing of the array at this path named what could not be told: it is fetched again.
  void doubt(const std::string& array);

  /// While it lives something is changed through this mount: no listing has a serial, and later
  /// each has another one.
  class OwnChange {
   public:
    explicit OwnChange(ListingWatch& listings) : listings_(listings) { ++listings_.own_changes_; }
    ~OwnChange();
    OwnChange(const OwnChange&) = delete;
    OwnChange& operator=(const OwnChange&) = delete;

   private:
    ListingWatch& listings_;
  };

  /// While it lives, what the watch tells is taken from it and passed on by changed().
  class Taking {
   public:
    explicit Taking(ListingWatch& listings) : listings_(listings) { listings_.taking_ = true; }
    ~Taking() { listings_.taking_ = false; }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    ListingWatch& listings_;
  };
  /// `path` and what lies below it is another; "" is everything.
  void changed(const std::string& path);
  /// For so long no listing has a serial.
  void rest(std::chrono::seconds time);

 private:
  using Clock = std::chrono::steady_clock;
  struct Array {
    std::uint64_t serial = 0;
    std::uint64_t generation = 0;               ///< Of its state.
    std::unordered_set<std::uint64_t> watched;  ///< Its directories, by their numbers.
  };

  [[nodiscard]] bool all_is_told() const;
  Array& array_of(const NodeState& array);
  bool watch_all_of(const Directory& directory);
  bool watch_cells(const ArrayView& array, const Coordinates& prefix);

  std::shared_ptr<StoreWatch> watch_;  ///< Null: no listing has a serial.
  std::atomic<bool> taking_{false};
  std::atomic<unsigned> own_changes_{0};
  std::atomic<Clock::rep> rest_{0};  ///< Until then no listing has a serial.
  TableMutex mutex_;
  std::unordered_map<std::string, Array> arrays_;  ///< By path; guarded by mutex_.
  std::uint64_t serial_ = 0;                       ///< The last one given; guarded by mutex_.
};

}  // namespace zarrfs
