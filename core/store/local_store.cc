#include "core/store/local_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/path.h"
#include "core/base/recently_used.h"
#include "core/base/request.h"
#include "core/store/access_list.h"
#include "core/store/as_caller.h"
#include "core/store/local_file.h"
#include "core/store/store_links.h"
#include "core/store/store_users.h"

namespace zarrfs {
namespace {

// openat2 answers EAGAIN where a rename elsewhere made it unsure that the path stayed inside.
constexpr int kResolveAttempts = 64;
constexpr std::size_t kMostEntries = std::size_t{16} << 20U;  // of a directory
constexpr std::uint64_t kStayInside = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
constexpr mode_t kPermissionBits = 0777;
constexpr int kPlainFlags =
    O_ACCMODE | O_APPEND | O_CREAT | O_EXCL | O_TRUNC | O_DSYNC | O_SYNC | O_DIRECTORY;

/// openat2(2): a descriptor, or -1 and errno.
int resolve(int root, const std::string& path, int flags, mode_t mode, std::uint64_t how_to) {
  struct open_how how {};
  how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.mode = (flags & O_CREAT) != 0 ? mode & kPermissionBits : 0;
  how.resolve = how_to;
  const char* name = path.empty() ? "." : path.c_str();
  int fd = -1;
  for (int attempt = 0; attempt < kResolveAttempts; ++attempt) {
    fd = static_cast<int>(::syscall(SYS_openat2, root, name, &how, sizeof how));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return fd;
}

/// Where the file behind a descriptor lies.
Result<std::string> path_behind(int fd, const std::string& path) {
  std::error_code problem;
  const auto found = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), problem);
  if (!problem) return found.string();
  return fail(system_error(problem.value(), path + ": looking where a link leads"));
}

/// Whether this errno of an open says that the name may not exist.
bool says_absent(int error_number) { return error_number == ENOENT || error_number == ENOTDIR; }

class LocalStore final : public Store, public StoreUsers, public StoreLinks {
 public:
  LocalStore(Fd root, std::string name, LinkPolicy links, std::size_t keep_open)
      : root_(std::move(root)), name_(std::move(name)), links_(links), kept_open_(keep_open) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override { return {.watchable = true}; }
  StoreUsers* users() override { return this; }
  StoreLinks* links() override { return this; }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    ZARRFS_TRY(const Fd fd, look(path, O_PATH));
    if (!fd.valid()) return std::nullopt;
    return status_of(fd, path);
  }

