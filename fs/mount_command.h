// `zarrfs mount SOURCE MOUNTPOINT`. See core/cli/command.h.
#pragma once

#include <string>
#include <vector>

#include "core/cli/command.h"
#include "fs/session/daemon.h"

namespace zarrfs {

class MountCommand : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "mount"; }
  [[nodiscard]] std::string summary() const override {
    return "Show a Zarr v3 store as one file per chunk";
  }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

  /// The request that the command line makes. kInvalid, naming option and value, where it makes
  /// none.
  [[nodiscard]] Result<MountRequest> request() const;

 private:
  std::string source_;
  std::string mountpoint_;
  std::vector<std::string> options_;
  bool foreground_ = false;
  bool verbose_ = false;
};

}  // namespace zarrfs
