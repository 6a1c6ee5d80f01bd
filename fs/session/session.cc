#include "fs/session/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "core/base/own_process.h"
#include "fs/ring/wake_signal.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kToFinish{1};  // with requests, once the session ends
constexpr std::chrono::milliseconds kBusyForLong{200};
constexpr std::chrono::seconds kStandstill{20};

using SessionClock = std::chrono::steady_clock;

/// The thread that made the request in `buffer`.
pid_t asked_by(const fuse_buf& buffer) {
  fuse_in_header header{};
  if (buffer.size < sizeof header || buffer.mem == nullptr) return 0;
  std::memcpy(&header, buffer.mem, sizeof header);
  return static_cast<pid_t>(header.pid);
}

/// A value for libfuse's comma-separated options.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ',' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

}  // namespace

Session::Session(FrontEnd& front, WireSettings wire)
    : wire_(
          [&] {
            wire.broken = [this, told = std::move(wire.broken)](const std::string& reason) {
              told(reason);
              tell_end();
            };
            return std::move(wire);
          }(),
          front.statistics()),
      user_{&wire_, &front} {}

Result<std::unique_ptr<Session>> Session::create(FrontEnd& front, const std::string& source,
                                                 const std::vector<std::string>& mount_options,
                                                 WireSettings wire) {
  std::vector<std::string> words = {"zarrfs"};
  const auto add = [&words](const std::string& option) {
    words.emplace_back("-o");
    words.push_back(option);
  };
  add("fsname=" + escaped(source));
  add("subtype=zarrfs");
  add("max_read=" + std::to_string(kLargestRequest));
  for (const std::string& option : mount_options) add(option);

  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
  const fuse_lowlevel_ops& operations = FrontEnd::operations();
  std::unique_ptr<Session> session(new Session(front, std::move(wire)));
  session->session_.reset(
      fuse_session_new(&args, &operations, sizeof(operations), &session->user_));
  fuse_opt_free_args(&args);
  if (!session->session_) return fail(Fault::kIo, "libfuse could not make a session");
  return session;
}

Session::~Session() { stop(); }

Result<void> Session::mount(const std::string& mountpoint) {
  if (fuse_session_mount(session_.get(), mountpoint.c_str()) != 0) {
    return fail(Fault::kIo, "could not mount on " + mountpoint);
  }
  return wire_.attach(session_.get(), fuse_session_fd(session_.get()));
}

Result<void> Session::serve_connection(Fd connection) {
  ZARRFS_CHECK(wire_.attach(session_.get(), connection.get()));
  connection.release();  // The session closes it.
  return {};
}

