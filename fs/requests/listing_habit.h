// Whether a listing should come with the status of files. The kernel always asks for it
// (READDIRPLUS); each costs a look into the shard's index and an inode in the kernel: wasted on
// programs that want names only, as find does. So directories are listed without.
//
// Where half of the names that came without are then looked up, one by one, the rest of that
// listing comes with, and the next one of the same directory from its start. Then a few names are
// still left without: where nobody looks these up, statuses are not wanted any more. That is
// decided after kPatience names, for programs read many before they look at the first, or when the
// directory is listed anew. Where names that came with are looked up all the same, the kernel may
// not keep statuses for as long as the program takes to look: the rest comes without.
//
// Small directories, as those of chunks with "/" in their keys, end with the first answer: after a
// file of one was looked up, the next kPeriod directories are listed with, and then one without
// again, to see whether that is still so.
// Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/lock_order.h"
#include "core/view/view.h"

namespace zarrfs {

class ListingHabit {
 public:
  enum class Statuses : std::uint8_t {
    kNone,
    kMost,  ///< All but those of samples.
    kAll,
  };
  /// One file in 512 or so, always the same ones.
  static bool is_sample(std::uint64_t inode) { return inode % 512 == 0; }

  /// Before an answer: the first of a listing of `directory`, or a later one.
  Statuses wanted(NodeId directory, bool first);

  struct Answer {
    std::size_t with = 0;     ///< Files that came with their status.
    std::size_t without = 0;  ///< Files that came without.
    bool full = false;        ///< There are more names than had room.
  };
  /// What the answer had.
  void answered(NodeId directory, const Answer& answer);

  /// Whether a listing that begins now would come without.
  bool names_suffice();

  /// The kernel lists `directory` by the names that it has kept.
  void kept(NodeId directory);

  /// A file in `directory` was looked up by its name.
  void looked_up(NodeId directory);

  static constexpr std::uint64_t kPatience = 150'000;  ///< fts(3), for one, reads 100,000.

 private:
  /// A directory whose listing takes several answers. The numbers are of the time since the listing
  /// began, or began to come with, or without.
  struct Large {
    NodeId directory = 0;
    std::uint64_t used = 0;  ///< When, in answers: what was used longest ago makes room.
    bool with = false;
    bool too_late = false;  ///< Statuses are not kept for as long as this listing needs them.
    std::uint64_t names_with = 0;
    std::uint64_t names_without = 0;
    std::uint64_t lookups = 0;

    void go_on(bool with_statuses);
    [[nodiscard]] bool half_looked_up() const;
    [[nodiscard]] bool expired() const;
    [[nodiscard]] bool with_next_time() const;
  };
  [[nodiscard]] Large* find(NodeId directory);
  bool period_wants(NodeId directory);

  static constexpr std::size_t kRemembered = 16;  ///< For as many walks side by side.
  static constexpr unsigned kPeriod = 64;

  void remember(NodeId directory);

  TableMutex mutex_;
  std::array<NodeId, kRemembered> without_{};  ///< Listed without lately; guarded by mutex_.
  std::size_t next_ = 0;                       ///< Guarded by mutex_.
  unsigned listings_left_ = 0;                 ///< That come with the status; guarded by mutex_.
  std::array<Large, kRemembered> large_{};     ///< Guarded by mutex_.
  std::uint64_t answers_ = 0;                  ///< Guarded by mutex_.
};

}  // namespace zarrfs
