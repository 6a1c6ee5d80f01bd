#include "core/store/http/renewed_credentials.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <utility>

#include "core/base/request.h"

namespace zarrfs {
namespace {

using std::chrono::seconds;
constexpr seconds kEarly{300};
constexpr seconds kNew{300};  // what is given for less says when it ends
constexpr seconds kLeastSearchPause{1};
constexpr seconds kLongestSearchPause{15};
constexpr seconds kForgotten{120};  // since the last trouble: the next one is the first again
constexpr std::chrono::milliseconds kBetweenSearchLooks{100};

}  // namespace

RenewedCredentials::RenewedCredentials(Find find)
    : RenewedCredentials(std::move(find),
                         {[] { return static_cast<std::int64_t>(::time(nullptr)); }, Clock::now}) {}

RenewedCredentials::RenewedCredentials(Find find, Times times)
    : find_(std::move(find)), times_(std::move(times)) {}

RenewedCredentials::~RenewedCredentials() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

Result<Credentials> RenewedCredentials::get(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  if (good()) {
    const bool soon =
        current_->expires && *current_->expires - times_.since_1970() <= kEarly.count();
    if (soon && times_.now() >= renew_at_ && may_ask()) ask();
    return *current_;
  }
  if (may_ask()) ask();
  ZARRFS_CHECK(wait_for_search(lock, until));
  if (error_) return fail(Error(*error_));
  // The server decides about those that were refused or are over by this machine's clock.
  return *current_;
}

bool RenewedCredentials::refuse(Clock::time_point used) {
  const std::lock_guard lock(mutex_);
  if (refused_ || !current_ || found_at_ > used) return true;
  if (!asking_ && !may_ask()) return false;
  refused_ = true;
  return true;
}

Doubt RenewedCredentials::suspect(Clock::time_point used, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  if (!current_) return Doubt::kRemains;
  if (found_at_ > used) return Doubt::kRenewed;
  if (used - found_at_ < kNew) return Doubt::kNone;
  if (may_ask()) ask();
  static_cast<void>(wait_for_search(lock, until));  // what has come until then counts
  return found_at_ > used ? Doubt::kRenewed : Doubt::kRemains;
}

Result<void> RenewedCredentials::wait_for_search(std::unique_lock<TableMutex>& lock,
                                                 Clock::time_point until) {
  while (asking_) {
    if (request_ended()) return fail(Fault::kGivenUp, "nobody waits for the credentials");
    if (Clock::now() >= until) return fail(Fault::kIo, "the credentials have not come in time");
    answered_.wait_until(lock, std::min(until, Clock::now() + kBetweenSearchLooks));
  }
  return {};
}

bool RenewedCredentials::good() const {
  return current_ && !refused_ && (!current_->expires || *current_->expires > times_.since_1970());
}

bool RenewedCredentials::may_ask() const { return !asking_ && times_.now() >= not_before_; }

void RenewedCredentials::ask() {
  asking_ = true;
  if (thread_.joinable()) thread_.join();  // it has let the mutex go, and does nothing after
  thread_ = std::thread([this] {
    const auto ended = [](const void* ends) {
      return static_cast<const std::atomic<bool>*>(ends)->load();
    };
    const RequestScope scope(std::nullopt, ended, &ends_);
    auto found = find_();
    const std::lock_guard lock(mutex_);
    take(std::move(found));
    asking_ = false;
    answered_.notify_all();
  });
}

void RenewedCredentials::take(Result<Credentials> found) {
  if (!found) {
    error_ = std::move(found.error());
    return put_off(kLeastSearchPause);
  }
  error_.reset();
  if (refused_) put_off({});
  refused_ = false;
  current_ = std::move(*found);
  found_at_ = times_.now();
  if (!current_->expires) return;
  const seconds left(*current_->expires - times_.since_1970());
  if (left.count() <= 0) return put_off(kLeastSearchPause);
  // Some services give what they gave before until it is nearly over.
  if (left <= kEarly)
    renew_at_ = found_at_ + std::max<Clock::duration>(left / 2, kLeastSearchPause);
}

/// The more often a search was for nothing, the longer.
void RenewedCredentials::put_off(Clock::duration least) {
  const auto now = times_.now();
  if (now - last_trouble_ > kForgotten) pause_ = {};
  last_trouble_ = now;
  pause_ = std::max(pause_, least);
  not_before_ = now + pause_;
  pause_ = std::clamp<Clock::duration>(pause_ * 2, kLeastSearchPause, kLongestSearchPause);
}

}  // namespace zarrfs
