#include "fs/requests/kept_listings.h"

namespace zarrfs {

KeptListings::Opened KeptListings::hold(Term& term) {
  Opened opened;
  opened.hold = term.hold.lock();
  if (opened.hold == nullptr) {
    opened.hold = std::make_shared<char>();
    term.hold = opened.hold;
  }
  return opened;
}

void KeptListings::make_room() {
  if (terms_.size() < kMostTerms) return;
  std::erase_if(terms_, [](const auto& one) { return one.second.hold.expired(); });
}

KeptListings::Opened KeptListings::open(NodeId node, std::optional<std::uint64_t> serial,
                                        bool names_suffice, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  auto known = terms_.find(node);
  if (!serial) {
    if (known != terms_.end()) known->second.serial = 0;
    return {};
  }
  if (known == terms_.end()) {
    make_room();
    if (terms_.size() >= kMostTerms) return {};
    known = terms_.try_emplace(node).first;
  }
  Term& term = known->second;
  const bool cheap = !term.names_only() || (names_suffice && !term.large);
  if (term.serial == *serial && now < term.end && cheap) {
    Opened opened = hold(term);
    opened.keep = term.dropped;
    opened.names_only = term.dropped && term.names_only();
    return opened;
  }
  const bool others_hold = !term.hold.expired();
  term = {others_hold ? 0 : *serial, now + kTerm, false, 0, false, term.hold};
  return others_hold ? Opened() : hold(term);
}

void KeptListings::lists(NodeId node, const std::shared_ptr<const void>& hold) {
  const std::lock_guard lock(mutex_);
  const auto known = terms_.find(node);
  if (known != terms_.end() && known->second.hold.lock() == hold) known->second.dropped = true;
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
