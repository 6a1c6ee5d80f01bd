// The last documents that were refused, and why: many programs show only the errno of a call.
// `.zarrfs/report.json` and the extended attribute `user.zarrfs.refused` tell them. Memory is
// bounded: kMostKept refusals are kept. Thread-safe.
#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"

namespace zarrfs {

class Refusals {
 public:
  static constexpr std::size_t kMostKept = 20;

  /// Notes that the document `name` of `directory` was refused with `error`, where the document is
  /// to blame and not the store.
  void add(const std::string& directory, const std::string& name, const Error& error);

  /// What was refused in `directory`, or, of the root, in the whole mount: a line for each, the
  /// last one at the end; empty where there is nothing. Other users than the mount's own are told
  /// of their own documents only.
  [[nodiscard]] std::string text(const std::string& directory) const;
  /// The same of the whole mount, as a list of objects.
  [[nodiscard]] Json render() const;

 private:
  struct Refusal {
    std::string directory;
    std::string name;
    std::string message;
    int error_number = 0;
    std::optional<uid_t> user;  ///< Who was refused, where he is another user than ours.
  };

  mutable TableMutex mutex_;
  std::deque<Refusal> kept_;
};

}  // namespace zarrfs
