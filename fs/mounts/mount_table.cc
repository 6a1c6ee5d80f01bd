#include "fs/mounts/mount_table.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/base/fd.h"
#include "core/base/printable.h"

extern char** environ;

namespace zarrfs {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

/// mountinfo writes blanks and backslashes as three octal digits.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                        is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escape) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                    (text[i + 3] - '0')));
    i += 3;
  }
  return out;
}

/// Who has mounted, by options as "rw,user_id=1000,group_id=1000".
std::optional<uid_t> user_in(std::string_view options) {
  constexpr std::string_view kName = "user_id=";
  const std::size_t at = options.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  uid_t user = 0;
  const char* const begin = options.data() + at + kName.size();
  const bool known =
      std::from_chars(begin, options.data() + options.size(), user).ec == std::errc();
  return known ? std::optional(user) : std::nullopt;
}

std::optional<MountEntry> parse_line(const std::string& line) {
  std::istringstream words(line);
  std::string id;
  std::string parent;
  std::string root;
  std::string options;
  std::string optional_field;
  MountEntry entry;
  words >> id >> parent >> entry.device >> root >> entry.mountpoint >> options;
  while (words >> optional_field && optional_field != "-") {
  }
  words >> entry.type >> entry.source;
  if (!words) return std::nullopt;
  entry.mountpoint = unescaped(entry.mountpoint);
  entry.source = unescaped(entry.source);
  entry.read_only = options == "ro" || options.starts_with("ro,");
  std::string of_file_system;
  words >> of_file_system;
  entry.user = user_in(of_file_system);
  return entry;
}

std::string read_all(int fd) {
  std::string text;
  char part[512];
  for (;;) {
    const ssize_t got = ::read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part, static_cast<std::size_t>(got));
  }
}

/// Runs fusermount3; what it said on standard error where it failed.
Result<void> run_fusermount(const std::string& mountpoint, bool lazily) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error(errno, "running fusermount3"));
  const Fd from(ends[0]);
  Fd to(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDERR_FILENO);
  std::string program = "fusermount3";
  std::string flags = lazily ? "-uz" : "-u";
  std::string end_of_flags = "--";
  std::string path = mountpoint;
  char* argv[] = {program.data(), flags.data(), end_of_flags.data(), path.data(), nullptr};
  pid_t child = -1;
  const int problem = posix_spawnp(&child, "fusermount3", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return fail(system_error(problem, "running fusermount3"));
  to = Fd();
  std::string said = read_all(from.get());
  while (said.ends_with('\n')) said.pop_back();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const bool busy = said.find("busy") != std::string::npos;
  return fail(busy ? Fault::kBusy : Fault::kDenied,
              "could not unmount " + mountpoint + ": " + (busy ? "it is in use" : printable(said)));
}

}  // namespace

std::vector<MountEntry> parse_mountinfo(std::string_view text) {
  std::vector<MountEntry> entries;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = parse_line(line)) entries.push_back(std::move(*entry));
  }
  return entries;
}

Result<std::vector<MountEntry>> mount_table() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return fail(system_error(errno, "could not read /proc/self/mountinfo"));
  }
  return parse_mountinfo(text.str());
}

Result<std::optional<MountEntry>> mount_at(const std::string& path) {
  ZARRFS_TRY(std::vector<MountEntry> entries, mount_table());
  std::optional<MountEntry> last;
  for (MountEntry& entry : entries) {
    if (entry.mountpoint == path) last = std::move(entry);
  }
  return last;
}

Result<std::string> canonical_mountpoint(const std::string& path) {
  const auto resolve = [](const std::string& name) {
    return std::unique_ptr<char, void (*)(void*)>(::realpath(name.c_str(), nullptr), std::free);
  };
  if (const auto whole = resolve(path)) return std::string(whole.get());
  const int problem = errno;
  if (problem != ENOTCONN && problem != ECONNABORTED) {
    return fail(system_error(problem, "mountpoint " + printable(path)));
  }
  std::filesystem::path name = std::filesystem::path(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  const std::string parent = name.has_parent_path() ? name.parent_path().string() : ".";
  const auto above = resolve(parent);
  if (above == nullptr) return fail(system_error(errno, "mountpoint " + printable(path)));
  const std::string directory = above.get();
  return (directory == "/" ? "" : directory) + "/" + name.filename().string();
}

Result<std::string> own_mount(const std::string& mountpoint) {
  ZARRFS_TRY(std::string place, canonical_mountpoint(mountpoint));
  ZARRFS_TRY(const auto mount, mount_at(place));
  if (!mount) return fail(Fault::kInvalid, "nothing is mounted on " + printable(place));
  if (mount->type == kOwnType) return place;
  return fail(Fault::kInvalid, "what is mounted on " + printable(place) + " is not zarrfs but " +
                                   printable(mount->type));
}

Result<void> unmount(const std::string& mountpoint, bool lazily) {
  if (::umount2(mountpoint.c_str(), UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0) return {};
  if (errno == EPERM) {
    ZARRFS_TRY(const auto mount, mount_at(mountpoint));
    if (mount && mount->user && *mount->user != ::getuid()) {
      return fail(Fault::kDenied, "could not unmount " + printable(mountpoint) + ": user " +
                                      std::to_string(*mount->user) +
                                      " has mounted it; that user and root can unmount it");
    }
    return run_fusermount(mountpoint, lazily);
  }
  if (errno == EINVAL) {
    return fail(Fault::kInvalid, "nothing is mounted on " + printable(mountpoint));
  }
  if (errno == EBUSY) {
    return fail(Fault::kBusy, "could not unmount " + mountpoint + ": it is in use");
  }
  return fail(system_error(errno, "could not unmount " + mountpoint));
}

}  // namespace zarrfs
