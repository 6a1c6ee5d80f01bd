// Which chunks' names and attributes the kernel may keep for long, because what the store says of
// them is watched: "lent". When the shard of a chunk changes, or anything that leads to it, the
// kernel is told to ask again ("recalled").
//
// Only files are lent: opening one asks in any case, and finds a chunk that was replaced. So a
// change that is told late, or not at all, can delay what stat(2) tells, never what read(2) gives.
// What is absent is not lent, since nobody would ask again.
//
// Recalling asks the kernel to forget attributes by node, which waits for nothing: a request that
// names the node is then answered kStale, and the name is looked up again.
//
// Thread-safe. The thread that recalls serves no requests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/names/listing_watch.h"
#include "core/nodes/node_state.h"
#include "core/store/store_watch.h"

namespace zarrfs {

class NameLoans {
 public:
  using Recall = std::function<void(NodeId)>;
  using Clock = std::chrono::steady_clock;
  /// How long the kernel may keep what is lent.
  static constexpr std::chrono::seconds kLent{60};

  /// What a lookup takes before it looks at the store: only then is a change after it sure to be
  /// told.
  struct Offer {
    std::string shard;
    std::uint64_t serial = 0;
  };

  /// `listings` is told of each change, and outlives this.
  explicit NameLoans(ListingWatch& listings) : listings_(listings) {}
  ~NameLoans() { end(); }
  NameLoans(const NameLoans&) = delete;
  NameLoans& operator=(const NameLoans&) = delete;

  /// From now on names are lent. `recall` is called by a thread of its own. Before the first
  /// request.
  Result<void> begin(std::shared_ptr<StoreWatch> watch, Recall recall);
  /// Ends the thread; nothing is lent any more.
  void end();

  /// Nothing where the chunks of that shard are not lent.
  std::optional<Offer> offer(const ShownPlace& place);
  /// Whether the chunk, which was looked at after the offer, is lent.
  bool lend(const Offer& offer, const NodeState& array, const ShownPlace& place, NodeId node);
  /// A program writes: recalls everything, and lends nothing for a while.
  void pause();

 private:
  /// The chunks of a shard.
  struct Loan {
    std::uint64_t serial = 0;
    bool watched = false;
    std::uint64_t generation = 0;
    std::vector<NodeId> firsts;  ///< Numbers of the array's first chunk, one for each version lent.
    std::vector<ArrayView::Span> spans;  ///< Of the shard's chunks, along each axis.
    std::vector<std::uint64_t> counts;   ///< Of the array's.
  };
  using Loans = std::map<std::string, Loan>;  ///< By the shard's path.
  struct Due {
    Clock::time_point when;
    std::shared_ptr<const std::vector<Loan>> loans;
  };

  [[nodiscard]] bool resting() const { return Clock::now().time_since_epoch().count() < rest_; }
  void rest();
  void start_over();
  std::optional<std::uint64_t> reserve(const std::string& shard);
  bool watched(const Offer& offer, bool is_watched);
  static bool describe(Loan& loan, const NodeState& array, const Coordinates& cell);
  void wake() const;

  // The thread's.
  void work();
  std::vector<std::string> changes();
  void take_changes();
  void take_all();
  void take_below(const std::string& path, std::vector<Loan>& taken);
  void recall(std::vector<Loan> taken);
  void recall_now(const std::vector<Loan>& taken) const;
  [[nodiscard]] int pause_in_ms() const;

  ListingWatch& listings_;
  std::shared_ptr<StoreWatch> watch_;  ///< Null: nothing is lent.
  Recall recall_;
  std::thread thread_;
  Fd wake_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> all_asked_{false};  ///< Everything is to be recalled.
  std::atomic<Clock::rep> rest_{0};     ///< Until then nothing is lent.
  std::atomic<Clock::rep> start_over_from_{0};
  std::atomic<std::size_t> lent_{0};  ///< Size of `loans_`.
  TableMutex mutex_;
  Loans loans_;               ///< Guarded by mutex_.
  std::uint64_t serial_ = 0;  ///< Guarded by mutex_.
  std::deque<Due> due_;       ///< The thread's.
};

}  // namespace zarrfs
