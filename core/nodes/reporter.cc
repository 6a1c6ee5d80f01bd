#include "core/nodes/reporter.h"

#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/request.h"

namespace zarrfs {

std::string_view name_of(ShownAs shown) {
  switch (shown) {
    case ShownAs::kVerbatim: return "verbatim";
    case ShownAs::kTrim: return "trimmed";
    case ShownAs::kBloscWrap: return "blosc_wrapped";
    case ShownAs::kDecode: return "decoded";
    case ShownAs::kRechunk: return "rechunked";
    case ShownAs::kReduced: return "reduced";
    case ShownAs::kHidden: return "hidden";
    case ShownAs::kDamaged: return "damaged";
  }
  return "verbatim";
}

bool is_worth_reporting(Fault fault) {
  switch (fault) {
    case Fault::kStale:
    case Fault::kGivenUp:
    case Fault::kNoData:
    case Fault::kNameTooLong:
    case Fault::kExists:
    case Fault::kNotEmpty:
    case Fault::kCrossDevice: return false;
    default: return true;
  }
}

namespace {
/// Whether the program that asked is to blame, rather than the store or the storage.
bool is_refusal(Fault fault) {
  return fault == Fault::kInvalid || fault == Fault::kForbidden || fault == Fault::kReadOnly ||
         fault == Fault::kTooBig || fault == Fault::kUnsupported;
}
}  // namespace

void Reporter::shown(const std::string& path, ShownAs as, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = nodes_.find(path);
    if (found != nodes_.end()) {
      if (found->second.as == as && found->second.reason == reason) return;
      found->second = {as, reason};
    } else if (nodes_.size() < kMaxFacts) {
      nodes_.emplace(path, Shown{as, reason});
    } else {
      ++nodes_left_out_;
      return;
    }
  }
  if (as == ShownAs::kVerbatim) return;
  const auto level =
      as == ShownAs::kDamaged ? ViewOptions::Level::kError : ViewOptions::Level::kWarning;
  std::string line = "/";
  line.append(printable(path)).append(" is ").append(name_of(as));
  if (!reason.empty()) line.append(": ").append(printable(reason, 1000));
  log_(level, line);
}

void Reporter::forget(const std::string& path) {
  const std::lock_guard lock(mutex_);
  nodes_.erase(path);
}

void Reporter::fault(const Error& error) {
  // What another user may not do is the caller's error, not the store's.
  if (error.fault == Fault::kDenied && foreign_caller() != nullptr) return;
  if (error.fault == Fault::kGivenUp) return;
  {
    const std::lock_guard lock(mutex_);
    const auto found = faults_.find(error.message);
    if (found != faults_.end()) {
      ++found->second.times;
      return;
    }
    if (faults_.size() >= kMaxFacts) {
      ++faults_left_out_;
      return;
    }
    faults_.emplace(error.message, Count{errno_of(error.fault), 1});
  }
  const auto level =
      is_refusal(error.fault) ? ViewOptions::Level::kWarning : ViewOptions::Level::kError;
  log_(level, printable(error.message, 1000));
}

Json Reporter::render() const {
  const std::lock_guard lock(mutex_);
  Json nodes = Json::array();
  for (const auto& [path, shown] : nodes_) {
    Json node = {{"path", "/" + path}, {"shown", std::string(name_of(shown.as))}};
    if (!shown.reason.empty()) node["reason"] = shown.reason;
    nodes.push_back(std::move(node));
  }
  Json faults = Json::array();
  for (const auto& [message, count] : faults_) {
    faults.push_back({{"message", message}, {"errno", count.error_number}, {"times", count.times}});
  }
  return {{"nodes", std::move(nodes)},
          {"faults", std::move(faults)},
          {"nodes_left_out", nodes_left_out_},
          {"faults_left_out", faults_left_out_}};
}

}  // namespace zarrfs