Result<void> Session::start(unsigned threads, std::function<void()> ended,
                            std::function<void(const std::string&)> complain) {
  install_wake_signal();
  complain_ = std::move(complain);
  ended_ = std::move(ended);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  block_other_signals();  // Inherited by the threads.
  int problem = 0;
  for (unsigned i = 0; i < threads && problem == 0; ++i) problem = add_worker();
  if (!workers_.empty()) keeper_ = std::thread([this] { watch_workers(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (workers_.empty()) return fail(system_error(problem, "starting threads"));
  return {};
}

/// The errno of its failure; 0 where it runs.
int Session::add_worker() {
  auto worker = std::make_unique<Worker>();
  running_.fetch_add(1);
  try {
    worker->thread = std::thread([this, self = worker.get()] { serve_requests(*self); });
  } catch (const std::system_error& error) {
    running_.fetch_sub(1);
    return error.code().value();
  }
  workers_.push_back(std::move(worker));
  return 0;
}

void Session::watch_workers() {
  std::unique_lock lock(mutex_);
  unsigned added = 0;
  auto moved = SessionClock::now();
  while (!stopping_) {
    watches_ = true;
    changed_.wait(lock, [this] { return idle_ == 0 || stopping_; });
    watches_ = false;
    const std::uint64_t taken = taken_;
    changed_.wait_for(lock, kBusyForLong, [this] { return stopping_.load(); });
    if (taken_ != taken || idle_ != 0 || stopping_) {
      moved = SessionClock::now();
    } else if (added < kMostAdded) {
      added += add_worker() == 0 ? 1 : 0;
    } else if (SessionClock::now() - moved > kStandstill && waits_in_circle()) {
      complain_(
          "ending: requests of other mounts of zarrfs wait here, and these for others there: "
          "mountpoints lie in each other's stores");
      abort_connection();
      return;
    }
  }
}

/// Whether most requests are those of zarrfs itself, which serves others by them.
bool Session::waits_in_circle() const {
  std::size_t own = 0;
  for (const auto& worker : workers_) {
    if (is_zarrfs_process(std::to_string(worker->asked_by))) ++own;
  }
  return own > workers_.size() / 2;
}

/// The kernel answers every request with ECONNABORTED once nobody has its end of the connection. A
/// descriptor of that number stays, since threads still use it.
void Session::abort_connection() {
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nothing.valid()) ::dup3(nothing.get(), fuse_session_fd(session_.get()), O_CLOEXEC);
}

void Session::serve_requests(Worker& self) {
  fuse_buf buffer{};
  while (!stopping_ && fuse_session_exited(session_.get()) == 0) {
    ++idle_;
    const int size = fuse_session_receive_buf(session_.get(), &buffer);
    ++taken_;
    if (--idle_ == 0 && watches_) {
      const std::lock_guard lock(mutex_);
      changed_.notify_one();
    }
    if (size == -EINTR || size == -EAGAIN) continue;
    if (size <= 0) break;
    self.asked_by = asked_by(buffer);
    fuse_session_process_buf(session_.get(), &buffer);
  }
  std::free(buffer.mem);
  tell_end();
  running_.fetch_sub(1);
}

void Session::tell_end() {
  if (!end_told_.exchange(true)) ended_();
}

void Session::recall(NodeId node) {
  constexpr off_t kNoPages = -1;  // to drop pages would wait for programs that read them
  static_cast<void>(fuse_lowlevel_notify_inval_inode(session_.get(), node, kNoPages, 0));
}

bool Session::prune(std::span<const NodeId> nodes) {
  // Source: include/uapi/linux/fuse.h of Linux 6.18, FUSE_NOTIFY_PRUNE.
  constexpr int kNotifyPrune = 9;
  constexpr std::size_t kAtOnce = 512;
  struct Head {
    fuse_out_header header;
    std::uint32_t count;
    std::uint32_t padding;
    std::uint64_t spare;
  };
  static_assert(sizeof(Head) == 32);
  while (!nodes.empty()) {
    const auto some = nodes.first(std::min(nodes.size(), kAtOnce));
    nodes = nodes.subspan(some.size());
    Head head{};
    head.header.len = static_cast<std::uint32_t>(sizeof(head) + some.size_bytes());
    head.header.error = kNotifyPrune;
    head.count = static_cast<std::uint32_t>(some.size());
    std::array<iovec, 2> parts = {
        {{&head, sizeof(head)}, {const_cast<NodeId*>(some.data()), some.size_bytes()}}};
    const ssize_t written = ::writev(fuse_session_fd(session_.get()), parts.data(), parts.size());
    if (written < 0 && errno == EINVAL) return false;
  }
  return true;
}

void Session::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (keeper_.joinable()) keeper_.join();
  fuse_session_exit(session_.get());
  const auto hurry = SessionClock::now() + kToFinish;
  // A signal that comes just before read(2) is lost: repeat it until nobody runs.
  while (running_ != 0) {
    for (const auto& worker : workers_) wake(worker->thread.native_handle());
    if (SessionClock::now() > hurry) user_.hurries = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const auto& worker : workers_) worker->thread.join();
  workers_.clear();
  wire_.stop();
}

}  // namespace zarrfs
