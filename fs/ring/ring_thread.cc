#include "fs/ring/ring_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "fs/ring/wake_signal.h"

namespace zarrfs {
namespace {

/// For some answers to a thread that asks for one thing after the other; see ThreadMoves.
constexpr std::chrono::microseconds kBusyTime{300};
/// A turn that another thread had lasts longer.
constexpr std::chrono::microseconds kNoTurn{5};
constexpr unsigned kCommands = 4;  // One for the entry, one for the event.

thread_local RingThread* this_thread = nullptr;

/// Where the processor is away, or not for this process, the thread runs anywhere.
void stay_on(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (processor < CPU_SETSIZE) CPU_SET(processor, &set);
  static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
}

bool is_end_of_connection(int result) {
  return result == -ENOTCONN || result == -ECONNABORTED || result == -ENODEV;
}

}  // namespace

RingThread::~RingThread() {
  if (has_ring_) io_uring_queue_exit(&ring_);
}

void RingThread::start() {
  running_ = true;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    running_ = false;
    throw;
  }
}

void RingThread::wake() { zarrfs::wake(thread_.native_handle()); }

void RingThread::run() {
  this_thread = this;
  stay_on(queue_);
  prepared_.set_value(prepare());
  if (go_.get_future().get()) serve();
  // The kernel gives up what this ring still has before the thread is said to have ended.
  if (has_ring_) io_uring_queue_exit(&ring_);
  has_ring_ = false;
  running_ = false;
}

Result<void> RingThread::prepare() {
  io_uring_params params{};
  params.flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_TASKRUN_FLAG;
  const int problem = io_uring_queue_init_params(kCommands, &ring_, &params);
  if (problem != 0) return fail(system_error(-problem, "making an io_uring"));
  has_ring_ = true;
  answered_event_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!answered_event_.valid()) return fail(system_error(errno, "making an event descriptor"));
  ZARRFS_TRY(entry_, RingEntry::make(connection_.payload));
  return {};
}

void RingThread::serve() {
  give_command(kRegisterEntry, 0);
  watch_answered();
  while (!connection_.stopping) {
    const int result = submit_and_wait();
    if (result < 0 && result != -EINTR) {
      connection_.broken(system_error(-result, "waiting for a ring").message);
      return;
    }
    if (!take_events()) return;
  }
}

int RingThread::submit_and_wait() {
  if (busy_for_ != 0) return stay_busy();
  return io_uring_submit_and_wait(&ring_, 1);
}

/// Until another thread wants the processor, which is busy without it then.
int RingThread::stay_busy() {
  const int result = io_uring_submit(&ring_);
  io_uring_cqe* event = nullptr;
  auto now = std::chrono::steady_clock::now();
  const auto end = now + kBusyTime;
  while (now < end && io_uring_peek_cqe(&ring_, &event) != 0) {
    ::sched_yield();
    const auto yielded = std::exchange(now, std::chrono::steady_clock::now());
    if (now - yielded > kNoTurn) break;
  }
  connection_.hops.was_busy(std::exchange(busy_for_, 0));
  return result;
}

/// False: the thread ends.
bool RingThread::take_events() {
  io_uring_cqe* event = nullptr;
  while (!connection_.stopping && io_uring_peek_cqe(&ring_, &event) == 0) {
    const bool request = io_uring_cqe_get_data(event) != nullptr;
    const int result = event->res;
    io_uring_cqe_seen(&ring_, event);
    if (request) {
      if (!take_request(result)) return false;
    } else {
      if (result > 0) commit();
      watch_answered();
    }
  }
  return true;
}

bool RingThread::take_request(int result) {
  if (result == 0) {
    serve_request();
    return true;
  }
  const bool refused = entry_->commit_id() == 0;  // It was never more than registered.
  // No queue may be left alone with requests.
  if (!refused && !is_end_of_connection(result)) {
    connection_.broken(system_error(-result, "a ring of FUSE").message);
  }
  return false;
}

void RingThread::serve_request() {
  const auto message = entry_->arrived();
  connection_.statistics->count_arrival(Transport::kRing);
  const auto task = static_cast<pid_t>(entry_->request().pid);
  if (connection_.hops.came(task, queue_)) busy_for_ = task;
  serves_ = true;
  if (message) {
    fuse_buf buffer{};
    buffer.mem = message->data();
    buffer.size = message->size();
    fuse_session_process_buf(connection_.session, &buffer);
  } else {
    fuse_out_header refusal{};
    refusal.len = sizeof refusal;
    refusal.error = -EIO;
    refusal.unique = entry_->request().unique;
    const iovec part = {&refusal, sizeof refusal};
    static_cast<void>(answer_own(refusal.unique, {&part, 1}));
  }
  serves_ = false;
}

std::optional<std::size_t> RingThread::answer_own(std::uint64_t unique,
                                                  std::span<const iovec> answer) {
  RingThread* const here = this_thread;
  if (here == nullptr || !here->serves_ || !here->entry_->claim(unique)) return std::nullopt;
  const std::size_t given = here->entry_->answer(answer);
  here->commit();
  return given;
}

std::optional<std::size_t> RingThread::answer(std::uint64_t unique, std::span<const iovec> answer) {
  if (!entry_->claim(unique)) return std::nullopt;
  const std::size_t given = entry_->answer(answer);
  const std::uint64_t one = 1;
  while (::write(answered_event_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  return given;
}

std::span<char> RingThread::room(std::size_t size) {
  RingThread* const here = this_thread;
  if (here == nullptr || !here->serves_) return {};
  return here->entry_->room(size);
}

bool RingThread::may_wait() {
  RingThread* const here = this_thread;
  if (here == nullptr) return true;
  here->waits_ = here->places_.take();
  return here->waits_;
}

void RingThread::commit() {
  if (waits_) places_.give_back();
  waits_ = false;
  give_command(kCommitAndFetch, entry_->commit_id());
}

void RingThread::watch_answered() {
  io_uring_sqe* const command = next_command();
  io_uring_prep_read(command, answered_event_.get(), &event_count_, sizeof event_count_, 0);
  io_uring_sqe_set_data(command, nullptr);
}

/// There is room for one command of the entry and one of the event.
io_uring_sqe* RingThread::next_command() {
  io_uring_sqe* const command = io_uring_get_sqe(&ring_);
  std::memset(command, 0, 2 * sizeof *command);
  return command;
}

void RingThread::give_command(std::uint32_t number, std::uint64_t commit_id) {
  io_uring_sqe* const command = next_command();
  command->opcode = IORING_OP_URING_CMD;
  command->fd = connection_.device;
  command->cmd_op = number;
  if (number == kRegisterEntry) {
    command->addr = reinterpret_cast<std::uintptr_t>(entry_->parts().data());
    command->len = static_cast<unsigned>(entry_->parts().size());
  }
  io_uring_sqe_set_data(command, entry_.get());
  RingCommand words{};
  words.queue = static_cast<std::uint16_t>(queue_);
  words.commit_id = commit_id;
  std::memcpy(command->cmd, &words, sizeof words);
}

}  // namespace zarrfs
