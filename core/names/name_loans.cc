#include "core/names/name_loans.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/chunks/chunk_writer.h"
#include "core/names/documents.h"
#include "core/names/name.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostLoans = 65536;
constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 17U;  // of a shard
constexpr std::size_t kMostVersions = 4;                        // of a shard that is lent
constexpr std::chrono::seconds kRest{5};
/// Many changes come together: told one by one they would cost a wake-up each.
constexpr std::chrono::milliseconds kGather{2};
/// An answer that was under way when its chunk was recalled reaches the kernel after that.
constexpr std::chrono::seconds kAgain{1};

/// What is another where the file or directory at `path` is: of a document, its node.
std::string changed_by(const std::string& path) {
  return last_name(path) == kStoredDocument ? parent_path(path) : path;
}

}  // namespace

Result<void> NameLoans::begin(std::shared_ptr<StoreWatch> watch, Recall recall) {
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return fail(system_error(errno, "watching a store"));
  watch_ = std::move(watch);
  recall_ = std::move(recall);
  thread_ = std::thread([this] { work(); });
  return {};
}

void NameLoans::end() {
  if (!thread_.joinable()) return;
  ending_ = true;
  rest_ = Clock::time_point::max().time_since_epoch().count();
  wake();
  thread_.join();
}

void NameLoans::wake() const { static_cast<void>(::eventfd_write(wake_.get(), 1)); }

void NameLoans::rest() { rest_ = (Clock::now() + kRest).time_since_epoch().count(); }

void NameLoans::pause() {
  if (watch_ == nullptr || ending_) return;
  rest();
  if (lent_ == 0) return;
  all_asked_ = true;
  wake();
}

/// The table is full: recalls loans, so that unused ones make room.
void NameLoans::start_over() {
  const auto now = Clock::now().time_since_epoch().count();
  auto earliest = start_over_from_.load();
  if (now < earliest) return;
  const auto next = now + Clock::duration(kLent).count();
  if (start_over_from_.compare_exchange_strong(earliest, next)) pause();
}

/// A place for the shard, which is not watched yet.
std::optional<std::uint64_t> NameLoans::reserve(const std::string& shard) {
  const std::lock_guard lock(mutex_);
  if (resting()) return std::nullopt;
  if (loans_.size() >= kMostLoans) {
    start_over();
    return std::nullopt;
  }
  const auto [place, fresh] = loans_.try_emplace(shard);
  if (!fresh) return std::nullopt;
  place->second.serial = ++serial_;
  lent_ = loans_.size();
  return serial_;
}

/// Whether it may be lent.
bool NameLoans::watched(const Offer& offer, bool is_watched) {
  const std::lock_guard lock(mutex_);
  const auto found = loans_.find(offer.shard);
  if (found == loans_.end() || found->second.serial != offer.serial) return false;
  found->second.watched = is_watched;
  if (!is_watched) loans_.erase(found);
  lent_ = loans_.size();
  return is_watched;
}

std::optional<NameLoans::Offer> NameLoans::offer(const ShownPlace& place) {
  if (watch_ == nullptr || resting() || !place.stored) return std::nullopt;
  Offer offer{place.stored->path, 0};
  {
    const std::lock_guard lock(mutex_);
    const auto found = loans_.find(offer.shard);
    if (found != loans_.end()) {
      if (!found->second.watched) return std::nullopt;
      offer.serial = found->second.serial;
      return offer;
    }
  }
  const auto serial = reserve(offer.shard);
  if (!serial) return std::nullopt;
  offer.serial = *serial;
  const bool is_watched =
      watch_->watch(parent_path(offer.shard)) && watch_->holds_plain(offer.shard);
  if (!is_watched && watch_->full()) start_over();
  if (!watched(offer, is_watched)) return std::nullopt;
  return offer;
}

/// What has to be known to recall the chunks of the shard.
bool NameLoans::describe(Loan& loan, const NodeState& array, const Coordinates& cell) {
  std::uint64_t chunks = 1;
  loan.spans.clear();
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    loan.spans.push_back(array.shown.shown_of(axis, cell[axis]));
    const auto all = checked_multiply(chunks, loan.spans.back().end - loan.spans.back().first);
    if (!all || *all > kMostChunks) return false;
    chunks = *all;
  }
  loan.generation = array.generation;
  loan.counts = array.shown.names.counts();
  return true;
}

