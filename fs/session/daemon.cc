#include "fs/session/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "core/base/fd.h"
#include "core/base/file_limit.h"
#include "core/base/json.h"
#include "core/base/memory.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/cli/exit_code.h"
#include "core/formats/open_source.h"
#include "core/log/cluster_file_systems.h"
#include "core/log/log.h"
#include "core/shared/shared_store.h"
#include "core/store/store.h"
#include "core/store/store_users.h"
#include "core/store/store_watch.h"
#include "core/store/unfinished.h"
#include "core/vfs/open_view.h"
#include "core/view/view.h"
#include "fs/mounts/mount_table.h"
#include "fs/mounts/mountpoint.h"
#include "fs/options/opened.h"
#include "fs/requests/front_end.h"
#include "fs/session/idle.h"
#include "fs/session/memory_keeper.h"
#include "fs/session/owner.h"
#include "fs/session/privileges.h"
#include "fs/session/process.h"
#include "fs/session/service_manager.h"
#include "fs/session/session.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kWaitForWriter{10};  // An earlier mount may still be finishing.
constexpr std::chrono::milliseconds kBetweenTries{50};
constexpr int kPatience = 5000;  // Milliseconds from the unmount to the end of the connection.

/// What the serving threads tell the main thread: bytes in a pipe.
class Notes {
 public:
  enum Note : char { kReady = 'r', kEnded = 'e' };

  static Result<std::unique_ptr<Notes>> make() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error(errno, "making a pipe"));
    return std::unique_ptr<Notes>(new Notes(Fd(ends[0]), Fd(ends[1])));
  }
  void leave(Note note) const {
    while (::write(to_.get(), &note, 1) < 0 && errno == EINTR) {
    }
  }
  [[nodiscard]] Note take() const {
    Note note = kEnded;
    while (::read(from_.get(), &note, 1) < 0 && errno == EINTR) {
    }
    return note;
  }
  [[nodiscard]] const Fd& descriptor() const { return from_; }

 private:
  Notes(Fd from, Fd to) : from_(std::move(from)), to_(std::move(to)) {}
  Fd from_;
  Fd to_;
};

class Daemon {
 public:
  Daemon(const MountRequest& request, Fd owner, Readiness readiness, std::ostream& err)
      : request_(request),
        owner_(std::move(owner)),
        readiness_(std::move(readiness)),
        err_(err),
        connection_(given_connection(request.mountpoint)) {}

  Result<void> run() {
    ZARRFS_TRY(signals_, take_signals());
    ZARRFS_TRY(notes_, Notes::make());
    auto done = mount_and_serve();
    remove_made_places();
    return done;
  }

 private:
  Result<void> mount_and_serve() {
    ZARRFS_CHECK(prepare_places());
    ZARRFS_CHECK(open_log());
    ZARRFS_CHECK(drop_privileges());  // before the first thread: each has its own
    ZARRFS_CHECK(open_view_until_signal());
    if (std::string notice = view_->notice(); !notice.empty()) facts_.push_back(std::move(notice));
    ZARRFS_CHECK(mount());
    return serve();
  }

  Result<void> prepare_places() {
    source_ = request_.source.substr(0, request_.source.find('?'));  // behind it may be a secret
    if (is_local(request_.source)) {
      ZARRFS_TRY(source_, local_path(request_.source));
    }
    if (connection_) return take_connection();
    OwnMountpoint place{request_.mountpoint, false};
    if (place.path.empty()) {
      ZARRFS_TRY(place, own_mountpoint(source_));
      facts_.push_back("mounted on " + printable(place.path));
    }
    if (place.made) made_places_.push_back(std::filesystem::absolute(place.path).string());
    ZARRFS_TRY(mountpoint_, prepare_mountpoint(place.path));
    if (request_.settings.temporary) {
      const std::filesystem::path mountpoint(mountpoint_);
      made_places_ = {mountpoint.string(), mountpoint.parent_path().string()};
    }
    if (!is_local(request_.source)) return {};
    ZARRFS_CHECK(check_apart(source_, mountpoint_));
    return check_other_mounts();
  }

  /// Of a mount that somebody else has made this process knows the connection alone.
  Result<void> take_connection() {
    const MountSettings& settings = request_.settings;
    const std::pair<const char*, bool> options[] = {{"allow_other", settings.allow_other},
                                                    {"allow_root", settings.allow_root},
                                                    {"ends_with", settings.ends_with.has_value()},
                                                    {"idle", settings.idle > 0},
                                                    {"temporary", settings.temporary}};
    for (const auto& [name, given] : options) {
      if (!given) continue;
      return fail(Fault::kInvalid, std::string("option ") + name +
                                       " is for mounts that zarrfs makes; who has opened " +
                                       request_.mountpoint + " makes this one");
    }
    mountpoint_ = request_.mountpoint;
    return check_connection(*connection_);
  }

