// zarrfs serve: the same tree over HTTP.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/cli/command.h"
#include "fs/serve/serve.h"

namespace zarrfs {

class ServeCommand final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "serve"; }
  [[nodiscard]] std::string summary() const override {
    return "Serve a store over HTTP, as a mount would show it";
  }
  void declare(CLI::App& app) override;
  int run(const Streams& streams) override;

 private:
  [[nodiscard]] Result<ServeRequest> request() const;
  Result<std::string> token() const;

  std::string source_;
  std::string listen_ = "127.0.0.1:8000";
  std::vector<std::string> options_;
  std::vector<std::string> origins_;
  std::vector<std::string> hosts_;
  std::string token_;
  std::string token_file_;
  unsigned connections_ = ServerSettings().connections;
  bool statistics_ = false;
};

}  // namespace zarrfs
