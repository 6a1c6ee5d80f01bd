// Looking up and opening, where what is opened may be replaced between the two.
//
// Opening what was replaced since it was looked up is kStale; the kernel then looks the name up
// again and opens what it finds, once. That second look therefore opens what it finds, too, and
// keeps it for the task: it gets that, though another file may have the name by then, as in any
// directory. What the first look found would not do, because the kernel may have kept it since
// before a write that was acknowledged. Thread-safe.
// Source: path_openat and do_filp_open of Linux, which look again with LOOKUP_REVAL.
#pragma once

#include <sys/types.h>

#include <atomic>
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
  SecondLooks(ViewParts& parts, Namespace& names, Opening& opening)
      : parts_(parts), names_(names), opening_(opening) {}

  Result<std::optional<InodeEntry>> find(NodeId parent, std::string_view name);
  Result<std::shared_ptr<OpenFile>> open_file(NodeId node);
  /// After a second look, what has the name by now is written.
  Result<std::shared_ptr<OpenFile>> open_for_writing(NodeId node, int flags);

 private:
  using FilePointer = std::shared_ptr<OpenFile>;
  struct Look {
    pid_t task = 0;
    NodeId node = 0;
    FilePointer file;  ///< Null until it has looked again.
    NodeId parent = 0;
    std::string name;
  };

  Result<std::optional<InodeEntry>> find_and_open(pid_t task, NodeId parent, std::string_view name);
  void expect(pid_t task);
  [[nodiscard]] bool is_expected(pid_t task);
  void keep(Look kept);
  /// Where the task has looked again and found `node`. Ends the expectation.
  std::optional<Look> take(pid_t task, NodeId node);
  std::deque<Look>::iterator of(pid_t task);

  ViewParts& parts_;
  Namespace& names_;
  Opening& opening_;
  std::atomic<std::size_t> count_{0};
  TableMutex mutex_;
  std::deque<Look> looks_;  ///< The oldest first; a few.
};

}  // namespace zarrfs
