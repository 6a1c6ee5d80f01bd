#include "core/store/remote/parts_use.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kPause{60};

}  // namespace

bool PartsUse::usable(RemoteObjects& objects) {
  const HeldLock lock(mutex_);
  if (usable_) return *usable_;
  if (Clock::now() < try_again_) return false;
  const auto tried = objects.writer().check_parts();
  if (tried) {
    usable_ = true;
  } else if (tried.error().fault == Fault::kUnsupported) {
    refuse_locked(tried.error());
  } else {
    try_again_ = Clock::now() + kPause;  // the network, or rights that are missing
  }
  return usable_.value_or(false);
}

void PartsUse::refuse(const Error& error) {
  const HeldLock lock(mutex_);
  if (usable_.value_or(true)) refuse_locked(error);
}

void PartsUse::refuse_locked(const Error& error) {
  usable_ = false;
  say_("large shards are sent as a whole when a chunk of them changes: " + error.message);
}

}  // namespace zarrfs
