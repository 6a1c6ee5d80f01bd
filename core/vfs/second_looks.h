// Looking up and opening, where what is opened may be replaced between the two.
//
// Opening what was replaced since it was looked up is kStale; the kernel then looks the name up
// again and opens what it finds, once. That second look therefore opens what it finds, too, as the
// first open wanted it, and keeps it for the task: it gets that, though another file may have the
// name by then, as in any directory. A chunk that is kept to be written is being written: whoever
// looks it up meanwhile gets the same node, so that locks of all who have it open exclude.
// The kernel may look twice there: at the entry that it has, and, where that is another file or
// none, at the name; so a name that is absent once may still be opened.
// What the first look found would not do, because the kernel may have kept it since before a write
// that was acknowledged. Thread-safe.
// Source: path_openat and do_filp_open of Linux, which look again with LOOKUP_REVAL.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/lock_order.h"
#include "core/names/namespace.h"
#include "core/vfs/opening.h"

namespace zarrfs {

class SecondLooks {
 public:
  SecondLooks(Namespace& names, Opening& opening) : names_(names), opening_(opening) {}

  Result<std::optional<InodeEntry>> find(NodeId parent, std::string_view name);
  Result<std::shared_ptr<OpenFile>> open_file(NodeId node);
  Result<std::shared_ptr<OpenFile>> open_for_writing(NodeId node, int flags);
  /// Lets go of what was kept for tasks that did not come for it, as one that was killed.
  void drop_old();

 private:
  using FilePointer = std::shared_ptr<OpenFile>;
  /// How an open wants its file: `flags` of open(2), but for O_TRUNC, which waits until it comes.
  struct Want {
    bool writes = false;
    int flags = 0;
    bool operator==(const Want&) const = default;
  };
  struct Look {
    pid_t task = 0;
    Want want;
    NodeId node = 0;
    FilePointer file;  ///< Null until it has found one.
    NodeId parent = 0;
    std::string name;  ///< Empty until it has looked again.
    std::chrono::steady_clock::time_point since{};
  };

  Result<std::optional<InodeEntry>> find_and_open(const Look& wanted, NodeId parent,
                                                  std::string_view name);
  Result<FilePointer> open(NodeId node, const Want& want, int flags);
  void expect(pid_t task, const Want& want);
  [[nodiscard]] std::optional<Look> expected(pid_t task);
  void keep(Look kept);
  /// Ends the expectation.
  std::optional<Look> take(pid_t task);
  std::deque<Look>::iterator of(pid_t task);
  /// Takes it, and lets go of what was kept.
  void end(pid_t task);
  static void drop(const Look& look);

  Namespace& names_;
  Opening& opening_;
  std::atomic<std::size_t> count_{0};
  TableMutex mutex_;
  std::deque<Look> looks_;  ///< The oldest first; a few.
};

}  // namespace zarrfs
