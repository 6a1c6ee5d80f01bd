// `zarrfs sync MOUNTPOINT`. See core/cli/command.h.
#pragma once

#include <string>

#include "core/cli/command.h"

namespace zarrfs {

class SyncCommand : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "sync"; }
  [[nodiscard]] std::string summary() const override {
    return "Put what was written through a mount into its shards";
  }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

 private:
  std::string mountpoint_;
};

}  // namespace zarrfs
