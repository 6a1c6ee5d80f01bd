#include "fs/mount_command.h"

#include "core/cli/complaint.h"
#include "core/cli/exit_code.h"
#include "core/store/http/schemes.h"
#include "fs/commands.h"
#include "fs/options/options.h"
#include "fs/options/options_help.h"
#include "fs/session/process.h"

namespace zarrfs {
namespace {

// Exit statuses of mount(8), "EXIT STATUS": a failed mount is 32, whatever failed.
constexpr int kHelperUsage = 1;
constexpr int kHelperMountFailure = 32;

Result<MountSettings> settings_of(const std::vector<std::string>& lists) {
  MountSettings settings;
  for (const std::string& list : lists) ZARRFS_CHECK(apply_mount_options(settings, list));
  ZARRFS_CHECK(check_settings(settings));
  return settings;
}

void add_options_argument(CLI::App& app, std::vector<std::string>& options) {
  app.add_option("-o,--options", options, "Options, separated by commas; may be repeated")
      ->type_name("OPTIONS")
      ->allow_extra_args(false);
}

}  // namespace

void MountCommand::declare(CLI::App& app) {
  app.add_option("source", source_, "The store, or a group or array in it: " + source_kinds())
      ->type_name("SOURCE")
      ->required();
  app.add_option("mountpoint", mountpoint_,
                 "An existing directory; otherwise one is made here, named after the store, and "
                 "removed when it is unmounted")
      ->type_name("MOUNTPOINT");
  add_options_argument(app, options_);
  app.add_flag("-f,--foreground", foreground_, "Stay in the foreground and log to standard error");
  app.add_flag("-v,--verbose", verbose_, "The same as -o log_level=debug");
  declare_options_help(app, OptionsOf::kMount);
}

Result<MountRequest> MountCommand::request() const {
  ZARRFS_TRY(MountSettings settings, settings_of(options_));
  if (verbose_) settings.log_level = LogLevel::kDebug;
  std::vector<std::string> words = options_;
  words.insert(words.end(), {source_, mountpoint_});
  return MountRequest{source_, mountpoint_, std::move(settings), foreground_,
                      descriptors_in(words)};
}

int MountCommand::run(const Streams& streams) {
  const auto wanted = request();
  if (!wanted) {
    streams.err << "zarrfs: " << wanted.error().message << "\n";
    return kUsage;
  }
  tell_words(wanted->settings, "zarrfs", streams.err);
  return run_mount(*wanted, streams.err);
}

int run_mount_helper(const std::vector<std::string>& words, const Streams& streams) {
  CLI::App app("Mounts a Zarr v3 store as one file per chunk; called by mount(8)", "mount.zarrfs");
  std::string source;
  std::string mountpoint;
  std::string type;
  std::vector<std::string> options;
  bool fake = false;
  bool verbose = false;
  bool read_only = false;
  bool read_write = false;
  bool ignored = false;
  app.failure_message(cli_complaint);
  app.add_option("source", source, "A directory, a .zip or .b2nd file, or a URL")->required();
  app.add_option("mountpoint", mountpoint, "An existing directory")->required();
  add_options_argument(app, options);
  app.add_option("-t", type, "The type that mount(8) was given; ignored");
  app.add_flag("-f", fake, "Check the options, but do not mount");
  app.add_flag("-v", verbose, "The same as -o log_level=debug");
  app.add_flag("-r", read_only, "The same as -o ro");
  app.add_flag("-w", read_write, "The same as -o rw");
  app.add_flag("-s", ignored, "Ignored");
  app.add_flag("-n", ignored, "Ignored");
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem, streams.out, streams.err) == 0 ? 0 : kHelperUsage;
  }
  if (read_only) options.emplace_back("ro");
  if (read_write) options.emplace_back("rw");
  auto settings = settings_of(options);
  if (!settings) {
    streams.err << "mount.zarrfs: " << settings.error().message << "\n";
    return kHelperUsage;
  }
  // mount(8) always says rw where nobody said ro.
  const bool asked = read_write || settings->insists_on_writing;
  if (settings->access == MountSettings::Access::kReadWrite && !asked) {
    settings->access = MountSettings::Access::kUnsaid;
  }
  if (verbose) settings->log_level = LogLevel::kDebug;
  if (fake) return 0;
  const MountRequest request{source, mountpoint, std::move(*settings), false,
                             descriptors_in(words)};
  tell_words(request.settings, "mount.zarrfs", streams.err);
  return run_mount(request, streams.err) == 0 ? 0 : kHelperMountFailure;
}

}  // namespace zarrfs
