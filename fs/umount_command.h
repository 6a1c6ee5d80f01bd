// `zarrfs umount MOUNTPOINT`. See core/cli/command.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/cli/command.h"

namespace zarrfs {

class UmountCommand : public Command {
 public:
  struct Wishes {
    bool lazily = false;
    std::optional<std::chrono::milliseconds> time;  ///< For the daemon to end; none: any.
  };
  [[nodiscard]] std::string name() const override { return "umount"; }
  [[nodiscard]] std::string summary() const override {
    return "Unmount, and wait until everything is done";
  }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

 private:
  std::string mountpoint_;
  Wishes wishes_;
  std::optional<std::uint64_t> seconds_;
};

}  // namespace zarrfs
