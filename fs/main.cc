// The program: the commands of fs/ and tools/ joined.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <iterator>
#include <utility>

#include "core/base/printable.h"
#include "core/cli/arguments.h"
#include "core/cli/exit_code.h"
#include "fs/commands.h"
#include "fs/program.h"
#include "tools/commands.h"

namespace {

// No file may get the number of a standard stream that is closed: messages would go into it. What
// stands in for the stream cannot be used, as before.
void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_streams();
  std::signal(SIGCHLD, SIG_DFL);  // else who starts it decides whether it sees how children end
  std::signal(SIGXFSZ, SIG_IGN);  // a file above the limit is an error of who writes it
  const zarrfs::Streams streams = {std::cin, std::cout, std::cerr};
  try {
    zarrfs::Commands commands = zarrfs::mount_commands();
    zarrfs::Commands tools = zarrfs::tools::tool_commands();
    std::move(tools.begin(), tools.end(), std::back_inserter(commands));
    const auto words = zarrfs::take_arguments(argc, argv);
    if (!words) {
      std::cerr << "zarrfs: " << zarrfs::printable(words.error().message) << "\n";
      return zarrfs::kUsage;
    }
    const int status = zarrfs::run_program(*words, commands, streams);
    if (std::cout.flush()) return status;
    std::cerr << "zarrfs: standard output cannot be written\n";
    return zarrfs::kCouldNot;
  } catch (const std::exception& problem) {
    std::cerr << "zarrfs: " << problem.what() << "\n";
    return zarrfs::kCouldNot;
  }
}
