#include "core/store/store_watch.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace zarrfs {
namespace {

constexpr std::uint32_t kWhatCounts = IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |
                                      IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
/// Of the directory itself, rather than of a name in it.
constexpr std::uint32_t kOfItself = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;
constexpr std::size_t kEventBytes = std::size_t{64} << 10U;

// Source: linux/magic.h; ZFS: its own sources. Not overlayfs, which tells only what goes through
// itself.
constexpr std::array<std::uint32_t, 6> kOfThisMachine = {
    0x0000EF53,  // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0x01021994,  // tmpfs
    0xF2F52010,  // F2FS
    0x2FC12FC1,  // ZFS
};

bool is_of_this_machine(const Fd& place) {
  struct statfs status {};
  if (::fstatfs(place.get(), &status) != 0) return false;
  const auto type = static_cast<std::uint32_t>(status.f_type);
  return std::find(kOfThisMachine.begin(), kOfThisMachine.end(), type) != kOfThisMachine.end();
}

/// What stands there, where no symbolic link leads to it.
Fd find_straight(const Fd& root, const std::string& path, int flags) {
  struct open_how how {};
  how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags | O_PATH | O_CLOEXEC));
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const char* name = path.empty() ? "." : path.c_str();
  return Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), name, &how, sizeof how)));
}

bool is_plain(const Fd& file) {
  struct stat status {};
  return file.valid() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_nlink == 1;
}

std::string child_of(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

}  // namespace

bool lies_in(const std::string& path, const std::string& directory) {
  return directory.empty() || path == directory ||
         (path.starts_with(directory) && path[directory.size()] == '/');
}

Result<std::shared_ptr<StoreWatch>> StoreWatch::of(const std::string& root, std::size_t most) {
  Fd place(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.valid()) return fail(system_error(errno, "opening " + root));
  if (!is_of_this_machine(place)) {
    return fail(Fault::kUnsupported, root + " lies on no file system that tells all changes");
  }
  Fd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!events.valid()) return fail(system_error(errno, "watching " + root));
  return std::shared_ptr<StoreWatch>(new StoreWatch(std::move(place), std::move(events), most));
}

std::size_t StoreWatch::directories() const {
  const HeldLock lock(mutex_);
  return watched_.size();
}

bool StoreWatch::watch(const std::string& directory) {
  return watch_down_to(directory) == Watched::kYes;
}

bool StoreWatch::watch_what_is_there(const std::string& directory) {
  return watch_down_to(directory) != Watched::kNo;
}

StoreWatch::Watched StoreWatch::watch_down_to(const std::string& directory) {
  const HeldLock lock(mutex_);
  if (watched_.contains(directory)) return Watched::kYes;
  // From the root down: who is above tells when what was opened is replaced, or comes.
  Watched watched = watch_one("");
  for (std::size_t end = directory.find('/'); end != std::string::npos && watched == Watched::kYes;
       end = directory.find('/', end + 1)) {
    watched = watch_one(directory.substr(0, end));
  }
  return watched == Watched::kYes ? watch_one(directory) : watched;
}

StoreWatch::Watched StoreWatch::watch_one(const std::string& directory) {
  if (watched_.contains(directory)) return Watched::kYes;
  if (watched_.size() >= most_) return Watched::kNo;
  const Fd place = find_straight(root_, directory, O_DIRECTORY);
  if (!place.valid() && errno == ENOENT && !directory.empty()) return Watched::kAbsent;
  if (!place.valid() || !is_of_this_machine(place)) return Watched::kNo;
  const std::string itself = "/proc/self/fd/" + std::to_string(place.get());
  const int mark = ::inotify_add_watch(events_.get(), itself.c_str(),
                                       kWhatCounts | IN_ONLYDIR | IN_MASK_CREATE | IN_EXCL_UNLINK);
  if (mark < 0) return Watched::kNo;
  watched_.emplace(directory, mark);
  by_mark_.emplace(mark, directory);
  return Watched::kYes;
}

bool StoreWatch::holds_plain(const std::string& path) const {
  return is_plain(find_straight(root_, path, O_NOFOLLOW));
}

bool StoreWatch::holds_plain_or_nothing(const std::string& path) const {
  const Fd file = find_straight(root_, path, O_NOFOLLOW);
  return file.valid() ? is_plain(file) : errno == ENOENT;
}

bool StoreWatch::has_news() const {
  int waiting = 0;
  return ::ioctl(events_.get(), FIONREAD, &waiting) != 0 || waiting > 0;
}

void StoreWatch::drop(const std::string& directory) {
  for (auto one = watched_.lower_bound(directory);
       one != watched_.end() && one->first.starts_with(directory);) {
    if (!lies_in(one->first, directory)) {
      ++one;
      continue;
    }
    ::inotify_rm_watch(events_.get(), one->second);
    by_mark_.erase(one->second);
    one = watched_.erase(one);
  }
}

void StoreWatch::clear() {
  const HeldLock lock(mutex_);
  drop("");
}

void StoreWatch::note(int watched, std::uint32_t what, const char* name,
                      std::vector<std::string>& changed) {
  if ((what & IN_Q_OVERFLOW) != 0) {
    drop("");
    changed.emplace_back();
    return;
  }
  const auto found = by_mark_.find(watched);
  if (found == by_mark_.end()) return;  // dropped, and told then
  const bool itself = (what & kOfItself) != 0 || name == nullptr;
  std::string path = itself ? found->second : child_of(found->second, name);
  const bool directory = (what & IN_ISDIR) != 0 || itself;
  if (directory && (what & ~std::uint32_t{IN_ISDIR}) != IN_ATTRIB) drop(path);
  if (changed.empty() || changed.back() != path) changed.push_back(std::move(path));
}

std::vector<std::string> StoreWatch::take() {
  alignas(inotify_event) std::array<char, kEventBytes> buffer;
  std::vector<std::string> changed;
  for (;;) {
    const ssize_t got = ::read(events_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return changed;
    const HeldLock lock(mutex_);
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = event.len == 0 ? nullptr : buffer.data() + at + sizeof event;
      note(event.wd, event.mask, name, changed);
      at += sizeof event + event.len;
    }
  }
}

}  // namespace zarrfs
