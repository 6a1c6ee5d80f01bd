// What is known of the keys of a store: objects, absence, listings, each with the time when the
// server said so. Bounded; thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/lock_order.h"
#include "core/store/http/object_answer.h"
#include "core/store/store.h"

namespace zarrfs {

class ObjectTable {
 public:
  using Clock = std::chrono::steady_clock;
  using Listing = std::shared_ptr<const std::optional<std::vector<Entry>>>;

  /// What is older than `validity` has to be asked again; where it cannot be, it is of use for
  /// `grace` more.
  /// `memory`: bytes for all of it, about.
  ObjectTable(Clock::duration validity, Clock::duration grace, std::uint64_t memory);

  struct Known {
    std::optional<ObjectInfo> info;  ///< Nothing: there is no such object.
    bool fresh = false;
    bool usable = false;  ///< Where the server cannot be asked.
  };
  [[nodiscard]] std::optional<Known> find(const std::string& key) const;
  /// What the server said to a question of the time `asked`. Where more is known that was asked
  /// later, or it was changed since, that counts: an answer may be long on its way.
  void keep(const std::string& key, std::optional<ObjectInfo> info, Clock::time_point asked);
  /// The server has just said that it still has this version.
  void confirm(const std::string& key, const ObjectInfo& info);
  /// Another version may have come.
  void forget(const std::string& key);
  /// We have put it or removed it, or tried to: it and what is listed above it has to be asked
  /// again.
  void changed(const std::string& key);
  /// The same, where the server has answered that it made `info` of it: it counts where the server
  /// cannot be asked.
  void made(const std::string& key, const ObjectInfo& info);

  /// Null where it has to be asked for.
  [[nodiscard]] Listing find_listing(const std::string& prefix) const;
  void keep_listing(const std::string& prefix, Listing listing);
  /// For when the server cannot be asked: the names that are known below `prefix`; null where none
  /// are.
  [[nodiscard]] Listing usable_listing(const std::string& prefix) const;
  /// The same of whether there is anything below `prefix`.
  [[nodiscard]] bool usable_prefix(const std::string& prefix) const;
  void keep_prefix(const std::string& prefix);

  /// Prefixes with too many keys below them to list all of those; noted for good.
  [[nodiscard]] bool has_many_below(const std::string& prefix) const;
  void note_many_below(const std::string& prefix);

  /// Held by whoever asks for a key, so that several who need it ask once.
  class Turn {
   public:
    Turn(ObjectTable& table, std::string key);
    /// Null where another one has it.
    static std::unique_ptr<Turn> take(ObjectTable& table, std::string key);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    struct Taken {};
    Turn(ObjectTable& table, std::string key, Taken) : table_(table), key_(std::move(key)) {}
    ObjectTable& table_;
    const std::string key_;
  };

 private:
  struct Stamped {
    std::optional<ObjectInfo> info;
    Clock::time_point at;
    Clock::time_point asked;   ///< Answers to what was asked before do not count.
    bool asked_again = false;  ///< It has to be: see changed().
  };
  struct StampedListing {
    Listing listing;
    Clock::time_point at;
    bool asked_again = false;         ///< It has to be: see changed().
    std::set<std::string> changes{};  ///< Names directly below that may have come or gone.
  };
  [[nodiscard]] bool fresh(Clock::time_point at) const { return Clock::now() - at < validity_; }
  [[nodiscard]] bool usable(Clock::time_point at) const {
    return grace_ > Clock::duration::zero() && Clock::now() - at - validity_ < grace_;
  }
  void keep_prefixes_of(const std::string& key);
  void drop_listing(const std::string& prefix);

  const Clock::duration validity_;
  const Clock::duration grace_;
  const std::size_t most_objects_;  ///< And prefixes, and listings.
  const std::size_t most_listed_;
  mutable TableMutex mutex_;
  std::unordered_map<std::string, Stamped> objects_;
  std::unordered_map<std::string, StampedListing> listings_;
  std::unordered_map<std::string, Clock::time_point> prefixes_;  // when there was something below
  std::size_t listed_ = 0;
  std::set<std::string> many_below_;
  std::set<std::string> asked_;
  RankedCondition answered_;
};

}  // namespace zarrfs
