#include "fs/requests/listing_habit.h"

#include <algorithm>

namespace zarrfs {

void ListingHabit::Large::go_on(bool with_statuses) {
  with = with_statuses;
  names_with = names_without = lookups = 0;
}

bool ListingHabit::Large::half_looked_up() const { return lookups >= names_without / 2; }

bool ListingHabit::Large::expired() const { return lookups > names_without + names_with / 2; }

bool ListingHabit::Large::with_next_time() const {
  if (too_late || (with && expired())) return false;
  return half_looked_up() && (with || names_without > 0);
}

ListingHabit::Statuses ListingHabit::wanted(NodeId directory, bool first) {
  const std::lock_guard lock(mutex_);
  Large* const large = find(directory);
  if (large == nullptr) {
    return first && period_wants(directory) ? Statuses::kAll : Statuses::kNone;
  }
  if (first) {
    large->go_on(large->with_next_time());
    large->too_late = false;
  } else if (!large->with) {
    if (!large->too_late && large->names_without > 0 && large->half_looked_up()) {
      large->go_on(true);
    }
  } else if (large->expired()) {
    large->too_late = true;
    large->go_on(false);
  } else if (large->names_with > kPatience && !large->half_looked_up()) {
    large->go_on(false);
  }
  return large->with ? Statuses::kMost : Statuses::kNone;
}

void ListingHabit::answered(NodeId directory, const Answer& answer) {
  const std::lock_guard lock(mutex_);
  Large* large = find(directory);
  if (large == nullptr) {
    if (!answer.full) return;
    large = std::min_element(
        large_.begin(), large_.end(),
        [](const Large& one, const Large& other) { return one.used < other.used; });
    *large = {};
    large->directory = directory;
    large->with = answer.with > 0;
  }
  large->used = ++answers_;
  large->names_with += answer.with;
  large->names_without += answer.without;
}

void ListingHabit::looked_up(NodeId directory) {
  const std::lock_guard lock(mutex_);
  if (Large* const large = find(directory)) ++large->lookups;
  const auto listed = std::find(without_.begin(), without_.end(), directory);
  if (listed == without_.end()) return;
  *listed = 0;
  listings_left_ = kPeriod;
}

ListingHabit::Large* ListingHabit::find(NodeId directory) {
  const auto found = std::find_if(large_.begin(), large_.end(), [directory](const Large& one) {
    return one.directory == directory;
  });
  return found == large_.end() ? nullptr : &*found;
}

bool ListingHabit::period_wants(NodeId directory) {
  if (listings_left_ > 0) {
    --listings_left_;
    return true;
  }
  remember(directory);
  return false;
}

bool ListingHabit::names_suffice() {
  const std::lock_guard lock(mutex_);
  return listings_left_ == 0;
}

void ListingHabit::kept(NodeId directory) {
  const std::lock_guard lock(mutex_);
  remember(directory);
}

void ListingHabit::remember(NodeId directory) {
  without_.at(next_) = directory;
  next_ = (next_ + 1) % kRemembered;
}

}  // namespace zarrfs
