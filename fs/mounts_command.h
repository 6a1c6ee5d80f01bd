// `zarrfs mounts`. See core/cli/command.h.
#pragma once

#include <string>

#include "core/cli/command.h"

namespace zarrfs {

class MountsCommand : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "mounts"; }
  [[nodiscard]] std::string summary() const override { return "List the mounts of zarrfs"; }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

 private:
  bool json_ = false;
};

}  // namespace zarrfs
