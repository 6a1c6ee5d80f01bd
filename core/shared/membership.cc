#include "core/shared/membership.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/base/host_name.h"
#include "core/base/path.h"
#include "core/base/random_name.h"
#include "core/log/cluster_file_systems.h"
#include "core/log/log.h"
#include "core/log/whole_file.h"
#include "core/shared/closing.h"
#include "core/shared/shared_names.h"

namespace zarrfs {
namespace {

constexpr const char* kAlive = "alive-";
constexpr const char* kTaken = "taken-by-";
constexpr std::chrono::seconds kSurelySeen{120};  ///< Beyond what caches may lie.
constexpr std::chrono::seconds kLockPause{2};     ///< A lock that is free says nothing before.
constexpr int kMostEpochs = 100;                  ///< Each closed while it was joined.

std::string boot_of_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

bool is_token(std::string_view name) {
  return name.starts_with(kAlive) || name.starts_with(kTaken) || name == kLeft ||
         name == kFinished || name == kKept;
}

/// The token of a writer: where an old answer shows two, the one that stays counts.
std::string token_among(const std::vector<std::string>& names) {
  std::vector<std::string> tokens;
  std::copy_if(names.begin(), names.end(), std::back_inserter(tokens), is_token);
  for (const char* last : {kFinished, kKept, kLeft}) {
    if (std::find(tokens.begin(), tokens.end(), last) != tokens.end()) return last;
  }
  return tokens.size() == 1 ? tokens[0] : "";
}

/// "0123...-2" is the second coming of the mount "0123...".
std::string mount_of(const std::string& writer) { return writer.substr(0, writer.rfind('-')); }

std::chrono::milliseconds within_an_hour(std::uint64_t milliseconds) {
  constexpr std::uint64_t kHour = 3'600'000;
  return std::chrono::milliseconds(std::min(milliseconds, kHour));
}

tl::unexpected<Error> written_alone(const Store& store) {
  return fail(Fault::kBusy, "store " + store.name() +
                                " is written by one mount alone, or one that was killed has left "
                                "chunks: unmount it or run zarrfs recover, then -o shared");
}

}  // namespace

bool OtherWriter::has_kept() const { return token == kKept; }

bool OtherWriter::has_ended() const {
  return token == kLeft || token == kFinished || token == kKept;
}

Membership::Membership(std::shared_ptr<Store> store, SharedOptions options)
    : store_(std::move(store)), options_(std::move(options)), mount_(random_digits()) {}

Membership::~Membership() { stop(); }

void Membership::stop() {
  {
    const std::lock_guard lock(beat_mutex_);
    stopping_ = true;
  }
  beat_wake_.notify_all();
  if (beat_.joinable()) beat_.join();
}

std::string Membership::member_path(std::uint64_t number) const {
  return join_path(join_path(epoch_, kMembers), std::to_string(number));
}
std::string Membership::folder_of(const std::string& writer) const {
  return join_path(join_path(epoch_, kWriters), writer);
}
std::chrono::milliseconds Membership::patience() const { return options_.caches + kSurelySeen; }

std::string Membership::writer() const { return last_name(place().path); }

std::string Membership::own_name() const { return mount_ + "-" + std::to_string(count_); }

Membership::Place Membership::place() const {
  const HeldLock lock(mutex_);
  if (count_ == 0) return {};
  return {folder_of(own_name()), count_};
}

Clock::time_point Membership::adopts_from() const {
  const HeldLock lock(mutex_);
  return joined_ + options_.caches;
}

Result<void> Membership::join(std::function<void()> came_again) {
  came_again_ = std::move(came_again);
  {
    const HeldLock lock(mutex_);
    ZARRFS_CHECK(make_own_directory(*store_));
    bool came = false;
    for (int round = 0; !came; ++round) {
      if (round == kMostEpochs) {
        return fail(Fault::kBusy, "store " + store_->name() +
                                      ": other writers leave and come all the time; try again");
      }
      ZARRFS_CHECK(open_epoch());
      ZARRFS_TRY(came, come());
      if (!came) ZARRFS_CHECK(finish_closing(store_, epoch_));
    }
    joined_ = Clock::now();
  }
  {
    const std::lock_guard lock(beat_mutex_);
    stopping_ = false;  // a mount that found the store busy comes again
  }
  beat_ = std::thread([this] { beat(); });
  return {};
}

/// Sets the epoch's path, and makes one where there is none.
Result<void> Membership::open_epoch() {
  for (int round = 0; round < kMostEpochs; ++round) {
    ZARRFS_TRY(const auto there, store_->status(kLogPath));
    if (there && !S_ISDIR(there->st_mode)) return written_alone(*store_);
    if (there && there->st_uid != ::geteuid()) {
      return fail(Fault::kDenied, "store " + store_->name() +
                                      " is written by another user: all writers with -o shared "
                                      "have to be one");
    }
    ZARRFS_TRY(const auto epochs, names_in(*store_, kLogPath));
    if (epochs.size() > 1) {
      return fail(Fault::kDamaged, "store " + store_->name() + ": " + kLogPath +
                                       " has more than one epoch: " + epochs[0] + ", " + epochs[1]);
    }
    if (epochs.empty()) {
      ZARRFS_TRY(epoch_, make_epoch());
    } else {
      epoch_ = join_path(kLogPath, epochs[0]);
    }
    closed_ = false;
    members_.clear();
    watched_.clear();
    if (!epoch_.empty()) return {};
  }
  return fail(Fault::kBusy,
              "store " + store_->name() + ": no epoch could be opened in " + kLogPath);
}

/// A fresh epoch takes its place whole (S5). Empty where another was quicker.
Result<std::string> Membership::make_epoch() {
  const std::string id = random_digits();
  const std::string beside = join_path(kLogDirectory, "epoch-" + id);
  ZARRFS_CHECK(store_->make_directory(beside, 0700));
  const std::string made = join_path(beside, id);
  ZARRFS_CHECK(store_->make_directory(made, 0700));
  for (const char* name : {kMembers, kWriters, kRecords}) {
    ZARRFS_CHECK(store_->make_directory(join_path(made, name), 0700));
  }
  ZARRFS_CHECK(store_->sync_directory(made));
  ZARRFS_CHECK(store_->sync_directory(beside));
  const auto moved = store_->rename(beside, kLogPath);
  if (moved) {
    ZARRFS_CHECK(store_->sync_directory(kLogDirectory));
    ZARRFS_CHECK(store_->sync_directory(""));
    return join_path(kLogPath, id);
  }
  for (const char* name : {kMembers, kWriters, kRecords}) {
    ZARRFS_CHECK(store_->remove_directory(join_path(made, name)));
  }
  ZARRFS_CHECK(store_->remove_directory(made));
  ZARRFS_CHECK(store_->remove_directory(beside));
  const Fault fault = moved.error().fault;
  if (fault == Fault::kNotEmpty || fault == Fault::kExists) return std::string();
  ZARRFS_TRY(const auto there, store_->status(kLogPath));
  if (there && !S_ISDIR(there->st_mode)) return written_alone(*store_);
  return fail(moved.error());
}

/// Where the epoch is being closed meanwhile, whatever fails says only that.
Result<bool> Membership::come() {
  auto came = come_to_epoch();
  if (came || !read_members() || closed_) return came ? came : Result<bool>(false);
  for (const char* name : {kMembers, kWriters, kRecords}) {
    const auto there = store_->status(join_path(epoch_, name));
    if (there && !*there) return false;
  }
  return came;
}

Result<bool> Membership::come_to_epoch() {
  ++count_;
  moves_ = 0;
  const std::string writer = own_name();
  const std::string folder = folder_of(writer);
  ZARRFS_CHECK(store_->make_directory(folder, 0700));
  ZARRFS_TRY(holder_, store_->open_plain(join_path(folder, kHolder), O_RDWR | O_CREAT, 0600));
  // Where there are no locks, the others wait for signs of life.
  if (holder_.valid()) static_cast<void>(::flock(holder_.get(), LOCK_EX | LOCK_NB));
  if (count_ == 1) ZARRFS_CHECK(check_names());
  ZARRFS_TRY(announced_, store_->create(join_path(folder, kAnnounced), 0600));
  announced_bytes_ = 0;
  for (const std::string& line : pending_) ZARRFS_CHECK(append_announced(line));
  ZARRFS_CHECK(announced_->sync());
  ZARRFS_CHECK(write_small(*store_, join_path(folder, kAlive + std::to_string(moves_)), ""));
  ZARRFS_CHECK(store_->sync_directory(folder));
  ZARRFS_CHECK(store_->sync_directory(join_path(epoch_, kWriters)));
  MemberRecord record{false, writer, host_name(), static_cast<std::uint64_t>(::getpid()),
                      boot_of_machine()};
  record.lease = static_cast<std::uint64_t>(options_.lease.count());
  record.caches = static_cast<std::uint64_t>(options_.caches.count());
  return enter(record, folder);
}

/// What everything rests on: a name is given once, and what is gone is said to be.
Result<void> Membership::check_names() {
  const std::string folder = folder_of(own_name());
  const std::string file = join_path(folder, "try");
  const std::string name = join_path(folder, "tried");
  ZARRFS_CHECK(write_small(*store_, file, ""));
  const auto needs = [&](const std::string& why) {
    return fail(Fault::kUnsupported,
                "store " + store_->name() + ": " + why +
                    ": its file system cannot be written with -o shared; docs/administration.md "
                    "has those that can");
  };
  ZARRFS_TRY(const Fd directory, store_->open_plain(folder, O_RDONLY | O_DIRECTORY, 0));
  if (lies_on_several_bricks(directory.get())) {
    return needs("it lies on a volume of GlusterFS that is distributed over several bricks");
  }
  const auto first = add_name(*store_, file, name);
  if (!first) return needs(first.error().message);
  const auto second = add_name(*store_, file, name);
  if (*first != NameStep::kDone || !second || *second != NameStep::kTaken) {
    return needs("a file's second name (link(2)) is given more than once");
  }
  const auto gone = move_name(*store_, join_path(folder, "none"), name);
  if (!gone || *gone != NameStep::kGone) return needs("a file that is not there was renamed");
  ZARRFS_CHECK(store_->remove(name));
  return store_->remove(file);
}

/// Adds the record of a member. False: the epoch is closed.
Result<bool> Membership::enter(const MemberRecord& record, const std::string& folder) {
  const std::string own = join_path(folder, kMember);
  ZARRFS_CHECK(write_small(*store_, own, sealed_text(record)));
  for (;;) {
    ZARRFS_CHECK(read_members());
    if (closed_) return false;
    const bool told = std::find(members_.begin(), members_.end(), record) != members_.end();
    if (told) break;  // the answer to our own call was lost
    const std::string path = member_path(members_.size() + 1);
    ZARRFS_TRY(const NameStep step, add_name(*store_, own, path));
    if (step == NameStep::kGone) return false;
    if (step == NameStep::kDone) {
      members_.push_back(record);
      break;
    }
    ZARRFS_CHECK(await_small(*store_, path, patience()));
  }
  ZARRFS_CHECK(store_->sync_directory(join_path(epoch_, kMembers)));
  ZARRFS_CHECK(store_->remove(own));
  return true;
}

Result<void> Membership::read_members() {
  while (!closed_) {
    const std::string path = member_path(members_.size() + 1);
    ZARRFS_TRY(const auto text, read_small(*store_, path));
    if (!text) return {};
    ZARRFS_TRY(MemberRecord record, member_in(*text, path));
    closed_ = record.closed;
    if (closed_) return {};
    if (taken_by_lock_.contains(mount_of(record.writer)) && believes_locks_) {
      believes_locks_ = false;
      options_.say(true, "store " + store_->name() +
                             ": locks of its file system hold on one machine only; the death of a "
                             "writer is noticed after shared_lease");
    }
    members_.push_back(std::move(record));
  }
  return {};
}

Result<void> Membership::come_again() {
  ZARRFS_TRY(const bool came, come());
  if (!came) {
    closed_ = true;
    return fail(Fault::kStale,
                "store " + store_->name() +
                    ": all other writers have left while this one was taken for dead: what it has "
                    "written since is not put there; mount it again");
  }
  options_.say(true, "store " + store_->name() +
                         ": another writer took this mount for dead, and has put what it had "
                         "written so far; it goes on under another name");
  return {};
}

Result<bool> Membership::move_token() {
  const std::string folder = folder_of(own_name());
  const auto name = [&](std::uint64_t number) {
    return join_path(folder, kAlive + std::to_string(number));
  };
  ZARRFS_TRY(const NameStep step, move_name(*store_, name(moves_), name(moves_ + 1)));
  moves_ += step == NameStep::kDone ? 1 : 0;
  return step == NameStep::kDone;
}

Result<bool> Membership::confirm(std::uint64_t count) {
  const HeldLock lock(mutex_);
  if (closed_) return come_again().transform([] { return false; });
  if (count != count_) return false;
  ZARRFS_TRY(const bool moved, move_token());
  if (moved) return true;
  ZARRFS_CHECK(come_again());
  return false;
}

Result<bool> Membership::announce(const Announcement& announcement) {
  const HeldLock lock(mutex_);
  if (closed_) return come_again().transform([] { return false; });
  const std::string line = sealed_text(announcement);
  ZARRFS_CHECK(append_announced(line));
  pending_.insert(line);
  ZARRFS_CHECK(announced_->sync());
  ZARRFS_TRY(const bool moved, move_token());
  if (moved) return true;
  pending_.erase(line);  // nothing is linked
  ZARRFS_CHECK(come_again());
  return false;
}

Result<void> Membership::intend(const std::string& path) {
  const HeldLock lock(mutex_);
  if (closed_) return {};  // nothing comes there
  ZARRFS_CHECK(append_announced(sealed_text(Announcement{path, 0, {}, true})));
  return announced_->sync();
}

Result<void> Membership::decided(const Announcement& announcement) {
  const HeldLock lock(mutex_);
  pending_.erase(sealed_text(announcement));
  Announcement done = announcement;
  done.done = true;
  return append_announced(sealed_text(done));
}

Result<void> Membership::append_announced(const std::string& line) {
  ZARRFS_CHECK(announced_->write_at(
      announced_bytes_, {reinterpret_cast<const std::uint8_t*>(line.data()), line.size()}));
  announced_bytes_ += line.size();
  return {};
}

void Membership::beat() {
  for (;;) {
    {
      std::unique_lock lock(beat_mutex_);
      beat_wake_.wait_for(lock, options_.lease / 4, [&] { return stopping_; });
      if (stopping_) return;
    }
    const auto confirmed = confirm(place().count);
    if (!confirmed) {
      options_.say(true, confirmed.error().message);
    } else if (!*confirmed) {
      came_again_();
    }
  }
}

bool Membership::is_let_go(const std::string& writer) {
  if (!believes_locks_) return false;
  const auto holder = store_->open_plain(join_path(folder_of(writer), kHolder), O_RDONLY, 0);
  return holder && holder->valid() && ::flock(holder->get(), LOCK_EX | LOCK_NB) == 0;
}

/// Whether the writer whose token this is gives no sign of life. `token` is that of a writer, or
/// names who has taken its log.
bool Membership::seems_dead(const std::string& writer, const std::string& token) {
  Watched& watched = watched_[writer];
  if (watched.token != token) watched = {token, Clock::now()};
  const auto still = Clock::now() - watched.since;
  if (token.starts_with(kTaken)) {
    const std::string taker = token.substr(std::string_view(kTaken).size());
    if (taker == own_name()) return false;
    const auto names = names_in(*store_, folder_of(taker));
    const std::string its = names ? token_among(*names) : "";
    if (its.starts_with(kAlive)) return seems_dead(taker, its);
    return still >= options_.lease;
  }
  if (!token.starts_with(kAlive)) return false;
  if (still >= options_.lease) return true;
  const auto pause = options_.caches.count() == 0 ? Clock::duration::zero() : kLockPause;
  if (still < pause || !is_let_go(writer)) return false;
  taken_by_lock_.insert(mount_of(writer));
  return true;
}

Result<OtherWriter> Membership::look_at(const MemberRecord& record) {
  OtherWriter other{record};
  ZARRFS_TRY(const auto names, names_in(*store_, folder_of(record.writer)));
  other.token = token_among(names);
  other.suspect = !other.token.empty() && seems_dead(record.writer, other.token);
  const auto watched = watched_.find(record.writer);
  if (watched != watched_.end()) other.moved = watched->second.since;
  return other;
}

Result<std::vector<OtherWriter>> Membership::others() {
  const HeldLock lock(mutex_);
  ZARRFS_CHECK(read_members());
  std::vector<OtherWriter> others;
  const std::string own = own_name();
  for (const MemberRecord& record : members_) {
    if (record.writer == own) continue;
    const std::string& last = watched_[record.writer].token;
    if (last == kLeft || last == kFinished) {  // for ever
      others.push_back({record, last});
      continue;
    }
    ZARRFS_TRY(OtherWriter other, look_at(record));
    others.push_back(std::move(other));
  }
  return others;
}

Result<bool> Membership::take(const OtherWriter& other) {
  const HeldLock lock(mutex_);
  const std::string folder = folder_of(other.record.writer);
  ZARRFS_TRY(const NameStep step, move_name(*store_, join_path(folder, other.token),
                                            join_path(folder, kTaken + own_name())));
  return step == NameStep::kDone;
}

bool Membership::outlast_caches() {
  std::unique_lock lock(beat_mutex_);
  return !beat_wake_.wait_for(lock, options_.caches, [&] { return stopping_; });
}

Result<void> Membership::finish(const OtherWriter& other, bool kept) {
  const HeldLock lock(mutex_);
  const std::string folder = folder_of(other.record.writer);
  // Where it is gone, another has taken it over, and does the same.
  ZARRFS_CHECK(move_name(*store_, join_path(folder, kTaken + own_name()),
                         join_path(folder, kept ? kKept : kFinished)));
  return {};
}

Result<void> Membership::leave(bool kept) {
  stop();
  const HeldLock lock(mutex_);
  const std::string folder = folder_of(own_name());
  ZARRFS_CHECK(move_name(*store_, join_path(folder, kAlive + std::to_string(moves_)),
                         join_path(folder, kept ? kKept : kLeft)));
  return {};
}

Result<std::map<std::string, std::int64_t>> Membership::arrivals() {
  const HeldLock lock(mutex_);
  std::map<std::string, std::int64_t> arrivals;
  for (std::size_t at = 0; at < members_.size(); ++at) {
    ZARRFS_TRY(const auto there, store_->status(member_path(at + 1)));
    if (there) arrivals[members_[at].writer] = there->st_mtim.tv_sec;
  }
  return arrivals;
}

Result<bool> Membership::say_closed() {
  stop();  // the next sign of life would find the epoch closed, as if by another
  const HeldLock lock(mutex_);
  const std::string folder = folder_of(own_name());
  const std::string own = join_path(folder, "closed");
  MemberRecord record;
  record.closed = true;
  ZARRFS_CHECK(write_small(*store_, own, sealed_text(record)));
  ZARRFS_TRY(const NameStep step, add_name(*store_, own, member_path(members_.size() + 1)));
  closed_ = step == NameStep::kDone;
  return closed_;
}

Result<std::optional<SharedOptions>> options_of_members(Store& store) {
  ZARRFS_TRY(const auto epochs, names_in(store, kLogPath));
  if (epochs.size() != 1) return std::nullopt;
  const std::string members = join_path(join_path(kLogPath, epochs[0]), kMembers);
  std::optional<SharedOptions> longest;
  for (std::uint64_t number = 1;; ++number) {
    const std::string path = join_path(members, std::to_string(number));
    ZARRFS_TRY(const auto text, read_small(store, path));
    if (!text) return longest;
    ZARRFS_TRY(const MemberRecord record, member_in(*text, path));
    if (record.closed) return longest;
    if (!longest) longest = SharedOptions{std::chrono::milliseconds(0)};
    longest->lease = std::max(longest->lease, within_an_hour(record.lease));
    longest->caches = std::max(longest->caches, within_an_hour(record.caches));
  }
}

}  // namespace zarrfs