  Result<std::shared_ptr<File>> open(const std::string& path) override {
    if (auto kept = kept_open_.find(path)) return kept;
    ZARRFS_TRY(Fd fd, look(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    if (!fd.valid()) return nullptr;
    ZARRFS_TRY(const struct stat status, status_of(fd, path));
    ZARRFS_CHECK(check_regular(status, path));
    std::shared_ptr<File> file = make_local_file(std::move(fd), status, full_name(path));
    kept_open_.keep(path, file);
    return file;
  }

  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    ZARRFS_TRY(Fd fd, look(path, O_RDONLY | O_DIRECTORY));
    if (!fd.valid()) return std::nullopt;
    DIR* directory = ::fdopendir(fd.get());
    if (directory == nullptr) return fail(system_error(errno, full_name(path) + ": listing"));
    fd.release();
    const std::unique_ptr<DIR, int (*)(DIR*)> closer(directory, ::closedir);
    std::vector<Entry> entries;
    while (true) {
      errno = 0;
      const struct dirent* found = ::readdir(directory);
      if (found == nullptr && errno != 0) {
        return fail(system_error(errno, full_name(path) + ": listing"));
      }
      if (found == nullptr) return entries;
      const std::string_view entry = found->d_name;
      if (entry == "." || entry == "..") continue;
      ZARRFS_CHECK(check_wanted());
      if (entries.size() == kMostEntries) {
        return fail(Fault::kTooBig, full_name(path) + ": more than " +
                                        std::to_string(kMostEntries) + " names in it");
      }
      entries.push_back({std::string(entry), kind_of(path, *found)});
    }
  }

  Result<struct statvfs> space() override {
    struct statvfs space {};
    if (::fstatvfs(root_.get(), &space) != 0) {
      return fail(system_error(errno, name_ + ": reading the file system's free space"));
    }
    return space;
  }

  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    ZARRFS_CHECK(check_path(path));
    Fd fd(
        resolve(root_.get(), path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode, writing_policy()));
    if (!fd.valid()) return fail(error_of(errno, path, "creating"));
    return make_local_new_file(std::move(fd), full_name(path));
  }

  Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                         mode_t mode) override {
    if (from.descriptor() < 0 || !has_clones_) return nullptr;
    ZARRFS_TRY(std::unique_ptr<NewFile> made, create(path, mode));
    if (::ioctl(made->descriptor(), FICLONE, from.descriptor()) == 0) return made;
    const int error_number = errno;
    ZARRFS_CHECK(remove(path));
    if (error_number == ENOSPC || error_number == EDQUOT || error_number == EIO) {
      return fail(error_of(error_number, path, "cloning " + from.name() + " to it"));
    }
    has_clones_ = false;
    return nullptr;
  }

  Result<std::unique_ptr<NewFile>> reopen(const std::string& path) override {
    ZARRFS_CHECK(check_path(path));
    Fd fd(resolve(root_.get(), path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0, writing_policy()));
    if (!fd.valid() && says_absent(errno)) return nullptr;
    if (!fd.valid()) return fail(error_of(errno, path, "opening for writing"));
    ZARRFS_TRY(const struct stat status, status_of(fd, path));
    ZARRFS_CHECK(check_regular(status, path));
    return make_local_new_file(std::move(fd), full_name(path));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    const std::string from_name = last_name(from);
    const std::string to_name = last_name(to);
    ZARRFS_TRY(const Fd old_directory, directory_for_writing(from, parent_path(from)));
    ZARRFS_TRY(const Fd new_directory, directory_for_writing(to, parent_path(to)));
    for (const auto& [directory, path] :
         {std::pair{&old_directory, &from}, {&new_directory, &to}}) {
      if (!directory->valid()) return fail(error_of(ENOENT, *path, "renaming, its directory"));
    }
    if (::renameat(old_directory.get(), from_name.c_str(), new_directory.get(), to_name.c_str()) ==
        0) {
      return {};
    }
    if (errno == EXDEV) {
      return fail(Fault::kCrossDevice,
                  full_name(from) + ": renaming to " + to + ": it lies on another file system");
    }
    return fail(error_of(errno, from, "renaming to " + to));
  }

  Result<void> remove(const std::string& path) override { return unlink(path, 0, "removing"); }

  Result<void> make_directory(const std::string& path, mode_t mode) override {
    ZARRFS_TRY(const Fd directory, directory_for_writing(path, parent_path(path)));
    if (!directory.valid()) return fail(error_of(ENOENT, path, "making a directory in it"));
    if (::mkdirat(directory.get(), last_name(path).c_str(), mode & kPermissionBits) == 0) {
      return {};
    }
    return fail(error_of(errno, path, "making this directory"));
  }

  Result<void> remove_directory(const std::string& path) override {
    return unlink(path, AT_REMOVEDIR, "removing this directory");
  }

  Result<std::optional<Link>> link_at(const std::string& path) override {
    if (path.empty() || links_ == LinkPolicy::kFollow) return std::nullopt;
    ZARRFS_TRY(const Fd fd, look(path, O_PATH | O_NOFOLLOW));
    if (!fd.valid()) return std::nullopt;
    ZARRFS_TRY(const struct stat status, status_of(fd, path));
    if (!S_ISLNK(status.st_mode)) return std::nullopt;
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlinkat(fd.get(), "", text.data(), text.size());
    if (size < 0) return fail(error_of(errno, path, "reading this link"));
    Link link{std::string(text.data(), static_cast<std::size_t>(size)), status};
    if (!leads_within(path, link.target)) return std::nullopt;
    return link;
  }

  Result<void> make_link(const std::string& path, const std::string& target) override {
    ZARRFS_TRY(const Fd directory, directory_for_writing(path, parent_path(path)));
    if (!directory.valid()) return fail(error_of(ENOENT, path, "making a link in it"));
    if (links_ == LinkPolicy::kFollow || !leads_within(path, target)) {
      return fail(Fault::kForbidden, full_name(path) + ": a link to " + target +
                                         " may lead out of the store, or symlinks=follow was said");
    }
    if (::symlinkat(target.c_str(), directory.get(), last_name(path).c_str()) == 0) return {};
    return fail(error_of(errno, path, "making this link"));
  }

  Result<void> change_link(const std::string& path, uid_t owner, gid_t group,
                           const struct timespec (&times)[2]) override {
    ZARRFS_TRY(const Fd directory, directory_for_writing(path, parent_path(path)));
    const std::string name = last_name(path);
    struct stat status {};
    const bool there =
        directory.valid() &&
        ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode);
    if (!there) return fail(Fault::kStale, full_name(path) + ": the link is gone");
    const bool given = owner != static_cast<uid_t>(-1) || group != static_cast<gid_t>(-1);
    if (given &&
        ::fchownat(directory.get(), name.c_str(), owner, group, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(error_of(errno, path, "changing its owner"));
    }
    if (::utimensat(directory.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0) return {};
    return fail(error_of(errno, path, "changing its times"));
  }

  Result<NameStep> add_name(const std::string& from, const std::string& to) override {
    return change_name(from, to, "giving it the name " + to, [](int old, int made, auto a, auto b) {
      return ::linkat(old, a, made, b, 0);
    });
  }
  Result<NameStep> move_name(const std::string& from, const std::string& to) override {
    return change_name(from, to, "renaming to " + to, [](int old, int made, auto a, auto b) {
      return ::renameat(old, a, made, b);
    });
  }

  Result<void> sync_directory(const std::string& path) override {
    ZARRFS_CHECK(check_path(path));
    const Fd fd(resolve(root_.get(), path, O_RDONLY | O_DIRECTORY, 0, writing_policy()));
    if (!fd.valid()) return fail(error_of(errno, path, "opening to sync it"));
    // EINVAL: a file system without directories to sync, where a rename needs none.
    if (::fsync(fd.get()) == 0 || errno == EINVAL) return {};
    return fail(error_of(errno, path, "syncing this directory"));
  }

  Result<Fd> open_plain(const std::string& path, int flags, mode_t mode) override {
    ZARRFS_CHECK(check_path(path));
    const bool reading = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY;
    const int allowed = (flags & kPlainFlags) | O_NONBLOCK | O_NOCTTY | (reading ? 0 : O_NOFOLLOW);
    if (reading) {
      ZARRFS_TRY(Fd fd, look(path, allowed));
      return check_plain(std::move(fd), path, flags);
    }
    Fd fd(resolve(root_.get(), path, allowed, mode, writing_policy()));
    if (!fd.valid() && !says_absent(errno)) return fail(error_of(errno, path, "opening"));
    return check_plain(std::move(fd), path, flags);
  }

  std::optional<std::string> why_read_only() override {
    if (const auto found = space(); found && (found->f_flag & ST_RDONLY) != 0) {
      return name_ + " lies on a file system that is mounted read-only";
    }
    if (::faccessat(root_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return std::nullopt;
    return system_error(errno, name_ + " cannot be written").message;
  }

  void serve_others() override { guarded_ = true; }
  [[nodiscard]] bool serves_others() const override { return guarded_; }

  Result<void> may_write(const std::string& path) override {
    ZARRFS_CHECK(check_path(path));
    for (std::string at = path;; at = parent_path(at)) {
      const Fd fd(resolve(root_.get(), at, O_PATH | O_NOFOLLOW, 0, writing_policy()));
      if (!fd.valid() && (!says_absent(errno) || at.empty())) {
        return fail(error_of(errno, at, "looking at it"));
      }
      if (!fd.valid()) continue;
      ZARRFS_TRY(const struct stat status, status_of(fd, at));
      if (S_ISLNK(status.st_mode)) return fail(error_of(ELOOP, at, "changing it"));
      const int wanted = S_ISDIR(status.st_mode) ? W_OK | X_OK : W_OK;
      if (::syscall(SYS_faccessat2, fd.get(), "", wanted, AT_EACCESS | AT_EMPTY_PATH) == 0)
        return {};
      if (errno == ENOSYS) return may_by_mode(fd, at, status, static_cast<mode_t>(wanted));
      return fail(error_of(errno, at, "changing it"));
    }
  }

  Result<std::optional<struct stat>> permissions(const std::string& path) override {
    ZARRFS_TRY(const Fd fd, look(path, O_PATH));
    if (!fd.valid()) return std::nullopt;
    ZARRFS_TRY(struct stat status, status_of(fd, path));
    ZARRFS_TRY(status.st_mode, mode_with_access_list(fd.get(), status.st_mode, full_name(path)));
    return status;
  }

 private:
  /// `change` is given the directories and the names within them.
  template <class Change>
  Result<NameStep> change_name(const std::string& from, const std::string& to,
                               const std::string& action, Change change) {
    const std::string from_name = last_name(from);
    const std::string to_name = last_name(to);
    ZARRFS_TRY(const Fd old_directory, directory_for_writing(from, parent_path(from)));
    ZARRFS_TRY(const Fd new_directory, directory_for_writing(to, parent_path(to)));
    if (!old_directory.valid() || !new_directory.valid()) return NameStep::kGone;
    if (change(old_directory.get(), new_directory.get(), from_name.c_str(), to_name.c_str()) == 0) {
      return NameStep::kDone;
    }
    if (errno == EEXIST) return NameStep::kTaken;
    if (errno == ENOENT || errno == ESTALE || errno == ENOTDIR) return NameStep::kGone;
    return fail(error_of(errno, from, action));
  }

  [[nodiscard]] std::string full_name(const std::string& path) const {
    return path.empty() ? name_ : path;
  }

  [[nodiscard]] Result<void> check_path(const std::string& path) const {
    if (is_store_path(path)) return {};
    return fail(Fault::kInvalid, name_ + ": '" + path + "' is not a path within a store");
  }

  /// What faccessat2(2) says, for kernels before 5.8: never more than that, and less where an
  /// access list tells members of one class apart.
  [[nodiscard]] Result<void> may_by_mode(const Fd& fd, const std::string& path,
                                         const struct stat& status, mode_t wanted) const {
    ZARRFS_TRY(const mode_t bits, mode_with_access_list(fd.get(), status.st_mode, full_name(path)));
    const ThreadIdentity as = thread_identity();
    unsigned shift = 0;
    if (as.user == status.st_uid) {
      shift = 6;
    } else if (as.is_in(status.st_gid)) {
      shift = 3;
    }
    if (((bits >> shift) & wanted) == wanted) return {};
    return fail(error_of(EACCES, path, "changing it"));
  }

  [[nodiscard]] Error error_of(int error_number, const std::string& path,
                               const std::string& action) const {
    const std::string name = full_name(path);
    switch (error_number) {
      case EXDEV:
        return {Fault::kDenied,
                name + (links_ == LinkPolicy::kInside
                            ? ": a link in this path leaves the store (symlinks=follow follows it)"
                            : ": a link in this path leaves the store, and nothing is written "
                              "behind such links: mount what it leads to")};
      case ELOOP:
        if (!guarded_) break;
        return {Fault::kDenied, name + ": " + action +
                                    ": there is a link in this path, and a mount "
                                    "for other users changes nothing behind one"};
      case EISDIR: return {Fault::kInvalid, name + ": " + action + ": it is a directory"};
      case ENOTDIR: return {Fault::kInvalid, name + ": " + action + ": it is not a directory"};
      case ENXIO:
      case ENODEV: return {Fault::kUnsupported, name + ": is not a regular file"};
      default: break;
    }
    return system_error(error_number, name + ": " + action);
  }

  Result<struct stat> status_of(const Fd& fd, const std::string& path) const {
    struct stat status {};
    if (::fstat(fd.get(), &status) == 0) return status;
    return fail(system_error(errno, full_name(path) + ": reading its status"));
  }

  [[nodiscard]] Result<void> check_regular(const struct stat& status,
                                           const std::string& path) const {
    if (S_ISREG(status.st_mode)) return {};
    if (S_ISDIR(status.st_mode)) return fail(Fault::kInvalid, full_name(path) + ": a directory");
    return fail(Fault::kUnsupported, full_name(path) + ": is not a regular file");
  }

  Result<Fd> check_plain(Fd fd, const std::string& path, int flags) const {
    if (!fd.valid() || (flags & O_DIRECTORY) != 0) return fd;
    ZARRFS_TRY(const struct stat status, status_of(fd, path));
    ZARRFS_CHECK(check_regular(status, path));
    return fd;
  }

  /// Opens for reading, as the link policy says; an Fd that is not valid where the name is absent.
  Result<Fd> look(const std::string& path, int flags) {
    ZARRFS_CHECK(check_path(path));
    if (guarded_) {
      Fd fd(resolve(root_.get(), path, flags, 0, reading_policy() | RESOLVE_NO_SYMLINKS));
      if (fd.valid()) return fd;
    }
    Fd fd(resolve(root_.get(), path, flags, 0, reading_policy()));
    if (fd.valid() && guarded_) ZARRFS_CHECK(check_open_to_all(fd, path));
    if (fd.valid()) return fd;
    if (!says_absent(errno)) return fail(error_of(errno, path, "opening"));
    if (errno == ENOENT) {
      ZARRFS_CHECK(check_absent(path));
    }
    return Fd();
  }

  [[nodiscard]] std::uint64_t reading_policy() const {
    return links_ == LinkPolicy::kInside ? kStayInside : RESOLVE_NO_MAGICLINKS;
  }

  [[nodiscard]] std::uint64_t writing_policy() const {
    return guarded_ ? kStayInside | RESOLVE_NO_SYMLINKS : kStayInside;
  }

  /// Whether everybody may search the directories, from the store's root on, in which the file
  /// behind `fd` lies: a link led to it, and who looks it up is not asked at each of them.
  Result<void> check_open_to_all(const Fd& fd, const std::string& path) const {
    ZARRFS_TRY(const std::string file, path_behind(fd.get(), path));
    return check_searched_by_all(file, path);
  }

  /// Whether everybody may know that the directory `there`, found at `at`, lacks what `path` names.
  [[nodiscard]] Result<void> check_known_to_all(const Fd& there, const std::string& at,
                                                const std::string& path) const {
    if (!guarded_) return {};
    const Fd directly(resolve(root_.get(), at, O_PATH, 0, reading_policy() | RESOLVE_NO_SYMLINKS));
    if (directly.valid()) return {};
    ZARRFS_TRY(const std::string directory, path_behind(there.get(), path));
    return check_searched_by_all(directory + "/", path);
  }

  [[nodiscard]] Result<void> check_searched_by_all(const std::string& file,
                                                   const std::string& path) const {
    ZARRFS_TRY(const std::string root, path_behind(root_.get(), ""));
    const std::string top = root == "/" ? root : root + "/";
    std::size_t from = file.starts_with(top) ? top.size() : 1;
    for (from = file.find('/', from); from != std::string::npos; from = file.find('/', from + 1)) {
      struct stat status {};
      const std::string directory = file.substr(0, from);
      if (::lstat(directory.c_str(), &status) != 0) {
        return fail(error_of(errno, path, "looking at " + directory));
      }
      if (S_ISDIR(status.st_mode) && (status.st_mode & S_IXOTH) != 0) continue;
      return fail(Fault::kDenied, full_name(path) + ": a link leads through " + directory +
                                      ", which not everybody may search");
    }
    return {};
  }

  /// ENOENT also comes of a link that leads nowhere and of a store that was deleted as a whole.
  /// Only where a directory was found that lacks the name, the name is absent. What others make
  /// between the two looks at a name is no link that leads nowhere.
  Result<void> check_absent(const std::string& path) const {
    for (std::string at = path; !at.empty(); at = parent_path(at)) {
      const Fd there(resolve(root_.get(), at, O_PATH, 0, reading_policy()));
      if (there.valid()) return check_known_to_all(there, at, path);
      if (leads_nowhere(at)) return fail(Fault::kIo, at + ": a symbolic link that leads nowhere");
    }
    ZARRFS_TRY(const struct stat root, status_of(root_, ""));
    if (root.st_nlink != 0) return {};
    return fail(Fault::kIo, name_ + ": the store's directory was deleted");
  }

  /// Whether one link stood at `path` while nothing was found behind it.
  [[nodiscard]] bool leads_nowhere(const std::string& path) const {
    const Fd link = look_at_itself(path);  // While it is open its number is no other's.
    const auto number = number_of_link(link);
    if (!number || Fd(resolve(root_.get(), path, O_PATH, 0, reading_policy())).valid()) {
      return false;
    }
    return number_of_link(look_at_itself(path)) == number;
  }

  [[nodiscard]] Fd look_at_itself(const std::string& path) const {
    return Fd(resolve(root_.get(), path, O_PATH | O_NOFOLLOW, 0, reading_policy()));
  }

  static std::optional<ino_t> number_of_link(const Fd& fd) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || !S_ISLNK(status.st_mode)) return std::nullopt;
    return status.st_ino;
  }

  /// The directory in which `path` is to be changed; an Fd that is not valid where it is absent.
  Result<Fd> directory_for_writing(const std::string& path, const std::string& parent) {
    ZARRFS_CHECK(check_path(path));
    if (path.empty()) return fail(Fault::kInvalid, name_ + ": the store's root cannot be changed");
    Fd fd(resolve(root_.get(), parent, O_PATH | O_DIRECTORY, 0, writing_policy()));
    if (!fd.valid() && !says_absent(errno)) return fail(error_of(errno, parent, "opening"));
    return fd;
  }

  Result<void> unlink(const std::string& path, int flags, const std::string& action) {
    ZARRFS_TRY(const Fd directory, directory_for_writing(path, parent_path(path)));
    if (!directory.valid()) return {};
    if (::unlinkat(directory.get(), last_name(path).c_str(), flags) == 0 || errno == ENOENT) {
      return {};
    }
    return fail(error_of(errno, path, action));
  }

  EntryKind kind_of(const std::string& directory, const struct dirent& entry) {
    if (entry.d_type == DT_REG) return EntryKind::kFile;
    if (entry.d_type == DT_DIR) return EntryKind::kDirectory;
    if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return EntryKind::kOther;
    const auto found = status(directory.empty() ? entry.d_name : directory + "/" + entry.d_name);
    if (!found || !*found) return EntryKind::kFile;
    if (S_ISDIR((*found)->st_mode)) return EntryKind::kDirectory;
    return S_ISREG((*found)->st_mode) ? EntryKind::kFile : EntryKind::kOther;
  }

  Fd root_;
  std::string name_;
  LinkPolicy links_;
  bool guarded_ = false;  ///< See serve_others.
  RecentlyUsed<std::string, std::shared_ptr<File>> kept_open_;
  std::atomic<bool> has_clones_{true};  ///< Until the file system says that it has none.
};

}  // namespace

Result<std::unique_ptr<Store>> open_local_store(const std::string& path, const std::string& name,
                                                LinkPolicy links, std::size_t keep_open) {
  Fd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    if (errno == ENOENT) return fail(Fault::kInvalid, name + ": there is no such directory");
    if (errno == ENOTDIR) return fail(Fault::kInvalid, name + ": is not a directory");
    return fail(system_error(errno, name + ": opening the store"));
  }
  const Fd probe(resolve(root.get(), "", O_PATH, 0, kStayInside));
  if (!probe.valid() && errno == ENOSYS) {
    return fail(Fault::kUnsupported,
                name + ": this kernel has no openat2; zarrfs needs Linux 5.6 or newer");
  }
  if (!probe.valid()) return fail(system_error(errno, name + ": opening the store"));
  return std::make_unique<LocalStore>(std::move(root), name, links, keep_open);
}

}  // namespace zarrfs
