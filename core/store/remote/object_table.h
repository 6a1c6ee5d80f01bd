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

  /// What is older than `validity` has to be asked again.
  explicit ObjectTable(Clock::duration validity) : validity_(validity) {}

  struct Known {
    std::optional<ObjectInfo> info;  ///< Nothing: there is no such object.
    bool fresh = false;
  };
  [[nodiscard]] std::optional<Known> find(const std::string& key) const;
  void keep(const std::string& key, std::optional<ObjectInfo> info);
  /// The server has just said that it still has this version.
  void confirm(const std::string& key, const ObjectInfo& info);
  /// Another version may have come.
  void forget(const std::string& key);
  /// We have put it or removed it: what was listed above it may be another now.
  void changed(const std::string& key);

  /// Null where it has to be asked for.
  [[nodiscard]] Listing find_listing(const std::string& prefix) const;
  void keep_listing(const std::string& prefix, Listing listing);

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
  };
  struct StampedListing {
    Listing listing;
    Clock::time_point at;
  };
  [[nodiscard]] bool fresh(Clock::time_point at) const { return Clock::now() - at < validity_; }

  const Clock::duration validity_;
  mutable TableMutex mutex_;
  std::unordered_map<std::string, Stamped> objects_;
  std::unordered_map<std::string, StampedListing> listings_;
  std::size_t listed_ = 0;
  std::set<std::string> many_below_;
  std::set<std::string> asked_;
  RankedCondition answered_;
};

}  // namespace zarrfs
