#include "fs/requests/kept_listings.h"

namespace zarrfs {

std::shared_ptr<const void> KeptListings::hold(Term& term) {
  std::shared_ptr<const void> held = term.hold.lock();
  if (held == nullptr) {
    held = std::make_shared<char>();
    term.hold = held;
  }
  return held;
}

KeptListings::Opened KeptListings::without_part(const Term& term) {
  return {nullptr, !term.filling || term.hold.expired(), false};
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
  const bool cheap = !term.names_only() || (names_suffice && !term.large);
  const bool goes_on = serial && term.serial == *serial && now < term.end && cheap;
  if (goes_on && term.dropped) return {hold(term), false, term.names_only()};
  const bool others_hold = !term.hold.expired();
  if (goes_on && others_hold) return without_part(term);
  if (!serial || others_hold) {
    term.serial = 0;
    return without_part(term);
  }
  term = {.serial = *serial,
          .end = now + kTerm,
          .dropped = false,
          .filling = true,
          .brief = 0,
          .large = false,
          .hold = {}};
  return {hold(term), true, false};
}

KeptListings::Term* KeptListings::term_of(NodeId node, const Opened& opened) {
  const auto known = terms_.find(node);
  if (known == terms_.end() || known->second.hold.lock() != opened.hold) return nullptr;
  return &known->second;
}

void KeptListings::starts(NodeId node, const Opened& opened) {
  const std::lock_guard lock(mutex_);
  Term* const term = term_of(node, opened);
  if (term == nullptr) return;
  term->filling = true;
  term->dropped = term->dropped || opened.drop;
}

void KeptListings::ends(NodeId node, const Opened& opened) {
  const std::lock_guard lock(mutex_);
  if (Term* const term = term_of(node, opened)) term->filling = false;
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

}  // namespace zarrfs
