#include "core/store/cache/disk_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/filesystem/directory.hpp>
#include <boost/filesystem/operations.hpp>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "core/base/fd.h"
#include "core/base/json.h"
#include "core/base/lock_order.h"
#include "core/base/read_exactly.h"
#include "core/store/http/signer.h"

namespace zarrfs {
namespace {

namespace fs = boost::filesystem;

constexpr std::size_t kRecord = 32;
constexpr std::uint64_t kMagic = 0x31636672617a7a31U;
constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 62U;
constexpr std::uint64_t kLargestRange = std::uint64_t{64} << 20U;
constexpr std::size_t kMostInfo = std::size_t{64} << 10U;

bool write_all(int fd, ByteView bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return true;
}

/// A regular file of this user with one name; no link is followed, no pipe waited for. Not valid
/// where it is none.
Fd open_own(const std::string& path, int flags) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status {};
  const bool own = fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_uid == ::geteuid() && status.st_nlink == 1;
  return own ? std::move(fd) : Fd();
}

/// `path` is a directory of this user's alone, no link.
Result<void> check_own(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0)
    return fail(system_error(errno, "option cache: " + path));
  if (!S_ISDIR(status.st_mode)) {
    return fail(Fault::kDenied, "option cache: " + path + " is not a directory");
  }
  if (status.st_uid != ::geteuid()) {
    return fail(Fault::kDenied, "option cache: " + path + " is another user's");
  }
  if ((status.st_mode & 077U) == 0) return {};
  return fail(Fault::kDenied,
              "option cache: " + path + " is not for its owner alone: chmod 700 " + path);
}

std::optional<std::string> read_text(const std::string& path) {
  const Fd fd = open_own(path, O_RDONLY);
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) > kMostInfo) {
    return std::nullopt;
  }
  Bytes bytes(static_cast<std::size_t>(status.st_size));
  if (!read_exactly(fd.get(), 0, bytes)) return std::nullopt;
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

Bytes encode_cached_range(const CachedRange& record) {
  Bytes bytes;
  append_little(bytes, kMagic);
  append_little(bytes, record.range.offset);
  append_little(bytes, record.range.length);
  append_little(bytes, record.checksum);
  append_little(bytes, crc32c(bytes));
  return bytes;
}

std::optional<CachedRange> decode_cached_range(ByteView bytes) {
  const CachedRange record{
      {load_little<std::uint64_t>(bytes.subspan(8)), load_little<std::uint64_t>(bytes.subspan(16))},
      load_little<std::uint32_t>(bytes.subspan(24))};
  const bool whole = load_little<std::uint64_t>(bytes) == kMagic &&
                     load_little<std::uint32_t>(bytes.subspan(28)) == crc32c(bytes.first(28));
  const bool sane = record.range.length > 0 && record.range.length <= kLargestRange &&
                    record.range.offset < kMostOffset;
  if (!whole || !sane) return std::nullopt;
  return record;
}

/// The two files of one object.
class DiskCache::Entry {
 public:
  Entry(Fd data, Fd index) : data_(std::move(data)), index_(std::move(index)) {}

  /// False once another process has removed it to make room.
  [[nodiscard]] bool has_name() const {
    struct stat status {};
    return ::fstat(index_.get(), &status) == 0 && status.st_nlink > 0;
  }

