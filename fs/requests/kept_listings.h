// Which listings the kernel may keep: the names of a directory, so that listing it again costs
// OPENDIR and RELEASEDIR only. It fills its cache from the answers to programs that list the
// directory first after an OPENDIR that dropped what was there, and may use it as long as OPENDIR
// says so.
//
// A *term* begins with an OPENDIR that drops the cache, and lasts while the listing's serial (see
// OpenDirectory::serial) is the same. All that list within one term get no older answers than its
// beginning, so what they fill in is right while the serial stays; after kTerm the names are told
// again. The kernel drops its cache some time after the answer to that OPENDIR, and is sure to have
// done so when who opened it asks for names: until then others have no part. None begins while a
// listing of an earlier one is open, which might fill in what it was told before: until that is
// closed nothing is kept, nor filled in by others.
//
// Who has no part drops nothing, for when OPENDIR is answered nobody can tell who fills the cache
// by the time that the kernel goes on: Linux would forget the names and not how far it came, and go
// on from there only, where its memory is gone. So who opened the directory before a change, and
// reads it again from its start, is told by the directory's time. Nor does Linux forget by itself
// what was filled in by a listing that was closed before its end. The next term has to drop that,
// and the cache has a *gap* then: nothing is filled in any more, and it is complete, and found to
// be empty and begun anew, once a listing ends at the very position that the cache had reached. So
// a term that begins with a gap is of one listing alone, which has that position at its end.
// (Nobody knows it where Linux itself drops what it is filling in, because it needs the memory, or
// where a signal ends a listing between two names of an answer.)
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
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/lock_order.h"
#include "core/view/view.h"

namespace zarrfs {

class KeptListings {
 public:
  using Clock = std::chrono::steady_clock;
  /// What was lent when the names were told is still lent then.
  static constexpr std::chrono::seconds kTerm{55};
  /// For so long others leave it to who has the cache dropped to list first.
  static constexpr std::chrono::seconds kPatience{1};

  struct Opened {
    std::shared_ptr<const void>
        hold;                 ///< Null: it has no part in the cache. Lives until RELEASEDIR.
    bool drop = false;        ///< Whether the kernel drops what it has kept; it may use it else.
    bool names_only = false;  ///< Kept though the kernel knows the names alone.
    std::uint64_t gap = 0;    ///< The position to give to the end; 0: its own.
  };
  /// At OPENDIR. `serial`: of the listing; `names_suffice`: programs do not ask for the status of
  /// what they list.
  Opened open(NodeId node, std::optional<std::uint64_t> serial, bool names_suffice,
              Clock::time_point now = Clock::now());
  /// A listing that was opened so is asked for names from `offset` on. Returns the position up to
  /// which the kernel has them.
  std::uint64_t asks(NodeId node, const Opened& opened, std::uint64_t offset);
  /// A listing that takes part was given names up to `next`; the one at `reached` is among them.
  void told(NodeId node, const Opened& opened, std::uint64_t reached, std::uint64_t next);
  /// A listing that takes part was told that there are no more from `offset` on.
  void ends(NodeId node, const Opened& opened, std::uint64_t offset);
  /// The serial with which a listing began that takes part and is open; nothing if there is none, 0
  /// if its term is over. Once the serial is another, it would give what the kernel has kept if
  /// it is read again from its start, unless the directory's time changes.
  std::optional<std::uint64_t> serial_held(NodeId node);
  /// An answer with names from `offset` on, `brief` of which without a status that is lent.
  void listed(NodeId node, std::uint64_t offset, std::size_t brief);

 private:
  struct Term {
    std::uint64_t serial = 0;  ///< 0: over.
    Clock::time_point begin;
    Clock::time_point end;
    bool dropped = false;       ///< The kernel has dropped what was there before.
    bool filling = false;       ///< It has some of the names, or is about to.
    std::uint64_t reached = 0;  ///< The position up to which it has them while it is filling.
    std::uint64_t gap = 0;      ///< See Opened; there is one opened directory then.
    std::size_t brief = 0;      ///< Files listed of which the kernel may not keep the status.
    bool large = false;         ///< It takes more than one answer.
    std::weak_ptr<const void> hold;
    /// Whether it has to be fetched again where a program wants more than names.
    [[nodiscard]] bool names_only() const { return brief > kFew; }
  };
  static constexpr std::size_t kFew = 2;  ///< About what READDIRPLUS and READDIR take.
  static constexpr std::size_t kMostTerms = 16384;

  static std::shared_ptr<const void> hold(Term& term);
  /// In a term that goes on.
  static Opened take_part(Term& term, bool names_suffice, Clock::time_point now);
  /// Where `opened` takes part in it.
  Term* term_of(NodeId node, const Opened& opened);
  void make_room();

  TableMutex mutex_;
  std::unordered_map<NodeId, Term> terms_;  ///< Guarded by mutex_.
};

/// An opened directory that takes part in what is kept.
class HeldListing : public OpenDirectory {
 public:
  HeldListing(std::shared_ptr<OpenDirectory> directory, NodeId node, KeptListings& kept,
              KeptListings::Opened opened)
      : directory_(std::move(directory)), node_(node), kept_(kept), opened_(std::move(opened)) {}
  Result<void> list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink) override;

 private:
  /// The same listing with the gap at its end.
  Result<void> list_up_to_gap(std::uint64_t offset, const std::function<bool(const Listed&)>& sink);

  const std::shared_ptr<OpenDirectory> directory_;
  const NodeId node_;
  KeptListings& kept_;
  const KeptListings::Opened opened_;
};

}  // namespace zarrfs
