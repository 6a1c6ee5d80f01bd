#include "tools/convert/convert_archive.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/fd.h"
#include "core/base/json.h"
#include "core/metadata/metadata.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {
namespace {

constexpr mode_t kArchiveMode = 0666;
constexpr std::size_t kLongestVersion = 100;

bool stands_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string unnamed_beside(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.parent_path() / temporary_beside(whole.filename().string())).string();
}

/// The file at `path`, locked: the one that is there, or, with O_CREAT | O_EXCL in `create`, a new
/// one. Not valid where there is none, or one in the way, or it lost its name before it was locked.
Result<Fd> lock_unnamed(const std::string& path, int create) {
  Fd file(
      ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | create, kArchiveMode));
  const int in_the_way = create == 0 ? ENOENT : EEXIST;
  if (!file.valid() && errno == in_the_way) return Fd();
  if (!file.valid()) return fail(system_error(errno, path));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Fault::kBusy, path + " is being written by another process");
  }
  struct stat opened {};
  struct stat named {};
  if (::fstat(file.get(), &opened) != 0) return fail(system_error(errno, path));
  const bool same = ::lstat(path.c_str(), &named) == 0 && named.st_dev == opened.st_dev &&
                    named.st_ino == opened.st_ino;
  return same ? std::move(file) : Fd();
}

Result<void> sync_folder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return fail(system_error(errno, path));
  return {};
}

/// What RFC 9 says of an archive whose root has these attributes; nothing where they are no OME's.
std::optional<std::string> ome_comment(const Json& document) {
  const Json* at = &document;
  for (const char* name : {"attributes", "ome", "version"}) {
    if (!at->is_object() || !at->contains(name)) return std::nullopt;
    at = &at->at(name);
  }
  if (!at->is_string() || at->get_ref<const std::string&>().size() > kLongestVersion) {
    return std::nullopt;
  }
  const Json order{{"centralDirectory", {{"jsonFirst", true}}}};
  return dump_json(Json{{"ome", {{"version", *at}, {"zipFile", order}}}});
}

Result<std::string> comment_for(Store& archive) {
  ZARRFS_TRY(const auto document, archive.read_document("zarr.json", kMaxDocument));
  if (!document) return std::string();
  const auto json = parse_json(document->text, "zarr.json");
  return json ? ome_comment(*json).value_or("") : std::string();
}

}  // namespace

/// The archive's file before it has its name.
class ConversionArchive::Unnamed {
 public:
  explicit Unnamed(std::string path) : path_(std::move(path)) {}
  Unnamed(const Unnamed&) = delete;
  Unnamed& operator=(const Unnamed&) = delete;
  ~Unnamed() {
    if (file_.valid()) static_cast<void>(::unlink(path_.c_str()));
  }

  /// What an earlier run has left goes first: the archive is nobody's file but this process's.
  Result<void> make() {
    constexpr int kAttempts = 3;  // another process may name or remove it at the same moment
    for (int attempt = 0; attempt < kAttempts && !file_.valid(); ++attempt) {
      ZARRFS_TRY(const Fd earlier, lock_unnamed(path_, 0));
      if (earlier.valid() && ::unlink(path_.c_str()) != 0 && errno != ENOENT) {
        return fail(system_error(errno, path_ + ": removing what an earlier run has left"));
      }
      ZARRFS_TRY(file_, lock_unnamed(path_, O_CREAT | O_EXCL));
    }
    if (file_.valid()) return {};
    return fail(Fault::kBusy, path_ + " is being written by other processes");
  }

  Result<Fd> another() const {
    Fd other(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
    if (!other.valid()) return fail(system_error(errno, path_ + ": a second descriptor"));
    return other;
  }

  /// kExists where something stands at `path` by now.
  Result<void> name(const std::string& path) {
    int failed = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
    // Where the file system cannot do that (NFS), a second name is as good.
    const bool linked = failed != 0 && (errno == EINVAL || errno == ENOSYS);
    if (linked) failed = ::link(path_.c_str(), path.c_str());
    if (failed != 0) {
      return errno == EEXIST ? fail(Fault::kExists, path + " was made by another program meanwhile")
                             : fail(system_error(errno, "naming " + path_ + " " + path));
    }
    if (linked) static_cast<void>(::unlink(path_.c_str()));
    file_ = Fd();
    return {};
  }

 private:
  const std::string path_;
  Fd file_;
};

Result<ConversionArchive> ConversionArchive::find(const std::string& path) {
  if (stands_there(path)) return fail(Fault::kExists, path + " is there already");
  ConversionArchive place;
  place.path_ = path;
  return place;
}

Result<void> ConversionArchive::begin() {
  unnamed_ = std::make_shared<Unnamed>(unnamed_beside(path_));
  ZARRFS_CHECK(unnamed_->make());
  ZARRFS_TRY(Fd file, unnamed_->another());
  store_ = make_archive_store(std::move(file), path_, folder_of(path_));
  return {};
}

Result<void> ConversionArchive::finish() {
  ZARRFS_TRY(const std::string comment, comment_for(*store_));
  ZARRFS_CHECK(store_->finish(comment));
  ZARRFS_CHECK(unnamed_->name(path_));
  return sync_folder(folder_of(path_));
}

Result<bool> ConversionArchive::discard(const std::string& path) {
  const std::string unnamed = unnamed_beside(path);
  ZARRFS_TRY(const Fd file, lock_unnamed(unnamed, 0));
  if (file.valid()) {
    if (::unlink(unnamed.c_str()) != 0) return fail(system_error(errno, unnamed));
    return true;
  }
  if (!stands_there(path)) return false;
  return fail(Fault::kExists, path + " is no unfinished conversion, and is left alone");
}

}  // namespace zarrfs::tools