  /// What other mounts of zarrfs have to do with this one.
  Result<void> check_other_mounts() {
    std::error_code problem;
    const std::string canonical = std::filesystem::weakly_canonical(source_, problem).string();
    if (problem) return fail(system_error(problem.value(), "source " + printable(source_)));
    ZARRFS_TRY(const auto mounts, mount_table());
    ZARRFS_CHECK(check_no_circle(canonical, mountpoint_, mounts));
    const auto around = own_mount_around(canonical, mounts);
    if (around && !around->read_only) {
      within_mount_ = printable(request_.source) + " lies within the mount of zarrfs on " +
                      printable(around->mountpoint) + ", which writes " +
                      printable(around->source) + " by itself";
    }
    return {};
  }

  /// Only what is empty and not a mountpoint any more can be removed.
  void remove_made_places() const {
    for (const std::string& place : made_places_) static_cast<void>(::rmdir(place.c_str()));
  }

  Result<void> open_log() {
    const MountSettings& settings = request_.settings;
    LogTarget target = request_.foreground ? LogTarget::kStandardError : LogTarget::kSystem;
    if (!settings.log_file.empty()) target = LogTarget::kFile;
    ZARRFS_TRY(log_, Log::open(target, settings.log_level, settings.log_file));
    return {};
  }

  /// What the store says may go on without an end: a signal ends that, or the end of the owner, or
  /// of who waits for the mount.
  Result<void> open_view_until_signal() {
    const RequestScope scope(
        std::nullopt,
        [](const void* daemon) { return static_cast<const Daemon*>(daemon)->has_to_end(); }, this);
    auto opened = open_view();
    if (!opened && has_to_end()) opened.error().message += "; interrupted";
    if (!opened && opened_) name_foreign(opened.error());
    return opened;
  }

  [[nodiscard]] bool has_to_end() const {
    return is_readable(signals_) || (owner_.valid() && is_readable(owner_)) ||
           readiness_.abandoned();
  }

  /// Says what the source is, where it is known as another format.
  void name_foreign(Error& error) const {
    if (error.fault != Fault::kInvalid && error.fault != Fault::kUnsupported) return;
    const auto foreign =
        foreign_source(request_.source, {request_.settings.links, 0, request_.settings.remote});
    if (foreign) error.message = source_ + ": is " + *foreign;
  }

