#include "fs/session.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace zarrfs {
namespace {

/// Wakes a thread that waits for a request; it does nothing else.
constexpr int kWakeSignal = SIGUSR1;

void on_wake(int) {}

/// Without SA_RESTART, so that read(2) returns.
void install_wake_signal() {
  struct sigaction action {};
  action.sa_handler = on_wake;
  sigemptyset(&action.sa_mask);
  sigaction(kWakeSignal, &action, nullptr);
}

/// Signals are for the main thread, but for the one that wakes.
void block_other_signals() {
  sigset_t signals;
  sigfillset(&signals);
  sigdelset(&signals, kWakeSignal);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&signals, fault);
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
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

ssize_t write_to_connection(int fd, iovec* parts, int count, void*) {
  return ::writev(fd, parts, count);
}

ssize_t read_from_connection(int fd, void* buffer, std::size_t size, void*) {
  return ::read(fd, buffer, size);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(FrontEnd& front, const std::string& source,
                                                 const std::vector<std::string>& mount_options) {
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
  fuse_session* session = fuse_session_new(&args, &operations, sizeof(operations), &front);
  fuse_opt_free_args(&args);
  if (session == nullptr) return fail(Fault::kIo, "libfuse could not make a session");
  return std::unique_ptr<Session>(new Session(session));
}

Session::~Session() { stop(); }

Result<void> Session::mount(const std::string& mountpoint) {
  if (fuse_session_mount(session_.get(), mountpoint.c_str()) == 0) return {};
  return fail(Fault::kIo, "could not mount on " + mountpoint);
}

Result<void> Session::serve_connection(Fd connection) {
  fuse_custom_io io{};
  io.writev = write_to_connection;
  io.read = read_from_connection;
  const int problem = fuse_session_custom_io(session_.get(), &io, connection.get());
  if (problem != 0) return fail(system_error(-problem, "serving a connection"));
  connection.release();  // The session closes it.
  return {};
}

Result<void> Session::start(unsigned threads, std::function<void()> ended) {
  install_wake_signal();
  ended_ = std::move(ended);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  block_other_signals();  // Inherited by the threads.
  int problem = 0;
  for (unsigned i = 0; i < threads && problem == 0; ++i) {
    running_.fetch_add(1);
    try {
      threads_.emplace_back([this] { serve_requests(); });
    } catch (const std::system_error& error) {
      running_.fetch_sub(1);
      problem = error.code().value();
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (threads_.empty()) return fail(system_error(problem, "starting threads"));
  return {};
}

void Session::serve_requests() {
  fuse_buf buffer{};
  while (!stopping_ && fuse_session_exited(session_.get()) == 0) {
    const int size = fuse_session_receive_buf(session_.get(), &buffer);
    if (size == -EINTR || size == -EAGAIN) continue;
    if (size <= 0) break;
    fuse_session_process_buf(session_.get(), &buffer);
  }
  std::free(buffer.mem);
  if (!end_told_.exchange(true)) ended_();
  running_.fetch_sub(1);
}

void Session::stop() {
  stopping_ = true;
  fuse_session_exit(session_.get());
  // A signal that comes just before read(2) is lost: repeat it until nobody runs.
  while (running_ != 0) {
    for (std::thread& thread : threads_) pthread_kill(thread.native_handle(), kWakeSignal);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace zarrfs
