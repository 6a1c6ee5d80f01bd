// What `zarrfs NAME ...` is made of: fs/ and tools/ each give a list of commands, and fs/main.cc
// joins them into one program. A command is used by one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace zarrfs {

/// Where a command reads and writes, so that tests can call it in process.
struct Streams {
  std::istream& in;
  std::ostream& out;  ///< Results.
  std::ostream& err;  ///< Everything else.
};

/// One subcommand: first declare() is called, then the command line is parsed into it, then run().
class Command {
 public:
  virtual ~Command() = default;
  /// The word after `zarrfs`.
  [[nodiscard]] virtual std::string name() const = 0;
  /// One line for `zarrfs --help`.
  [[nodiscard]] virtual std::string summary() const = 0;
  /// Declares arguments and options. Whatever `app` is bound to lives in the command.
  virtual void declare(CLI::App& app) = 0;
  /// An ExitCode.
  virtual int run(const Streams& streams) = 0;
};

using Commands = std::vector<std::unique_ptr<Command>>;

}  // namespace zarrfs
