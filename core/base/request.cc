#include "core/base/request.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace zarrfs {
namespace {
thread_local const RequestScope* current = nullptr;
}  // namespace

Result<Caller> with_groups(Caller caller, const char* folder) {
  if (caller.groups) return caller;
  const std::string process = std::to_string(caller.process);
  const auto unknown = [&](const char* why) {
    return fail(Fault::kDenied, "the groups of process " + process + " are not known: " + why);
  };
  if (caller.process <= 0) return unknown("it is one of another namespace");
  std::ifstream status(std::string(folder) + "/" + process + "/status");
  bool same_user = false;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "Uid:") {
      uid_t real = 0, effective = 0, saved = 0, of_files = 0;
      words >> real >> effective >> saved >> of_files;
      same_user = !words.fail() && of_files == caller.user;
    }
    if (name != "Groups:") continue;
    if (!same_user) return unknown("it is another user's by now");
    std::vector<gid_t> groups;
    for (gid_t group = 0; words >> group;) groups.push_back(group);
    caller.groups = std::move(groups);
    return caller;
  }
  return unknown("it has ended, or may not be looked at");
}

RequestScope::RequestScope(std::optional<Caller> caller, bool (*ended)(const void*),
                           const void* context, pid_t task)
    : caller_(std::move(caller)), ended_(ended), context_(context), task_(task), outer_(current) {
  if (caller_ && caller_->user == ::geteuid()) caller_.reset();
  current = this;
}

RequestScope::~RequestScope() { current = outer_; }

const Caller* foreign_caller() {
  return current != nullptr && current->caller_ ? &*current->caller_ : nullptr;
}

bool request_ended() {
  for (const RequestScope* scope = current; scope != nullptr; scope = scope->outer_) {
    if (scope->ended_ != nullptr) return scope->ended_(scope->context_);
  }
  return false;
}

pid_t request_task() {
  for (const RequestScope* scope = current; scope != nullptr; scope = scope->outer_) {
    if (scope->task_ != 0) return scope->task_;
  }
  return 0;
}

Result<void> check_wanted() {
  if (!request_ended()) return {};
  return fail(Fault::kGivenUp, "the program waits for it no longer");
}

}  // namespace zarrfs
