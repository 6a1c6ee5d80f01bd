#include "core/names/names_in_use.h"

#include <fstream>
#include <functional>
#include <sstream>
#include <utility>

#include "core/base/hash.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMostCalls = 32768;  // of each age

/// When the thread began, in ticks since the machine did: others get its number later. 0: not told.
/// Source: proc(5), /proc/PID/stat, field 22.
std::uint64_t beginning_of(pid_t task) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(task) + "/stat"), text);
  const auto name_ends = text.rfind(')');  // the name may hold anything
  if (name_ends == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_ends + 1));
  std::string field;
  for (int number = 3; number < 22; ++number) fields >> field;
  std::uint64_t ticks = 0;
  return fields >> ticks ? ticks : 0;
}

std::uint64_t key_of(pid_t task, const std::string& path, bool in_directories) {
  const std::uint64_t who = mix_numbers(static_cast<std::uint64_t>(task), beginning_of(task));
  return mix_numbers(mix_numbers(who, std::hash<std::string>()(path)), in_directories ? 1 : 0);
}
}  // namespace

void NamesInUse::called_otherwise(pid_t task, const std::string& path, bool in_directories) {
  if (task == 0) return;
  const std::uint64_t key = key_of(task, path, in_directories);
  const std::lock_guard lock(mutex_);
  if (calls_.size() >= kMostCalls) before_ = std::exchange(calls_, {});
  calls_.insert(key);
}

bool NamesInUse::calls_otherwise(pid_t task, const std::string& path, bool in_directories) const {
  if (task == 0) return false;
  const std::uint64_t key = key_of(task, path, in_directories);
  const std::lock_guard lock(mutex_);
  return calls_.contains(key) || before_.contains(key);
}

}  // namespace zarrfs
