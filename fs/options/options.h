// The options of a mount: one table from which the parser, `zarrfs mount --help` and the reference
// documents are made. The table is immutable; thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/present/profile.h"
#include "core/present/view_options.h"
#include "core/store/http/options.h"
#include "core/store/store.h"
#include "fs/options/log.h"
#include "fs/options/memory_plan.h"
#include "fs/ring/ring_plan.h"

namespace zarrfs {

inline ViewOptions by_what_the_store_is() {
  ViewOptions options;
  options.profile = kAutoProfile;
  return options;
}

/// How it writes where other mounts write to the same directory.
struct SharedWriting {
  bool on = false;
  std::optional<double> lease;   ///< Seconds; 30 if not given.
  std::optional<double> caches;  ///< Seconds; what suits the file system if not given.
};

/// What `-o` chose.
struct MountSettings {
  enum class Access { kUnsaid, kReadOnly, kReadWrite };

  ViewOptions view = by_what_the_store_is();
  LinkPolicy links = LinkPolicy::kInside;
  Access access = Access::kUnsaid;
  bool insists_on_writing = false;  ///< By a word that mount(8) does not add by itself.
  Writing writing;                  ///< How, unless the mount only reads.
  double timeout = 1.0;             ///< Seconds.
  bool watch = true;  ///< Whether names may be kept for longer where the store is watched.
  double idle = 0;    ///< Seconds without a request after which it unmounts itself; 0: never.
  std::optional<pid_t> ends_with;  ///< The process at whose end it unmounts itself.
  bool temporary = false;          ///< Its mountpoint is removed when it has ended.
  RingUse ring = RingUse::kAuto;
  std::optional<unsigned> threads;     ///< As many as suit the store if not given.
  MemoryWishes memory;                 ///< What options say of it.
  std::optional<std::uint32_t> umask;  ///< The usual one if not given, or none for others.
  RemoteOptions remote;
  std::vector<std::string> virtual_prefixes;  ///< See StoreOptions.
  bool allow_other = false;
  bool allow_root = false;
  LogLevel log_level = LogLevel::kInfo;
  SharedWriting shared;
  std::string log_file;  ///< Empty: standard error in the foreground, the system's log otherwise.
  std::vector<std::string> words;  ///< What is to be said about the options, a line each.
  /// Options of the mount itself, handed on to the kernel: "noexec", "noatime", ...
  std::vector<std::string> kernel_options;
};

struct MountOption {
  enum class Group { kAccess, kView, kCaching, kRemote, kWriting, kDaemon, kMount, kOld };

  std::string name;
  std::string argument;       ///< What follows "=", e.g. "SIZE" or "v2|v3"; empty: a flag.
  std::string default_value;  ///< As text; empty where there is none to name.
  std::string help;           ///< One phrase, with the unit.
  Group group;
  std::function<Result<void>(MountSettings&, const std::string& value)> set;
  std::string instead = {};  ///< Of Group::kOld: the spelling that took its place.
};

/// In the order in which they are documented.
const std::vector<MountOption>& mount_options();

/// The group's title in documents.
std::string mount_option_group_title(MountOption::Group group);

/// Options of mount(8) and fstab that change nothing about a zarrfs mount: accepted and dropped.
bool is_for_mount_program(std::string_view option);

/// Applies one `-o` argument, e.g. "ro,profile=gdal,index_cache=128M". kInvalid, naming option and
/// value.
Result<void> apply_mount_options(MountSettings& settings, std::string_view list);

/// The same for `zarrfs serve`, which only reads and makes no mount: kInvalid, naming it, for an
/// option that has no meaning there.
Result<void> apply_serve_options(MountSettings& settings, std::string_view list);
bool is_for_serving(const MountOption& option);

/// What is to be said about them, before they are used: a line each.
void tell_words(const MountSettings& settings, const std::string& program, std::ostream& err);

/// What one option alone cannot tell: an unknown profile, options that contradict each other.
/// kInvalid.
Result<void> check_settings(const MountSettings& settings);

}  // namespace zarrfs