  std::optional<Bytes> find(ByteRange range) {
    const std::lock_guard lock(mutex_);
    read_index();
    const std::uint64_t end = range.offset + range.length;
    Bytes found(static_cast<std::size_t>(range.length));
    for (std::uint64_t at = range.offset; at < end;) {
      auto record = records_.upper_bound(at);
      if (record == records_.begin()) return std::nullopt;
      --record;
      const std::uint64_t stop = record->first + record->second.length;
      if (stop <= at) return std::nullopt;
      Bytes bytes(static_cast<std::size_t>(record->second.length));
      if (!read_exactly(data_.get(), record->first, bytes) ||
          crc32c(bytes) != record->second.checksum) {
        records_.erase(record);
        return std::nullopt;
      }
      const std::uint64_t last = std::min(stop, end);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at - record->first), last - at,
                  found.begin() + static_cast<std::ptrdiff_t>(at - range.offset));
      at = last;
    }
    static_cast<void>(::futimens(index_.get(), nullptr));  // it was used
    return found;
  }

  bool keep(std::uint64_t offset, ByteView bytes) {
    const std::lock_guard lock(mutex_);
    if (!write_all(data_.get(), bytes, offset)) return false;
    // First the bytes, then the record: whoever finds the record checks the bytes.
    if (::flock(index_.get(), LOCK_EX) != 0) return false;
    struct stat status {};
    bool good = ::fstat(index_.get(), &status) == 0;
    const std::uint64_t end = static_cast<std::uint64_t>(status.st_size) / kRecord * kRecord;
    good = good && write_all(index_.get(),
                             encode_cached_range({{offset, bytes.size()}, crc32c(bytes)}), end);
    ::flock(index_.get(), LOCK_UN);
    return good;
  }

 private:
  struct Known {
    std::uint64_t length = 0;
    std::uint32_t checksum = 0;
  };

  void read_index() {
    struct stat status {};
    if (::fstat(index_.get(), &status) != 0) return;
    const std::uint64_t end = static_cast<std::uint64_t>(status.st_size) / kRecord * kRecord;
    for (; index_read_ < end; index_read_ += kRecord) {
      Bytes bytes(kRecord);
      if (!read_exactly(index_.get(), index_read_, bytes)) return;
      const auto record = decode_cached_range(bytes);
      if (!record) continue;
      Known& known = records_[record->range.offset];
      // The last one counts, unless it tells less of the same bytes.
      if (record->range.length >= known.length) known = {record->range.length, record->checksum};
    }
  }

  const Fd data_;
  const Fd index_;
  RankedMutex<LockRank::kStore> mutex_;
  std::uint64_t index_read_ = 0;
  std::map<std::uint64_t, Known> records_;  // by offset
};

DiskCache::DiskCache(std::string directory, std::uint64_t max_bytes)
    : directory_(std::move(directory)), max_bytes_(max_bytes) {}

