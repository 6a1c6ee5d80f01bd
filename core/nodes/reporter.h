// Tells how nodes are shown and which faults were met: one log line for each new fact, and the
// whole as
// `.zarrfs/report.json`. Repeated faults are counted, not repeated.
//
// Memory is bounded: beyond kMaxFacts facts of a kind, more are only counted. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/present/view_options.h"

namespace zarrfs {

/// How a node is shown. kReduced: without what OME-Zarr 0.4 cannot say of a group.
enum class ShownAs { kVerbatim, kTrim, kBloscWrap, kDecode, kRechunk, kReduced, kHidden, kDamaged };

std::string_view name_of(ShownAs shown);

/// Whether a fault says more than that a program asked for what is or is not there.
bool is_worth_reporting(Fault fault);

class Reporter {
 public:
  static constexpr std::size_t kMaxFacts = 10'000;

  explicit Reporter(std::function<void(ViewOptions::Level, const std::string&)> log)
      : log_(std::move(log)) {}

  /// The node at `path` is shown so; `reason` may be empty for kVerbatim.
  void shown(const std::string& path, ShownAs as, const std::string& reason);
  /// Nothing is to be said of the node at `path` any more.
  void forget(const std::string& path);
  /// An operation met a fault.
  void fault(const Error& error);

  /// Members "nodes", "faults" and the number of what was left out.
  [[nodiscard]] Json render() const;

 private:
  struct Shown {
    ShownAs as = ShownAs::kVerbatim;
    std::string reason;
  };
  struct Count {
    int error_number = 0;
    std::uint64_t times = 0;
  };
  const std::function<void(ViewOptions::Level, const std::string&)> log_;
  mutable TableMutex mutex_;
  std::map<std::string, Shown> nodes_;
  std::map<std::string, Count> faults_;
  std::uint64_t nodes_left_out_ = 0;
  std::uint64_t faults_left_out_ = 0;
};

}  // namespace zarrfs
