// Which listings the kernel may keep: the names of a directory, so that listing it again costs
// OPENDIR and RELEASEDIR only. It fills its cache from the answers to whoever lists the directory
// first after an OPENDIR that dropped what was there, and may use it as long as OPENDIR says so.
//
// A *term* begins with an OPENDIR that drops the cache, and ends when the listing's serial (see
// OpenDirectory::serial) is another, or after kTerm. All that list within one term get no older
// answers than its beginning, so what they fill in is right while the serial stays. The kernel
// drops its cache some time after the answer to that OPENDIR, and is sure to have done so when who
// opened it asks for names: until then others have no part. None begins while a listing of an
// earlier one is open, which might fill in what it was told before: until that is closed nothing is
// kept, nor filled in by others.
//
// Who has no part drops the cache as well, so that those who read again from the start ask, but not
// while it is being filled: Linux would forget the names and not how far it came, never complete
// the cache, and ask for each listing as long as it knows the directory. (It also does so where it
// needs the memory just then, and where a listing is closed before its end and the next term begins
// before another is read to the end.)
//
// Kept are names alone. What the kernel does not know of these costs a LOOKUP each, where
// READDIRPLUS would bring it for all of them: so a listing is kept where the status of nearly all
// its files came with it and is lent for longer than the term, or where names alone are what
// programs want.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/view/view.h"

namespace zarrfs {

class KeptListings {
 public:
  using Clock = std::chrono::steady_clock;
  /// What was lent when it began is still lent when it ends.
  static constexpr std::chrono::seconds kTerm{55};

  struct Opened {
    std::shared_ptr<const void>
        hold;                 ///< Null: it has no part in the cache. Lives until RELEASEDIR.
    bool drop = true;         ///< Whether the kernel drops what it has kept; it may use it else.
    bool names_only = false;  ///< Kept though the kernel knows the names alone.
  };
  /// At OPENDIR. `serial`: of the listing; `names_suffice`: programs do not ask for the status of
  /// what they list.
  Opened open(NodeId node, std::optional<std::uint64_t> serial, bool names_suffice,
              Clock::time_point now = Clock::now());
  /// Who opened it so is asked for names from the start.
  void starts(NodeId node, const Opened& opened);
  /// Who takes part was told that there are no more.
  void ends(NodeId node, const Opened& opened);
  /// Whether a listing that takes part is open, which did not begin with this serial: read again
  /// from its start it would give what the kernel has kept, unless the directory's time changes.
  template <class Ask>
  bool is_held_too_long(NodeId node, const Ask& ask_serial) {
    const auto serial = serial_held(node);
    return serial && ask_serial() != serial;
  }
  /// An answer with names from `offset` on, `brief` of which without a status that is lent.
  void listed(NodeId node, std::uint64_t offset, std::size_t brief);

 private:
  struct Term {
    std::uint64_t serial = 0;  ///< 0: over.
    Clock::time_point end;
    bool dropped = false;   ///< The kernel has dropped what was there before.
    bool filling = false;   ///< It has some of the names, or is about to.
    std::size_t brief = 0;  ///< Files listed of which the kernel may not keep the status.
    bool large = false;     ///< It takes more than one answer.
    std::weak_ptr<const void> hold;
    /// Whether it has to be fetched again where a program wants more than names.
    [[nodiscard]] bool names_only() const { return brief > kFew; }
  };
  static constexpr std::size_t kFew = 2;  ///< About what READDIRPLUS and READDIR take.
  static constexpr std::size_t kMostTerms = 16384;

  static std::shared_ptr<const void> hold(Term& term);
  static Opened without_part(const Term& term);
  /// Where `opened` takes part in it.
  Term* term_of(NodeId node, const Opened& opened);
  /// Nothing where no listing that takes part is open; 0 where its term is over.
  std::optional<std::uint64_t> serial_held(NodeId node);
  void make_room();

  std::mutex mutex_;
  std::unordered_map<NodeId, Term> terms_;  ///< Guarded by mutex_.
};

/// An opened directory that takes part in what is kept.
class HeldListing : public OpenDirectory {
 public:
  HeldListing(std::shared_ptr<OpenDirectory> directory, NodeId node, KeptListings& kept,
              KeptListings::Opened opened)
      : directory_(std::move(directory)), node_(node), kept_(kept), opened_(std::move(opened)) {}
  Result<void> list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink) override {
    if (offset == 0) kept_.starts(node_, opened_);
    bool any = false;
    const auto done = directory_->list(offset, [&](const Listed& listed) {
      any = true;
      return sink(listed);
    });
    if (done && !any) kept_.ends(node_, opened_);
    return done;
  }

 private:
  const std::shared_ptr<OpenDirectory> directory_;
  const NodeId node_;
  KeptListings& kept_;
  const KeptListings::Opened opened_;
};

}  // namespace zarrfs