Result<std::unique_ptr<DiskCache>> DiskCache::open(const std::string& directory,
                                                   std::uint64_t max_bytes) {
  const std::string own = directory + "/zarrfs-1";
  boost::system::error_code error;
  fs::create_directories(directory, error);
  if (::mkdir(own.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(system_error(errno, "option cache: making " + own));
  }
  ZARRFS_CHECK(check_own(own));
  if (::access(own.c_str(), R_OK | W_OK | X_OK) != 0) {
    return fail(system_error(errno, "option cache: using " + own));
  }
  std::unique_ptr<DiskCache> cache(new DiskCache(own, max_bytes));
  cache->make_room();
  return cache;
}

std::string DiskCache::path_of(const std::string& key, const char* suffix) const {
  const std::string hash = sha256_hex(key);
  return directory_ + "/" + hash.substr(0, 2) + "/" + hash + suffix;
}

std::shared_ptr<DiskCache::Entry> DiskCache::entry_of(const std::string& object) {
  if (auto kept = entries_.find(object)) {
    if (kept->has_name()) return kept;
    entries_.drop(object);
  }
  const std::string index_path = path_of(object, ".index");
  const std::string folder = index_path.substr(0, directory_.size() + 3);
  static_cast<void>(::mkdir(folder.c_str(), 0700));
  Fd index = open_own(index_path, O_RDWR | O_CREAT);
  Fd data = open_own(path_of(object, ".data"), O_RDWR | O_CREAT);
  if (!data.valid() || !index.valid()) return nullptr;
  auto entry = std::make_shared<Entry>(std::move(data), std::move(index));
  entries_.keep(object, entry);
  return entry;
}

std::optional<Bytes> DiskCache::find(const std::string& object, ByteRange range) {
  if (range.length == 0 || range.length > kLargestRange) return std::nullopt;
  const auto entry = entry_of(object);
  auto found = entry == nullptr ? std::nullopt : entry->find(range);
  if (found) ++hits_;
  return found;
}

void DiskCache::keep(const std::string& object, std::uint64_t offset, ByteView bytes) {
  if (bytes.empty() || bytes.size() > max_bytes_ / 2) return;
  const auto entry = entry_of(object);
  if (entry == nullptr) return;
  for (std::uint64_t done = 0; done < bytes.size(); done += kLargestRange) {
    const std::uint64_t length = std::min<std::uint64_t>(kLargestRange, bytes.size() - done);
    if (!entry->keep(offset + done, bytes.subspan(done, length))) return;
  }
  if ((written_ += bytes.size()) > max_bytes_ / 16) make_room();
}

std::optional<ObjectInfo> DiskCache::find_info(const std::string& url) {
  const auto text = read_text(path_of(url, ".info"));
  if (!text) return std::nullopt;
  const auto json = parse_json(*text, "a cached note");
  if (!json || !json->is_object() || json->value("url", "") != url) return std::nullopt;
  const auto number = [&](const char* name) -> std::optional<std::int64_t> {
    const auto found = json->find(name);
    if (found == json->end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
  };
  const auto size = number("size");
  const auto modified = number("modified_ns");
  const auto tag = json->find("tag");
  if (!size || *size < 0 || !modified || tag == json->end() || !tag->is_string()) {
    return std::nullopt;
  }
  ObjectInfo info;
  info.size = static_cast<std::uint64_t>(*size);
  info.modified_ns = *modified;
  info.version = {tag->get<std::string>(), json->contains("weak")};
  return info;
}

void DiskCache::keep_info(const std::string& url, const ObjectInfo& info) {
  if (info.version.tag.empty()) return;
  Json json = {{"url", url},
               {"size", info.size},
               {"modified_ns", info.modified_ns},
               {"tag", info.version.tag}};
  if (info.version.weak) json["weak"] = true;
  const std::string text = dump_json(json);
  const std::string path = path_of(url, ".info");
  static_cast<void>(::mkdir(path.substr(0, directory_.size() + 3).c_str(), 0700));
  std::string temporary = path + ".XXXXXX";
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return;
  const ByteView bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  const bool good = write_all(fd.get(), bytes, 0) && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!good) static_cast<void>(::unlink(temporary.c_str()));
}

void DiskCache::make_room() {
  const std::unique_lock lock(making_room_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  written_ = 0;
  struct Found {
    std::string stem;  // without suffix
    std::uint64_t bytes = 0;
    struct timespec used {};
  };
  std::map<std::string, Found> objects;
  std::uint64_t total = 0;
  boost::system::error_code error;
  for (fs::recursive_directory_iterator at(directory_, error), end; at != end && !error;
       at.increment(error)) {
    struct stat status {};
    const std::string path = at->path().string();
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::string stem = path.substr(0, path.rfind('.'));
    Found& found = objects[stem];
    found.stem = stem;
    found.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    total += static_cast<std::uint64_t>(status.st_blocks) * 512;
    if (status.st_mtim.tv_sec > found.used.tv_sec) found.used = status.st_mtim;
  }
  if (total <= max_bytes_) return;
  std::vector<Found> oldest_first;
  for (auto& [stem, found] : objects) oldest_first.push_back(std::move(found));
  std::sort(oldest_first.begin(), oldest_first.end(),
            [](const Found& a, const Found& b) { return a.used.tv_sec < b.used.tv_sec; });
  // An eighth more than needed, so that it is not done again at once.
  const std::uint64_t wanted = max_bytes_ / 8 * 7;
  for (const Found& one : oldest_first) {
    if (total <= wanted) return;
    for (const char* suffix : {".index", ".data", ".info"}) {
      static_cast<void>(::unlink((one.stem + suffix).c_str()));
    }
    total -= std::min(total, one.bytes);
  }
}

}  // namespace zarrfs