  Result<void> open_view() {
    const MountSettings& settings = request_.settings;
    ZARRFS_TRY(memory_, plan_memory(memory_wishes(), machine_memory()));
    ViewOptions options = view_options(settings, memory_, log_);
    const StoreOptions of_store = store_options(settings, memory_, log_);
    ZARRFS_CHECK(check_for_source(settings, request_.source));
    ZARRFS_TRY(std::shared_ptr<Store> store, open_source(request_.source, of_store));
    if (settings.shared.on) {
      ZARRFS_TRY(store, share(std::move(store)));
    }
    opened_ = true;
    leave_room_for_manifests(*store, memory_, options);
    near_ = store->traits().near;
    watchable_ = store->traits().watchable;
    if (StoreUsers* users = users_of(*store); users != nullptr && settings.allow_other) {
      users->serve_others();
      if (!settings.umask) options.umask = 0;
    }
    if (settings.umask) options.umask = *settings.umask;
    ZARRFS_CHECK(choose_access(*store, options));
    if (!options.writing) return open_reading(store, options);
    const auto give_up = std::chrono::steady_clock::now() + kWaitForWriter;
    for (bool told = false;; told = true) {
      auto view = zarrfs::open_view(store, options);
      if (view) {
        view_ = std::move(*view);
        if (!settings.shared.on) tell_waiting();
        return {};
      }
      Error& problem = view.error();
      const bool busy = problem.fault == Fault::kBusy;
      if (busy && !told) {
        say("waiting " + std::to_string(kWaitForWriter.count()) + " s: " + problem.message);
      }
      if (!busy || has_to_end() || std::chrono::steady_clock::now() > give_up) {
        if (busy) problem.message += "; -o ro mounts it for reading beside that";
        return fail(std::move(problem));
      }
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

  /// What earlier mounts have written, and this one could not put into shards.
  void tell_waiting() {
    const std::vector<Unpublished> waiting = view_->unpublished();
    if (waiting.empty()) return;
    const std::string more =
        waiting.size() == 1 ? "" : "; " + std::to_string(waiting.size() - 1) + " more wait";
    say(waiting.front().name + ": " + waiting.front().reason + more);
  }

  [[nodiscard]] MemoryWishes memory_wishes() const {
    const MountSettings& settings = request_.settings;
    MemoryWishes wishes = zarrfs::memory_wishes(settings, request_.source);
    wishes.writes = settings.access != MountSettings::Access::kReadOnly && !settings.view.immutable;
    wishes.ring = settings.ring != RingUse::kOff && ring_offer() == RingOffer::kSet;
    return wishes;
  }

  [[nodiscard]] Result<std::shared_ptr<Store>> share(std::shared_ptr<Store> store) const {
    const SharedWriting& chosen = request_.settings.shared;
    SharedOptions options;
    ZARRFS_TRY(options.caches, usual_caches(*store));
    if (chosen.caches) options.caches = milliseconds(*chosen.caches);
    if (chosen.lease) options.lease = milliseconds(*chosen.lease);
    options.say = [log = log_](bool error, const std::string& line) {
      log->write(error ? LogLevel::kError : LogLevel::kInfo, line);
    };
    return make_shared_store(std::move(store), std::move(options));
  }
  static std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  }

  Result<void> open_reading(const std::shared_ptr<Store>& store, const ViewOptions& options) {
    // What is not published yet is beside the store only where it is a directory.
    const bool is_directory = store->traits().directories;
    ZARRFS_TRY(const bool shared, is_directory ? is_shared(*store) : Result<bool>(false));
    const auto unpublished =
        is_directory && !shared ? has_unpublished(*store) : Result<bool>(false);
    if (shared) {
      say(printable(request_.source) +
          " is written by mounts with -o shared: what they have not put into shards yet is not "
          "shown");
    }
    if (!unpublished) say(unpublished.error().message);
    if (const auto unfinished = unfinished_source(*store)) say(*unfinished);
    ZARRFS_TRY(view_, zarrfs::open_view(store, options));
    if (unpublished && *unpublished) {
      say(printable(request_.source) +
          " has writes that are not in its shards yet and are not shown: `zarrfs recover " +
          printable(request_.source) + "` puts them there");
    }
    return {};
  }

  /// Decides whether the mount writes.
  Result<void> choose_access(Store& store, ViewOptions& options) {
    using Access = MountSettings::Access;
    const MountSettings& settings = request_.settings;
    if (settings.access == Access::kReadOnly || settings.view.immutable) return {};
    auto reason = within_mount_ ? within_mount_ : store.why_read_only();
    if (!reason && settings.access != Access::kReadWrite) {
      ZARRFS_TRY(const std::string cluster, cluster_file_system_of(store));
      if (!cluster.empty()) {
        reason = printable(request_.source) + " lies on " + cluster +
                 ", where a mount on another machine may write to it at the same time; where none "
                 "does, -o rw (in fstab: writers=one) mounts it for writing";
      }
    }
    if (!reason) {
      options.writing = settings.writing;
      options.writing->write_buffer = memory_.written;
      options.writing->may_begin = settings.access == Access::kReadWrite;
      if (settings.access == Access::kUnsaid) facts_.emplace_back("read and write");
      return {};
    }
    if (settings.access == Access::kReadWrite) return fail(Fault::kReadOnly, *reason);
    facts_.push_back("read-only (" + *reason + ")");
    return {};
  }

  Result<void> mount() {
    if (request_.settings.ring == RingUse::kOn) ZARRFS_CHECK(check_ring());
    FrontEndSettings settings;
    settings.timeout = request_.settings.timeout;
    settings.immutable = request_.settings.view.immutable;
    settings.for_others = request_.settings.allow_other;
    settings.own_user_only = connection_.has_value();
    settings.direct_io = request_.settings.view.direct_io;
    settings.guarded = connection_ || request_.settings.allow_root;
    settings.complain = [log = log_](const std::string& line) {
      log->write(LogLevel::kError, line);
    };
    settings.may_wait = Wire::may_wait;
    settings.room = Wire::room;
    settings.ready = [notes = notes_.get()] { notes->leave(Notes::kReady); };
    front_ = std::make_unique<FrontEnd>(*view_, std::move(settings));
    ZARRFS_TRY(session_, Session::create(*front_, source_, kernel_options(), wire()));
    ZARRFS_CHECK(session_->mount(mountpoint_));
    if (!connection_) {
      ZARRFS_TRY(mounted_, mount_at(mountpoint_));
    }
    return watch_store();
  }

  /// The kernel may keep names for longer where each change of the store is seen. Not what other
  /// users may do, nor where the user wants nothing kept.
  Result<void> watch_store() {
    const MountSettings& settings = request_.settings;
    const bool wanted = settings.watch && !settings.view.immutable && settings.timeout > 0;
    if (!wanted || settings.allow_other || !watchable_) return {};
    auto watch = StoreWatch::of(source_);
    if (!watch) return {};
    return view_->lend_names(std::move(*watch),
                             [session = session_.get()](NodeId node) { session->recall(node); });
  }

  [[nodiscard]] WireSettings wire() const {
    return {request_.settings.ring, ring_threads(),
            [log = log_](const std::string& reason) { log->write(LogLevel::kError, reason); }};
  }

  /// Where a network is waited for, a ring must not leave a processor with fewer threads than all
  /// processors share without it.
  [[nodiscard]] RingThreads ring_threads() const {
    return {memory_.threads, near_ ? kLeastRingThreads : memory_.threads, memory_.ring};
  }

  [[nodiscard]] std::vector<std::string> kernel_options() const {
    const MountSettings& settings = request_.settings;
    std::vector<std::string> options = settings.kernel_options;
    if (!view_->writable()) options.emplace_back("ro");
    if (settings.allow_other) {
      options.emplace_back("allow_other");
      options.emplace_back("default_permissions");
    }
    if (settings.allow_root) options.emplace_back("allow_root");
    return options;
  }

  Result<void> serve() {
    if (readiness_.awaited()) leave_working_directory();  // before the threads, which keep theirs
    auto started = session_->start(
        memory_.threads, [notes = notes_.get()] { notes->leave(Notes::kEnded); },
        [log = log_](const std::string& line) { log->write(LogLevel::kError, line); });
    if (!started) {
      unmount_own();
      return started;
    }
    bool answers = false;
    IdleWatch idle(std::chrono::duration<double>(request_.settings.idle), IdleWatch::Clock::now());
    MemoryKeeper keeper = memory_keeper();
    for (;;) {
      std::array<pollfd, 3> ready = {{{signals_.get(), POLLIN, 0},
                                      {notes_->descriptor().get(), POLLIN, 0},
                                      {owner_.get(), POLLIN, 0}}};
      const int pause = answers ? idle.pause() : -1;
      const int count =
          ::poll(ready.data(), ready.size(),
                 pause < 0 ? MemoryKeeper::kPause : std::min(pause, MemoryKeeper::kPause));
      if (count == 0 && answers) end_if_idle(idle);
      if (count == 0) keeper.look();
      if (count <= 0) continue;
      if (ready[0].revents != 0) {
        end_by_signal(next_signal(signals_));
        break;
      }
      if (ready[2].revents != 0) end_with_owner();
      if (ready[1].revents == 0) continue;
      if (notes_->take() == Notes::kEnded) break;
      if (readiness_.abandoned()) {
        log_->write(LogLevel::kInfo, "ending: who has asked for the mount was killed");
        unmount_own();
        break;
      }
      answers = true;
      tell_ready();
    }
    view_->end_lending();
    session_->stop();
    front_->stop_waiting();
    ZARRFS_CHECK(end_writing());
    log_->write(LogLevel::kInfo, "ended serving " + mountpoint_);
    if (!answers)
      return fail(Fault::kIo, "the mount on " + mountpoint_ + " ended before it answered");
    return {};
  }

  MemoryKeeper memory_keeper() {
    return MemoryKeeper({.resident = [] { return resident_memory().now; },
                         .give_back = give_free_memory_back,
                         .spare = [this] { return view_->spare_nodes(); },
                         .prune = [this](auto nodes) { return session_->prune(nodes); }},
                        memory_.bound);
  }

  /// Where something is open there, the mount stays.
  void end_if_idle(IdleWatch& idle) {
    if (!idle.look(front_->statistics().wanted_requests(), IdleWatch::Clock::now())) return;
    const auto now = mount_at(mountpoint_);
    if (!now || !*now || !mounted_ || (*now)->device != mounted_->device) return;
    if (unmount(mountpoint_, false)) log_->write(LogLevel::kInfo, "unmounted: nobody used it");
  }

  /// Programs that have something open there can go on.
  void end_with_owner() {
    log_->write(LogLevel::kInfo,
                "ending: process " + std::to_string(*request_.settings.ends_with) + " has ended");
    owner_ = Fd();
    if (unmount_own()) remove_made_places();
  }

  /// Puts what was written into its shards; an error where something stays outside.
  Result<void> end_writing() {
    auto closed = view_->close();
    const std::vector<Unpublished> left = view_->unpublished();
    for (const Unpublished& one : left) {
      log_->write(LogLevel::kError, one.name + " is not published: " + one.reason);
    }
    if (!left.empty()) {
      return fail(Fault::kIo,
                  std::to_string(left.size()) +
                      " written chunks could not be published; they are kept in " +
                      (is_local(request_.source) ? source_ + "/.zarrfs and the files it names"
                                                 : std::string("the spool")));
    }
    return closed;
  }

  void tell_ready() {
    log_->write(LogLevel::kInfo, "mounted " + source_ + " on " + mountpoint_);
    tell_service_manager("READY=1\nMAINPID=" + std::to_string(::getpid()));
    tell_facts();
    if (!readiness_.awaited()) return;
    let_go_of_terminal();
    readiness_.tell();
  }

  void end_by_signal(int number) {
    log_->write(LogLevel::kInfo, std::string("ending: ") + ::strsignal(number));
    tell_service_manager("STOPPING=1");
    if (!unmount_own()) return;
    // The connection ends as soon as the kernel has let go of it; another mount namespace may keep
    // it.
    pollfd ready = {notes_->descriptor().get(), POLLIN, 0};
    ::poll(&ready, 1, kPatience);
  }

  /// Unmounts if the mountpoint still shows this mount. Lazily only where it has an owner: an empty
  /// directory under the eyes of a reader would look like chunks full of the fill value, while a
  /// mount without its daemon is an error.
  bool unmount_own() {
    const auto now = mount_at(mountpoint_);
    if (!now || !*now || !mounted_ || (*now)->device != mounted_->device) return false;
    auto done = unmount(mountpoint_, false);
    if (!done && request_.settings.ends_with) done = unmount(mountpoint_, true);
    if (!done)
      log_->write(LogLevel::kWarning, done.error().message + "; what is open there will fail");
    return done.has_value();
  }

  /// What nobody asked for in so many words, in one line.
  void tell_facts() {
    std::string line;
    for (const std::string& fact : facts_) line += (line.empty() ? "" : ", ") + fact;
    if (!line.empty()) say(line);
  }

  /// A line for the user who waits for the mount, and for the log.
  void say(const std::string& line) {
    if (readiness_.awaited()) err_ << "zarrfs: " << line << std::endl;
    log_->write(LogLevel::kInfo, line);
  }

  const MountRequest& request_;
  Fd owner_;  ///< Readable when the process has ended that this mount ends with; none else.
  Readiness readiness_;
  std::ostream& err_;
  std::optional<int> connection_;  ///< Of a mount that somebody else has made.
  Fd signals_;
  std::unique_ptr<Notes> notes_;
  std::string source_;
  std::string mountpoint_;
  std::optional<std::string>
      within_mount_;                      ///< Why a store that another mount shows is not written.
  std::vector<std::string> made_places_;  ///< Directories to remove at the end; absolute.
  std::vector<std::string> facts_;        ///< See tell_facts().
  bool opened_ = false;                   ///< The source was there, whatever is in it.
  bool near_ = true;
  MemoryPlan memory_;
  bool watchable_ = false;
  std::shared_ptr<Log> log_;
  std::unique_ptr<View> view_;
  std::unique_ptr<FrontEnd> front_;
  std::unique_ptr<Session> session_;
  std::optional<MountEntry> mounted_;
};

int tell_failure(const Error& error, std::ostream& err) {
  err << "zarrfs: " << error.message << std::endl;
  return kCouldNot;
}

int serve_mount(const MountRequest& request, Fd owner, Readiness readiness, std::ostream& err) {
  raise_file_limit();
  settle_allocator();
  const auto done = Daemon(request, std::move(owner), std::move(readiness), err).run();
  return done ? 0 : tell_failure(done.error(), err);
}

}  // namespace

int run_mount(const MountRequest& request, std::ostream& err) {
  fill_standard_descriptors();
  close_inherited(request.given);
  Fd owner;
  if (request.settings.ends_with) {
    auto watched = watch_owner(*request.settings.ends_with);
    if (!watched) {
      watched.error().message = "option ends_with: " + watched.error().message;
      return tell_failure(watched.error(), err);
    }
    owner = std::move(*watched);
  }
  if (request.foreground) return serve_mount(request, std::move(owner), Readiness(), err);
  return run_in_background(
      [&](Readiness readiness) {
        return serve_mount(request, std::move(owner), std::move(readiness), err);
      },
      err);
}

}  // namespace zarrfs
