// `zarrfs umount MOUNTPOINT`. See core/cli/command.h.
#pragma once

#include <string>

#include "core/cli/command.h"

namespace zarrfs {

class UmountCommand : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "umount"; }
  [[nodiscard]] std::string summary() const override {
    return "Unmount, and wait until everything is done";
  }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

 private:
  std::string mountpoint_;
};

}  // namespace zarrfs
