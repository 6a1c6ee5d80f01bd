#include "core/base/pending_signals.h"

#include <csignal>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>

namespace zarrfs {
namespace {

constexpr std::uint64_t set_of(std::initializer_list<int> signals) {
  std::uint64_t set = 0;
  for (const int signal : signals) set |= std::uint64_t{1} << (signal - 1);
  return set;
}

constexpr std::uint64_t kAsksToEnd = set_of({SIGHUP, SIGINT, SIGQUIT, SIGTERM});
constexpr std::uint64_t kEndsNobody =
    set_of({SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH});

}  // namespace

bool is_told_to_end(pid_t task, const char* folder) {
  std::ifstream status(std::string(folder) + "/" + std::to_string(task) + "/status");
  std::map<std::string, std::uint64_t> sets;
  char state = 'X';
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "State:") words >> state;
    if (name.starts_with("Sig") || name == "ShdPnd:") words >> std::hex >> sets[name];
  }
  if (state == 'X' || state == 'Z') return true;
  const std::uint64_t waiting =
      (sets["SigPnd:"] | sets["ShdPnd:"]) & ~sets["SigBlk:"] & ~sets["SigIgn:"];
  return (waiting & (kAsksToEnd | (~sets["SigCgt:"] & ~kEndsNobody))) != 0;
}

}  // namespace zarrfs
