// The logs of other writers of a shared store that seem to be dead: what they have is put into
// shards, as theirs. SHARED.md has the argument. One thread at a time, but for left().
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/lock_order.h"
#include "core/log/draft_notes.h"
#include "core/shared/shared_store.h"
#include "core/write/dirty_table.h"
#include "core/write/left_log.h"
#include "core/write/write_parts.h"

namespace zarrfs {

class OthersLogs {
 public:
  explicit OthersLogs(WriteParts& parts) : parts_(parts) {}

  /// Takes the logs of writers that seem to be dead, and puts what is in them; at the first look,
  /// also logs of which something was kept. What fails for a reason that may pass is tried again at
  /// the next look; the rest is kept for the next writer's first look, or this one's leaving.
  /// Without effect where the store is not shared.
  Result<void> look();
  /// The same some times in a lease; what fails is told.
  void look_now_and_then();
  /// All is put that this writer has, or is never going to be.
  Result<void> leave();
  /// What is in logs that were taken, and could not be put.
  [[nodiscard]] std::vector<LeftDraft> left() const;

 private:
  struct Left;
  struct Successor;
  Result<void> take(SharedStore& shared, const std::function<bool(const OtherWriter&)>& wanted);
  Result<void> put_and_finish(SharedStore& shared, const OtherWriter& other);
  Left put(const SharedStore::TakenLog& taken);
  void tell(const SharedStore::TakenLog& taken, const Left& left);
  Result<std::optional<Successor>> read(const std::string& mount, const LoggedSuccessor& logged,
                                        Left& left);
  Result<DraftNotes> notes_of(const Successor& successor);
  Result<void> commit(const std::string& mount, const Successor& successor, Left& left);
  [[nodiscard]] bool may_be_put() const;

  WriteParts& parts_;
  std::vector<OtherWriter> taken_;  ///< Not finished yet.
  bool has_looked_ = false;
  mutable TableMutex left_mutex_;
  std::map<std::string, std::vector<LeftDraft>> left_;  ///< Of each writer. Under its mutex.
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace zarrfs
