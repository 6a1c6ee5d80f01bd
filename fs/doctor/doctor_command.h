// `zarrfs doctor`. See core/cli/command.h.
#pragma once

#include <string>
#include <vector>

#include "core/cli/command.h"
#include "fs/doctor/doctor.h"
#include "fs/doctor/doctor_server.h"

namespace zarrfs {

class DoctorCommand : public Command {
 public:
  explicit DoctorCommand(Machine machine = this_machine()) : machine_(std::move(machine)) {}
  [[nodiscard]] std::string name() const override { return "doctor"; }
  [[nodiscard]] std::string summary() const override {
    return "Check whether this machine can mount, or a store and its chunks elsewhere can be read, "
           "and say what to do if not";
  }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

 private:
  [[nodiscard]] Result<void> examine(const TellServer& tell) const;

  Machine machine_;
  std::string source_;
  std::vector<std::string> virtual_prefixes_;
  std::string remote_;
  bool writing_ = false;
  bool json_ = false;
};

}  // namespace zarrfs
