#include "fs/requests/kept_listings.h"

#include <algorithm>
#include <string>

namespace zarrfs {
namespace {

/// Where a listing that ends at a gap goes on after the name behind which others have that
/// position. No listing has this one.
constexpr std::uint64_t kInsteadOfGap = (std::uint64_t{1} << 62U) + 1;

}  // namespace

std::shared_ptr<const void> KeptListings::hold(Term& term) {
  std::shared_ptr<const void> held = term.hold.lock();
  if (held == nullptr) {
    held = std::make_shared<char>();
    term.hold = held;
  }
  return held;
}

KeptListings::Opened KeptListings::take_part(Term& term, bool names_suffice,
                                             Clock::time_point now) {
  if (term.gap != 0) return {};
  if (!term.dropped) {
    if (now < term.begin + kPatience) return {};
    term.begin = now;
    term.end = now + kTerm;
    return {hold(term), true};
  }
  const bool cheap = !term.names_only() || (names_suffice && !term.large);
  if (now < term.end && cheap) return {hold(term), false, term.names_only()};
  if (term.filling) return {hold(term), false};
  term.end = now + kTerm;
  term.filling = true;
  term.reached = 0;
  term.brief = 0;
  term.large = false;
  return {hold(term), true};
}

void KeptListings::make_room() {
  if (terms_.size() < kMostTerms) return;
  std::erase_if(terms_, [](const auto& one) { return one.second.hold.expired(); });
}

KeptListings::Opened KeptListings::open(NodeId node, std::optional<std::uint64_t> serial,
                                        bool names_suffice, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  auto known = terms_.find(node);
  if (known == terms_.end()) {
    if (!serial) return {};
    make_room();
    if (terms_.size() >= kMostTerms) return {};
    known = terms_.try_emplace(node).first;
  }
  Term& term = known->second;
  const bool others_hold = !term.hold.expired();
  const bool may_go_on = now < term.end || !term.filling || !term.dropped;
  if (serial && term.serial == *serial && (term.dropped || others_hold) && may_go_on) {
    return take_part(term, names_suffice, now);
  }
  if (!serial || others_hold) {
    term.serial = 0;
    return {};
  }
  const std::uint64_t reached = term.filling ? term.reached : 0;
  term = {.serial = *serial,
          .begin = now,
          .end = now + kTerm,
          .dropped = false,
          .filling = true,
          .reached = reached,
          .gap = reached,
          .brief = 0,
          .large = false,
          .hold = {}};
  return {hold(term), true, false, term.gap};
}

KeptListings::Term* KeptListings::term_of(NodeId node, const Opened& opened) {
  const auto known = terms_.find(node);
  if (known == terms_.end() || known->second.hold.lock() != opened.hold) return nullptr;
  return &known->second;
}

std::uint64_t KeptListings::asks(NodeId node, const Opened& opened, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  Term* const term = term_of(node, opened);
  if (term == nullptr) return 0;
  if (offset == 0) {
    if (!term->filling) term->reached = 0;
    term->filling = true;
    term->dropped = term->gap == 0 && (term->dropped || opened.drop);
  }
  return term->reached;
}

void KeptListings::told(NodeId node, const Opened& opened, std::uint64_t reached,
                        std::uint64_t next) {
  const std::lock_guard lock(mutex_);
  Term* const term = term_of(node, opened);
  if (term == nullptr || !term->filling || term->reached < reached) return;
  term->reached = term->reached == reached ? next : std::max(term->reached, next);
}

void KeptListings::ends(NodeId node, const Opened& opened, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  Term* const term = term_of(node, opened);
  if (term != nullptr && offset == term->reached) term->filling = false;
}

std::optional<std::uint64_t> KeptListings::serial_held(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto known = terms_.find(node);
  if (known == terms_.end() || known->second.hold.expired()) return std::nullopt;
  return known->second.serial;
}

void KeptListings::listed(NodeId node, std::uint64_t offset, std::size_t brief) {
  const std::lock_guard lock(mutex_);
  const auto known = terms_.find(node);
  if (known == terms_.end()) return;
  Term& term = known->second;
  if (offset == 0) term.brief = 0;
  term.large = offset != 0;
  term.brief += brief;
}

Result<void> HeldListing::list(std::uint64_t offset,
                               const std::function<bool(const Listed&)>& sink) {
  const std::uint64_t reached = kept_.asks(node_, opened_, offset);
  std::uint64_t at = offset;
  bool any = false;
  bool met = false;
  const auto give = [&](const Listed& listed) {
    any = true;
    if (!sink(listed)) return false;
    met = met || at == reached;
    at = listed.next;
    return true;
  };
  const auto done =
      opened_.gap != 0 ? list_up_to_gap(offset, give) : directory_->list(offset, give);
  if (met) kept_.told(node_, opened_, reached, at);
  if (done && !any) kept_.ends(node_, opened_, offset);
  return done;
}

Result<void> HeldListing::list_up_to_gap(std::uint64_t offset,
                                         const std::function<bool(const Listed&)>& sink) {
  const std::uint64_t gap = opened_.gap;
  if (offset == gap) return {};
  std::optional<Listed> last;
  std::string name;
  bool room = true;
  const auto done =
      directory_->list(offset == kInsteadOfGap ? gap : offset, [&](const Listed& listed) {
        room = !last || sink(*last);
        name = listed.name;
        last = listed;
        last->name = name;
        if (listed.next == gap) last->next = kInsteadOfGap;
        return room;
      });
  if (!room || !last) return done;
  if (done) last->next = gap;
  sink(*last);
  return done;
}

}  // namespace zarrfs
