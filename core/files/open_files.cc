#include "core/files/open_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/store/as_caller.h"

namespace zarrfs {

namespace {
/// Bytes of `range`, handed on by descriptor where the file has one.
Result<ReadPlan> plan_of(const File& file, ByteRange range) {
  ReadPlan plan;
  plan.descriptor = file.descriptor();
  plan.range = range;
  if (plan.descriptor >= 0) return plan;
  ZARRFS_TRY(Bytes bytes, file.read_range(range));
  plan.own = std::make_shared<const Bytes>(std::move(bytes));
  plan.bytes = *plan.own;
  return plan;
}
}  // namespace

ByteRange clamp_read(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  const std::uint64_t begin = std::min(offset, size);
  return {begin, std::min(length, size - begin)};
}

namespace {
constexpr mode_t kPermissions = 0777;
constexpr mode_t kOfDirectories = S_ISGID | S_ISVTX;

/// The bits to set where a program asks for `asked`: files never get a set-user-ID bit, and
/// directories keep what they hand down, which is not shown.
Result<mode_t> mode_to_set(int descriptor, mode_t asked, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    return fail(system_error(errno, name + ": reading its status"));
  }
  const mode_t kept = S_ISDIR(status.st_mode) ? status.st_mode & kOfDirectories : 0;
  return kept | (asked & kPermissions);
}
}  // namespace

Result<void> change_opened(int descriptor, const std::string& name, const AttributeChange& change) {
  const auto failed = [&name](const char* action) {
    return fail(system_error(errno, name + ": " + action));
  };
  ZARRFS_TRY(const AsCaller as, AsCaller::begin());
  if ((change.owner || change.group) &&
      ::fchown(descriptor, change.owner.value_or(static_cast<uid_t>(-1)),
               change.group.value_or(static_cast<gid_t>(-1))) != 0) {
    return failed("changing its owner");
  }
  if (change.mode) {  // after the owner, which takes bits away
    ZARRFS_TRY(const mode_t mode, mode_to_set(descriptor, *change.mode, name));
    if (::fchmod(descriptor, mode) != 0) return failed("changing its mode");
  }
  if (!change.accessed && !change.modified) return {};
  constexpr struct timespec kAsItIs = {0, UTIME_OMIT};
  const struct timespec times[2] = {change.accessed.value_or(kAsItIs),
                                    change.modified.value_or(kAsItIs)};
  return ::futimens(descriptor, times) == 0 ? Result<void>{} : failed("changing its times");
}

Result<ReadPlan> BytesFile::read(std::uint64_t offset, std::uint64_t length) {
  const ByteRange part = clamp_read(offset, length, bytes_->size());
  ReadPlan plan;
  plan.bytes = ByteView(*bytes_).subspan(part.offset, part.length);
  return plan;
}

/// What writes into the shard changes its identity before its bytes: what was read before this is
/// of the version that was opened.
Result<void> SliceFile::confirm() const {
  if (ways_.immutable) return {};
  ZARRFS_TRY(const struct stat now, file_->current_status());
  if (identity_of(now) == file_->identity()) return {};
  return fail(Fault::kStale, name_ + ": its stored object was changed while it was open");
}

Result<ReadPlan> SliceFile::read(std::uint64_t offset, std::uint64_t length) {
  ZARRFS_CHECK(confirm());  // else what is sent to the end of a connection would not be looked at
  const ByteRange part = clamp_read(offset, length, range_.length);
  if (ways_.ahead > 0) {
    const ByteRange next = next_to_fetch(part);
    if (next.length > 0) file_->fetch({range_.offset + next.offset, next.length});
  }
  ZARRFS_TRY(ReadPlan plan, plan_of(*file_, {range_.offset + part.offset, part.length}));
  if (plan.descriptor < 0) ZARRFS_CHECK(confirm());
  return plan;
}

bool SliceFile::past_cache() const {
  constexpr std::uint64_t kLarge = std::uint64_t{256} << 10U;  // docs/performance.md
  return ways_.past_cache && range_.length >= kLarge;
}

/// Of a file that is read in order: as much again as was read, in few requests.
ByteRange SliceFile::next_to_fetch(ByteRange part) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t end = part.offset + part.length;
  const bool goes_on = part.offset <= asked_to_ && end + ways_.ahead >= asked_to_;
  if (!goes_on) run_ = 0;
  run_ += part.length;
  asked_to_ = goes_on ? std::max(asked_to_, end) : end;
  const std::uint64_t window = std::min(ways_.ahead, run_);
  if (run_ == part.length || asked_to_ - end > window / 2) return {};
  const std::uint64_t to = std::min(end + window, range_.length);
  const ByteRange next{asked_to_, to - std::min(asked_to_, to)};
  asked_to_ = std::max(asked_to_, to);
  return next;
}

Result<ReadPlan> PassThroughFile::read(std::uint64_t offset, std::uint64_t length) {
  ZARRFS_TRY(const struct stat now, file_->current_status());
  return plan_of(*file_, clamp_read(offset, length, static_cast<std::uint64_t>(now.st_size)));
}

Result<bool> PassThroughFile::change(const AttributeChange& change) {
  ZARRFS_CHECK(change_opened(file_->descriptor(), file_->name(), change));
  return true;
}

Result<std::optional<InodeEntry>> PassThroughFile::attributes() {
  ZARRFS_TRY(const struct stat status, file_->current_status());
  return show_(status);
}

std::shared_ptr<OpenFile> open_content(const ChunkContent& content, std::string name,
                                       ReadingWays ways) {
  if (content.file == nullptr) return std::make_shared<BytesFile>(content.bytes);
  return std::make_shared<SliceFile>(content.file, content.range, std::move(name), ways);
}

}  // namespace zarrfs
