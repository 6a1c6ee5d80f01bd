// Shards and documents of a shared store as rows of generations: each is put in place of the one
// that was read, or not at all. SHARED.md has the protocol. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/base/lock_order.h"
#include "core/shared/membership.h"
#include "core/shared/record.h"

namespace zarrfs {

/// The last generation of a path, as far as it is known.
struct Tip {
  std::uint64_t generation = 0;  ///< 0: there is no record, and `record` says nothing.
  GenerationRecord record;
  FileIdentity identity;  ///< Of its file; zeros: there is no such file.
};

class Generations {
 public:
  Generations(std::shared_ptr<Store> store, Membership& members)
      : store_(std::move(store)), members_(members) {}

  /// The tip, settled: whatever it replaces can come to the path's name no more. Of generation 0
  /// waits until what is there is known to be of this epoch.
  Result<Tip> settled_tip(const std::string& path);
  /// The tip that was seen last, without asking; nothing where none was.
  [[nodiscard]] std::optional<Tip> known_tip(const std::string& path) const;
  /// Looks whether there is a later one. Settles nothing.
  Result<Tip> newest_tip(const std::string& path);

  /// The file of the latest generation whose record and file can be seen, settling nothing; null
  /// where there is none.
  Result<std::shared_ptr<File>> open_newest(const std::string& path, const OpenHint& hint);

  /// What a put did.
  enum class Put { kDone, kLost, kFenced };
  /// Makes the file `from`, which is beside `path` and has a successor's name, complete and
  /// durable, the generation after `tip`. `from` empty: there is no such file from then on. kLost:
  /// another was put there; kFenced: this writer has come again. Whatever it says, `from` may be
  /// removed by the caller, but after an error.
  Result<Put> put(const std::string& from, const std::string& path, const Tip& tip,
                  const std::string& notes);

  /// Makes sure that there is a record of `generation`: where there is none, the same again.
  Result<void> decide(const std::string& path, std::uint64_t generation);
  /// Whether the record of this announcement, which was decided, is that of its payload.
  Result<bool> has_won(const Announcement& announcement);

 private:
  Result<std::optional<GenerationRecord>> record(const std::string& path, std::uint64_t generation);
  [[nodiscard]] std::string record_path(const std::string& path, std::uint64_t generation) const;
  Result<Put> link(const GenerationRecord& record);
  Result<GenerationRecord> await_record(const std::string& path);
  Result<Put> whose(const GenerationRecord& record, const std::string& path);
  Result<bool> copy(const std::string& path, const Tip& tip);
  Result<void> settle(const GenerationRecord& record, const std::string& before);
  Result<void> settle_found(const Tip& tip);
  Result<FileIdentity> identity_at_name(const std::string& path);
  void note(const std::string& path, const Tip& tip);

  const std::shared_ptr<Store> store_;
  Membership& members_;

  struct Known {
    Tip tip;
    std::list<std::string>::iterator turn;
  };
  mutable TableMutex mutex_;
  std::unordered_map<std::string, Known> known_;  ///< Under its mutex, as what follows.
  std::list<std::string> turns_;                  ///< Paths, the last used one at the end.
  std::unordered_map<std::string, std::uint64_t> settled_;  ///< Path: generation that was settled.
};

}  // namespace zarrfs
