#include "core/names/names_in_use.h"

#include <functional>
#include <utility>

#include "core/base/hash.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMostCalls = 32768;  // of each age

std::uint64_t key_of(pid_t task, const std::string& path) {
  return mix_numbers(static_cast<std::uint64_t>(task), std::hash<std::string>()(path));
}

std::uint8_t bit_of(bool in_directories) { return in_directories ? 2 : 1; }
}  // namespace

void NamesInUse::called(pid_t task, const std::string& path, bool in_directories) {
  if (task == 0) return;
  const std::uint64_t key = key_of(task, path);
  const std::lock_guard lock(mutex_);
  auto known = calls_.find(key);
  if (known == calls_.end()) {
    if (calls_.size() >= kMostCalls) before_ = std::exchange(calls_, {});
    const auto earlier = before_.find(key);
    known = calls_.emplace(key, earlier == before_.end() ? 0 : earlier->second).first;
  }
  known->second |= bit_of(in_directories);
}

bool NamesInUse::calls(pid_t task, const std::string& path, bool in_directories) const {
  if (task == 0) return false;
  const std::uint64_t key = key_of(task, path);
  const std::lock_guard lock(mutex_);
  for (const Calls* calls : {&calls_, &before_}) {
    const auto known = calls->find(key);
    if (known != calls->end()) return (known->second & bit_of(in_directories)) != 0;
  }
  return false;
}

}  // namespace zarrfs
