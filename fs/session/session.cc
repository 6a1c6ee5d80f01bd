#include "fs/session/session.h"

#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "fs/ring/wake_signal.h"

namespace zarrfs {
namespace {

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
  tell_end();
  running_.fetch_sub(1);
}

void Session::tell_end() {
  if (!end_told_.exchange(true)) ended_();
}

void Session::recall(NodeId node) {
  constexpr off_t kNoPages = -1;  // to drop pages would wait for who reads them
  static_cast<void>(fuse_lowlevel_notify_inval_inode(session_.get(), node, kNoPages, 0));
}

void Session::stop() {
  stopping_ = true;
  fuse_session_exit(session_.get());
  // A signal that comes just before read(2) is lost: repeat it until nobody runs.
  while (running_ != 0) {
    for (std::thread& thread : threads_) wake(thread.native_handle());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  wire_.stop();
}

}  // namespace zarrfs
