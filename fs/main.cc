// The program.
#include <exception>
#include <iostream>

#include "fs/commands.h"
#include "fs/program.h"

int main(int argc, char** argv) {
  const zarrfs::Streams streams = {std::cin, std::cout, std::cerr};
  try {
    return zarrfs::run_program({argv, argv + argc}, zarrfs::mount_commands(), streams);
  } catch (const std::exception& problem) {
    std::cerr << "zarrfs: " << problem.what() << "\n";
    return 3;
  }
}
