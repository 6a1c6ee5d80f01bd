// zarrfs stats: the counters of a running mount.
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "fs/mounts/daemon_state.h"
#include "fs/mounts/mountpoint.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/numbers.h"
#include "tools/shared/prometheus.h"

namespace zarrfs::tools {
namespace {

constexpr const char* kStatistics = ".zarrfs/stats.json";
constexpr std::size_t kMaxStatistics = std::size_t{1} << 20U;

void tell_members(std::ostream& out, const Json& value, const std::string& name) {
  if (!value.is_object()) {
    const std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
    out << name << std::string(name.size() < 40 ? 40 - name.size() : 1, ' ') << printable(text)
        << '\n';
    return;
  }
  for (const auto& member : value.items()) {
    tell_members(out, member.value(),
                 name.empty() ? printable(member.key()) : name + "." + printable(member.key()));
  }
}

class Stats final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "stats"; }
  [[nodiscard]] std::string summary() const override {
    return "Print the counters of a running mount";
  }

  void declare(CLI::App& app) override {
    app.add_option("MOUNT", mount_, "The directory of the mount, or one within it")->required();
    auto* json = app.add_flag("--json", json_, "The document as the mount gives it");
    app.add_flag("--prometheus", prometheus_,
                 "Prometheus's text format, for its textfile collector")
        ->excludes(json);
    app.add_option("--every", every_, "Repeat after this many seconds, until Ctrl-C")
        ->check(number_between(0.1, 86400));
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    while (true) {
      const auto told = tell(console);
      if (!told) return console.failed(told.error());
      if (every_ == 0) return kGood;
      const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(every_);
      while (!interrupted() && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      if (interrupted()) return kGood;
      console.out << '\n';
    }
  }

 private:
  Result<void> tell(const Console& console) {
    ZARRFS_TRY(const std::string document, find(console));
    if (json_) {
      console.out << document << std::flush;
      return {};
    }
    ZARRFS_TRY(const Json statistics, parse_json(document, kStatistics));
    if (prometheus_) {
      console.out << prometheus_text(statistics, found_.string()) << std::flush;
      return {};
    }
    tell_members(console.out, statistics, "");
    console.out << std::flush;
    return {};
  }

  // The statistics of the mount that `mount_` is, or lies in.
  Result<std::string> find(const Console& console) {
    ZARRFS_CHECK(check_answers(mount_, [&](const std::string& line) { console.say(line); }));
    std::error_code error;
    std::filesystem::path directory = std::filesystem::canonical(mount_, error);
    if (error) return fail(Fault::kInvalid, mount_ + ": " + error.message());
    while (true) {
      const bool found = std::filesystem::exists(directory / kStatistics, error);
      if (error == std::errc::not_connected) {
        return fail(Fault::kIo, mount_ + ": its daemon " + kHasEnded);
      }
      if (error) return fail(system_error(error.value(), (directory / kStatistics).string()));
      if (found) {
        // Not as a document of a store: this one changes with each request.
        errno = 0;
        std::ifstream file(directory / kStatistics);
        std::string text(kMaxStatistics, '\0');
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        if (file.bad() || file.gcount() == 0) {
          const std::string name = (directory / kStatistics).string();
          return fail(errno == 0 ? Error{Fault::kIo, name + ": is empty"}
                                 : system_error(errno, name));
        }
        text.resize(static_cast<std::size_t>(file.gcount()));
        found_ = directory;
        return text;
      }
      if (directory == directory.root_path()) {
        return fail(Fault::kInvalid, mount_ + " is not a mount of zarrfs");
      }
      directory = directory.parent_path();
    }
  }

  std::string mount_;
  std::filesystem::path found_;  // the root of the mount
  bool json_ = false;
  bool prometheus_ = false;
  double every_ = 0;
};

}  // namespace

std::unique_ptr<Command> stats_command() { return std::make_unique<Stats>(); }

}  // namespace zarrfs::tools
