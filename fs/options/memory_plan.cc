#include "fs/options/memory_plan.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <utility>

#include "core/base/path.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kProgram = 24 * kMiB;
constexpr std::uint64_t kThread = kMiB + kMiB / 4;  // an answer, and the stack
constexpr std::uint64_t kThreadsAtOnce = 16;        // that have a large answer in hand
constexpr unsigned kThreadsNear = 8;
constexpr unsigned kThreadsFar = 64;  // a thread that waits for a network serves nobody else
constexpr std::uint64_t kPartForThreads = 4;
constexpr std::uint64_t kShare = 8;  // no part but decoding takes more of the rest
constexpr std::uint64_t kLeastDecoding = 4 * kMiB;
constexpr std::uint64_t kMostNames = 256 * kMiB;
constexpr std::uint64_t kMostNodes = 128 * kMiB;
constexpr std::uint64_t kMostIndexes = 64 * kMiB;
constexpr std::uint64_t kMostRemote = 256 * kMiB;
constexpr std::uint64_t kMostBodies = 256 * kMiB;
constexpr std::uint64_t kMostWritten = 256 * kMiB;
constexpr std::uint64_t kMostRing = 256 * kMiB;

std::string spell(std::uint64_t bytes) {
  if (bytes % kMiB == 0) return std::to_string(bytes / kMiB) + "M";
  return std::to_string(bytes);
}

std::string bound_of(const MemoryWishes& wishes, std::uint64_t bound) {
  const std::string text = "memory=" + spell(bound);
  if (wishes.bound) return text;
  return text + " (a quarter of the memory that there is, if not given)";
}

std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t number = 0;
  if (!(file >> word)) return 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? number : 0;  // "max"
}

/// The least limit of the group at `path`, and of those above it, below `mount`.
std::uint64_t least_limit(const std::string& mount, std::string path, const std::string& file) {
  std::uint64_t least = UINT64_MAX;
  for (;;) {
    // What is no directory there lies outside of what this process sees of the groups.
    if (const std::uint64_t limit = number_in(mount + path + "/" + file); limit != 0) {
      least = std::min(least, limit);
    }
    if (path.empty()) return least;
    path = parent_path(path);
  }
}

/// The least of what the process's control groups allow.
std::uint64_t group_memory(const std::string& root) {
  std::uint64_t least = UINT64_MAX;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice", "4:memory:/docker/1"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,") {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        least = std::min(least, least_limit(root + mount, path, "memory.max"));
      }
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least,
                       least_limit(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

/// Requests served at once if nobody chose another number: not more than a small bound has room
/// for, where each may have a large answer in hand.
unsigned usual_threads(bool far, std::uint64_t bound) {
  if (!far) return kThreadsNear;
  const std::uint64_t fit = bound / kPartForThreads / kThread;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(fit, kThreadsNear, kThreadsFar));
}

/// A part that an option may give.
struct Part {
  const char* option;
  std::optional<std::uint64_t> wish;
  std::uint64_t most;  ///< Where it is not given; 0: it is not there.
  std::uint64_t MemoryPlan::*field;
};

}  // namespace

Result<MemoryPlan> plan_memory(const MemoryWishes& wishes, std::uint64_t machine) {
  MemoryPlan plan;
  plan.bound = wishes.bound.value_or(machine / kPartOfMachine);
  plan.threads = wishes.threads.value_or(usual_threads(wishes.far, plan.bound));
  plan.base = kProgram + std::min<std::uint64_t>(plan.threads, kThreadsAtOnce) * kThread;
  const std::uint64_t least = plan.base + kShare * kLeastDecoding;
  if (!wishes.bound) plan.bound = std::max(plan.bound, least);
  if (plan.bound < least) {
    return fail(Fault::kInvalid, "option memory=" + spell(plan.bound) +
                                     ": a daemon with threads=" + std::to_string(plan.threads) +
                                     " takes " + spell(least) + " at least");
  }
  const std::array<Part, 8> parts = {
      {{"", std::nullopt, kMostNames, &MemoryPlan::names},
       {"", std::nullopt, kMostNodes, &MemoryPlan::nodes},
       {"index_cache", wishes.index_cache, kMostIndexes, &MemoryPlan::indexes},
       {"memory_cache", wishes.memory_cache, wishes.far ? kMostRemote : 0, &MemoryPlan::remote},
       {"", std::nullopt, wishes.far ? kMostBodies : 0, &MemoryPlan::bodies},
       {"write_buffer", wishes.write_buffer, wishes.writes ? kMostWritten : 0,
        &MemoryPlan::written},
       {"", std::nullopt, wishes.ring ? kMostRing : 0, &MemoryPlan::ring},
       {"decode_memory", wishes.decode_memory, UINT64_MAX, &MemoryPlan::decoding}}};
  std::uint64_t rest = plan.bound - plan.base;
  std::string given;
  for (const Part& part : parts) {
    if (!part.wish || part.most == 0) continue;
    given += (given.empty() ? "" : ", ") + std::string(part.option) + "=" + spell(*part.wish);
    // Something has to be left for what no option gives.
    if (*part.wish > rest - std::min(rest, kLeastDecoding)) {
      return fail(Fault::kInvalid, "option " + given + " is more than " +
                                       bound_of(wishes, plan.bound) + " has beside the " +
                                       spell(plan.base) + " of the daemon itself");
    }
    rest -= *part.wish;
    plan.*part.field = *part.wish;
  }
  const std::uint64_t share = rest / kShare;
  for (const Part& part : parts) {
    if (part.wish || part.most == 0) continue;
    const bool takes_rest = part.field == &MemoryPlan::decoding;
    plan.*part.field = takes_rest ? rest : std::min(part.most, share);
    rest -= plan.*part.field;
  }
  return plan;
}

std::uint64_t machine_memory(const std::string& root) {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  constexpr std::uint64_t kUnknown = 1024 * kMiB;
  const std::uint64_t machine = pages <= 0 || size <= 0 ? kUnknown
                                                        : static_cast<std::uint64_t>(pages) *
                                                              static_cast<std::uint64_t>(size);
  return std::min(machine, group_memory(root));
}

}  // namespace zarrfs
