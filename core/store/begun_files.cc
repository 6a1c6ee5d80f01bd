#include "core/store/begun_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "core/store/local_file.h"

namespace zarrfs {
namespace {

constexpr mode_t kBegunMode = 0600;

Result<Fd> nameless_file(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kBegunMode));
  if (file.valid()) return file;
  std::string name = folder + "/.zarrfs-piece-XXXXXX";
  file = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid()) return fail(system_error(errno, folder + ": making a temporary file"));
  static_cast<void>(::unlink(name.c_str()));
  return file;
}

}  // namespace

Result<std::unique_ptr<NewFile>> BegunFiles::create(const std::string& path,
                                                    const std::string& name) {
  ZARRFS_TRY(Fd file, nameless_file(folder_));
  Fd other(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!other.valid()) return fail(system_error(errno, path + ": a second descriptor"));
  const HeldLock lock(mutex_);
  files_[path] = std::move(file);
  return make_local_new_file(std::move(other), name);
}

Result<Fd> BegunFiles::take(const std::string& path) {
  const HeldLock lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return fail(Fault::kInvalid, path + ": was not begun");
  Fd file = std::move(found->second);
  files_.erase(found);
  return file;
}

}  // namespace zarrfs
