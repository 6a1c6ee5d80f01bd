#include "core/store/remote/spool.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/store/http/signer.h"
#include "core/store/local_store.h"

namespace zarrfs {
namespace {

constexpr std::size_t kNameLength = 32;

Result<void> make_private(const std::string& directory) {
  std::error_code error;
  const auto parent = std::filesystem::path(directory).parent_path();
  std::filesystem::create_directories(parent, error);
  if (error) return fail(system_error(error.value(), "making " + parent.string()));
  if (::mkdir(directory.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return fail(system_error(errno, "making " + directory));
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return fail(system_error(errno, directory));
  if (status.st_uid == ::geteuid() && (status.st_mode & 077U) == 0) return {};
  if (status.st_uid != ::geteuid()) {
    return fail(Fault::kDenied, directory + " is to be a spool, and is another user's");
  }
  return fail(Fault::kDenied, directory +
                                  " is to be a spool, and is not for its owner alone: "
                                  "chmod 700 " +
                                  directory);
}

Result<void> check_durable(const RemoteOptions& options, const std::string& directory) {
  struct statfs status {};
  if (::statfs(directory.c_str(), &status) != 0) return fail(system_error(errno, directory));
  const auto type = static_cast<std::uint32_t>(status.f_type);
  if ((type != TMPFS_MAGIC && type != RAMFS_MAGIC) || options.spool_in_memory) return {};
  return fail(Fault::kUnsupported, "the spool " + directory +
                                       " lies in memory, where a power cut loses what was written; "
                                       "spool=DIR names another place, spool_in_memory allows it");
}

/// Bottom up; returns whether `path` was left without entries.
bool remove_empty_below(Store& spool, const std::string& path) {
  const auto entries = spool.list(path);
  if (!entries || !*entries) return false;
  bool empty = true;
  for (const Entry& entry : **entries) {
    const std::string below = path.empty() ? entry.name : path + "/" + entry.name;
    const bool own = entry.name.starts_with(".zarrfs");  // another mount may have locked it
    const bool gone = !own && entry.kind == EntryKind::kDirectory &&
                      remove_empty_below(spool, below) && spool.remove_directory(below);
    empty = empty && gone;
  }
  return empty;
}

/// Of one store's spool; empty where `directory` is none.
std::string url_in(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory / "store", error)) return {};
  std::ifstream text(directory / "source");
  std::string server;
  std::string url;
  std::getline(text, server);
  std::getline(text, url);
  return url.find("://") == std::string::npos ? std::string() : url;
}

}  // namespace

std::vector<std::string> urls_in_spool(const std::string& directory) {
  constexpr std::size_t kMost = 16;
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path place = fs::canonical(directory, error);
  for (const fs::path& one : {place, place.parent_path()}) {
    if (std::string url = url_in(one); !url.empty()) return {std::move(url)};
  }
  std::vector<std::string> urls;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    const bool of_spool = entry->path().filename().string().size() == kNameLength;
    if (std::string url = of_spool ? url_in(entry->path()) : ""; !url.empty()) {
      urls.push_back(std::move(url));
    }
    if (urls.size() == kMost) break;
  }
  return urls;
}

Result<std::string> default_spool() {
  if (::geteuid() == 0) return std::string("/var/lib/zarrfs/spool");
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/zarrfs/spool";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.local/state/zarrfs/spool";
  return fail(Fault::kInvalid, "there is no home directory for the spool; spool=DIR names a place");
}

Result<std::unique_ptr<Store>> open_spool(const RemoteOptions& options, const std::string& server,
                                          const std::string& url) {
  std::string directory = options.spool;
  if (directory.empty()) {
    ZARRFS_TRY(directory, default_spool());
  }
  if (!directory.starts_with('/')) {
    return fail(Fault::kInvalid, "spool=" + directory + ": give the whole path, from the first /");
  }
  ZARRFS_CHECK(make_private(directory));
  ZARRFS_CHECK(check_durable(options, directory));
  const std::string own = directory + "/" + sha256_hex(server + "\n" + url).substr(0, kNameLength);
  ZARRFS_CHECK(make_private(own));
  ZARRFS_CHECK(make_private(own + "/store"));
  std::ofstream(own + "/source") << server << "\n" << url << "\n";  // for whoever looks into it
  return open_local_store(own + "/store", url, LinkPolicy::kInside, 0);
}

void prune_spool(Store& spool) { remove_empty_below(spool, ""); }

}  // namespace zarrfs
