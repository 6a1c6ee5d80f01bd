// Who asked for what this thread is doing, and whether he still waits for it: what the border to
// the kernel knows of a request and the layers below need, without knowing the border.
//
// A RequestScope belongs to the thread that made it, and so do the functions below. Threads without
// one (commits, prefetching) work for zarrfs itself.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// Who made a request.
struct Caller {
  uid_t user = 0;
  gid_t group = 0;
  pid_t process = 0;                         ///< 0: of another process namespace.
  std::optional<std::vector<gid_t>> groups;  ///< Supplementary ones, where they are known.
};

/// The caller with his groups: kDenied where the system does not tell them. `folder`: where the
/// processes are told of, "/proc".
/// Source: proc(5), /proc/PID/status.
Result<Caller> with_groups(Caller caller, const char* folder = "/proc");

class RequestScope {
 public:
  /// `caller`: nothing where it is zarrfs's own work. `ended(context)`: whether nobody waits for
  /// the answer any more; null: as the scope around this one says, or somebody does.
  /// `task`: the thread that made the request; 0 where it is not known.
  explicit RequestScope(std::optional<Caller> caller, bool (*ended)(const void*) = nullptr,
                        const void* context = nullptr, pid_t task = 0);
  ~RequestScope();
  RequestScope(const RequestScope&) = delete;
  RequestScope& operator=(const RequestScope&) = delete;

 private:
  friend const Caller* foreign_caller();
  friend bool request_ended();
  friend pid_t request_task();
  std::optional<Caller> caller_;
  bool (*ended_)(const void*);
  const void* context_;
  pid_t task_;
  const RequestScope* outer_;
};

/// Who asked, where he is another user than the one this process runs as; else null. Valid as long
/// as the RequestScope.
const Caller* foreign_caller();

/// Whether nobody waits for the answer any more.
bool request_ended();

/// Which thread made the request; 0 where that is not known.
pid_t request_task();

/// For long work, now and then: kGivenUp where nobody waits for it any more.
Result<void> check_wanted();

}  // namespace zarrfs
