// `zarrfs umount MOUNTPOINT`. See core/cli/command.h.
#pragma once

#include <string>

#include "core/base/result.h"
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

/// Publishes what was written, unmounts a zarrfs mount and waits until its daemon has ended, where
/// that can be seen. Returns what could not be published, a line for each chunk. kInvalid where
/// nothing, or something else, is mounted there; kBusy where it is in use.
Result<std::string> unmount_and_wait(const std::string& mountpoint);

}  // namespace zarrfs
