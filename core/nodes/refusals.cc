#include "core/nodes/refusals.h"

#include <algorithm>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/zarr/tree.h"

namespace zarrfs {

namespace {
constexpr std::size_t kLongest = 1000;

bool blames_the_document(Fault fault) {
  return fault == Fault::kInvalid || fault == Fault::kUnsupported || fault == Fault::kTooBig ||
         fault == Fault::kExists;
}

std::optional<uid_t> foreign_user() {
  const Caller* caller = foreign_caller();
  return caller == nullptr ? std::nullopt : std::optional<uid_t>(caller->user);
}
}  // namespace

void Refusals::add(const std::string& directory, const std::string& name, const Error& error) {
  if (!blames_the_document(error.fault)) return;
  Refusal refusal{directory, name, printable(error.message, kLongest), errno_of(error.fault),
                  foreign_user()};
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const Refusal& earlier) {
    return earlier.directory == directory && earlier.name == name && earlier.user == refusal.user;
  });
  if (kept_.size() == kMostKept) kept_.pop_front();
  kept_.push_back(std::move(refusal));
}

std::string Refusals::text(const std::string& directory) const {
  const auto user = foreign_user();
  std::string lines;
  const std::lock_guard lock(mutex_);
  for (const Refusal& refusal : kept_) {
    if (user && refusal.user != user) continue;
    if (directory.empty() || refusal.directory == directory) lines += refusal.message + "\n";
  }
  return lines;
}

Json Refusals::render() const {
  Json list = Json::array();
  const std::lock_guard lock(mutex_);
  for (const Refusal& refusal : kept_) {
    list.push_back({{"path", "/" + join_path(refusal.directory, refusal.name)},
                    {"errno", refusal.error_number},
                    {"message", refusal.message}});
  }
  return list;
}

}  // namespace zarrfs