bool NameLoans::lend(const Offer& offer, const NodeState& array, const ShownPlace& place,
                     NodeId node) {
  const NodeId first = node - place.number;
  const std::lock_guard lock(mutex_);
  const auto found = loans_.find(offer.shard);
  if (found == loans_.end() || found->second.serial != offer.serial || resting()) return false;
  Loan& loan = found->second;
  if (std::find(loan.firsts.begin(), loan.firsts.end(), first) != loan.firsts.end()) return true;
  if (loan.firsts.size() >= kMostVersions) return false;
  if (loan.firsts.empty() && !describe(loan, array, place.stored->cell)) return false;
  if (loan.generation != array.generation) return false;
  loan.firsts.push_back(first);
  return true;
}

void NameLoans::work() {
  std::array<pollfd, 2> ready = {{{watch_->descriptor(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  while (!ending_) {
    ::poll(ready.data(), ready.size(), pause_in_ms());
    if (ending_) return;
    if (ready[1].revents != 0) {
      eventfd_t count = 0;
      static_cast<void>(::eventfd_read(wake_.get(), &count));
    }
    if (all_asked_.exchange(false)) take_all();
    if (ready[0].revents != 0) take_changes();
    while (!due_.empty() && due_.front().when <= Clock::now()) {
      recall_now(*due_.front().loans);
      due_.pop_front();
    }
  }
}

int NameLoans::pause_in_ms() const {
  if (due_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(due_.front().when - Clock::now()).count();
  return static_cast<int>(std::max<decltype(left)>(left, 0));
}

void NameLoans::take_all() {
  rest();  // Who reserved a place now would soon find its directory watched no longer.
  std::vector<Loan> taken;
  take_below("", taken);
  {
    const ListingWatch::Taking taking(listings_);
    watch_->clear();
    listings_.changed("");
    listings_.rest(kRest);
  }
  recall(std::move(taken));
}

std::vector<std::string> NameLoans::changes() {
  const ListingWatch::Taking taking(listings_);
  std::vector<std::string> changed = watch_->take();
  for (std::string& path : changed) {
    if (path.empty()) {
      rest();
      listings_.rest(kRest);
    }
    path = changed_by(path);
    listings_.changed(path);
  }
  return changed;
}

void NameLoans::take_changes() {
  std::this_thread::sleep_for(kGather);  // changes that come together are told at once
  std::vector<Loan> taken;
  for (const std::string& path : changes()) take_below(path, taken);
  recall(std::move(taken));
}

/// Takes the loan of the shard `path`, and those of the shards below it.
void NameLoans::take_below(const std::string& path, std::vector<Loan>& taken) {
  const std::lock_guard lock(mutex_);
  const auto take = [&](Loans::iterator one) {
    if (!one->second.firsts.empty()) taken.push_back(std::move(one->second));
    return loans_.erase(one);
  };
  if (const auto one = loans_.find(path); one != loans_.end()) take(one);
  const std::string below = path.empty() ? "" : path + "/";
  for (auto one = loans_.lower_bound(below);
       one != loans_.end() && one->first.starts_with(below);) {
    one = take(one);
  }
  lent_ = loans_.size();
}

void NameLoans::recall(std::vector<Loan> taken) {
  if (taken.empty()) return;
  recall_now(taken);
  due_.push_back(
      {Clock::now() + kAgain, std::make_shared<const std::vector<Loan>>(std::move(taken))});
}

void NameLoans::recall_now(const std::vector<Loan>& taken) const {
  for (const Loan& loan : taken) {
    Coordinates chunk;
    for (const ArrayView::Span& span : loan.spans) chunk.push_back(span.first);
    for (bool more = true; more && !ending_;) {
      const std::uint64_t number = linear_of(chunk, loan.counts);
      for (const NodeId first : loan.firsts) recall_(first + number);
      more = false;
      for (std::size_t axis = chunk.size(); axis-- > 0 && !more;) {
        more = ++chunk[axis] < loan.spans[axis].end;
        if (!more) chunk[axis] = loan.spans[axis].first;
      }
    }
  }
}

}  // namespace zarrfs
