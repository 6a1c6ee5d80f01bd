// The program: the commands of fs/ and tools/ joined.
#include <exception>
#include <iostream>
#include <iterator>
#include <utility>

#include "fs/commands.h"
#include "fs/program.h"
#include "tools/commands.h"

namespace {
constexpr int kCouldNot = 3;
}  // namespace

int main(int argc, char** argv) {
  const zarrfs::Streams streams = {std::cin, std::cout, std::cerr};
  try {
    zarrfs::Commands commands = zarrfs::mount_commands();
    zarrfs::Commands tools = zarrfs::tool_commands();
    std::move(tools.begin(), tools.end(), std::back_inserter(commands));
    const int status = zarrfs::run_program({argv, argv + argc}, commands, streams);
    if (std::cout.flush()) return status;
    std::cerr << "zarrfs: standard output cannot be written\n";
    return kCouldNot;
  } catch (const std::exception& problem) {
    std::cerr << "zarrfs: " << problem.what() << "\n";
    return kCouldNot;
  }
}
