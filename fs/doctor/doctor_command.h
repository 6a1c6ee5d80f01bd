// `zarrfs doctor`. See core/cli/command.h.
#pragma once

#include <string>

#include "core/cli/command.h"
#include "fs/doctor/doctor.h"

namespace zarrfs {

class DoctorCommand : public Command {
 public:
  explicit DoctorCommand(Machine machine = this_machine()) : machine_(std::move(machine)) {}
  [[nodiscard]] std::string name() const override { return "doctor"; }
  [[nodiscard]] std::string summary() const override {
    return "Check whether this machine can mount, or a store at a server can be read, and say what "
           "to do if not";
  }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

 private:
  Machine machine_;
  std::string url_;
  std::string remote_;
  bool writing_ = false;
  bool json_ = false;
};

}  // namespace zarrfs
