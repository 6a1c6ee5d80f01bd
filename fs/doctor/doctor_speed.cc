// What a file costs to read through FUSE on this machine, by each transport: a file system in
// memory is mounted for a moment by a process of its own, and read by another one. Both are killed
// and the connection is aborted when time is over, for whoever asks a hanging mount hangs with it.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "core/base/fd.h"
#include "core/base/result.h"
#include "fs/doctor/doctor.h"
#include "fs/mounts/ask_aside.h"
#include "fs/mounts/mount_table.h"
#include "fs/requests/fuse.h"
#include "fs/ring/ring_plan.h"
#include "fs/ring/wake_signal.h"
#include "fs/ring/wire.h"

namespace zarrfs {
namespace {

using SpeedClock = std::chrono::steady_clock;

constexpr unsigned kFiles = 2000;
constexpr std::size_t kFileSize = 4096;
constexpr unsigned kSpeedThreads = 2;
constexpr int kRounds = 3;
constexpr int kStepPatience = 5000;  // Milliseconds, for each of two steps.
constexpr std::chrono::milliseconds kLongEnough{200};
constexpr double kKeptLong = 3600.0;

// The file system: files named 0 to kFiles - 1, with the caching of an immutable mount.

struct stat small_status(fuse_ino_t node) {
  struct stat status {};
  const bool root = node == FUSE_ROOT_ID;
  status.st_ino = node;
  status.st_nlink = 1;
  status.st_mode = root ? S_IFDIR | 0555 : S_IFREG | 0444;
  status.st_size = root ? 0 : kFileSize;
  return status;
}

void on_small_lookup(fuse_req_t request, fuse_ino_t, const char* name) {
  const unsigned long number = std::strtoul(name, nullptr, 10);
  fuse_entry_param entry{};
  entry.ino = FUSE_ROOT_ID + 1 + number;
  entry.attr = small_status(entry.ino);
  entry.attr_timeout = entry.entry_timeout = kKeptLong;
  fuse_reply_entry(request, &entry);
}

void on_small_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  const struct stat status = small_status(node);
  fuse_reply_attr(request, &status, kKeptLong);
}

void on_small_open(fuse_req_t request, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(request, ENOSYS);
}

void on_small_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset,
                   fuse_file_info*) {
  static constexpr std::array<char, kFileSize> kContent{};
  const std::size_t from = std::min(kContent.size(), static_cast<std::size_t>(offset));
  fuse_reply_buf(request, kContent.data() + from, std::min(size, kContent.size() - from));
}

void answer_requests(fuse_session* session) {
  fuse_buf buffer{};
  while (::fuse_session_exited(session) == 0) {
    const int size = ::fuse_session_receive_buf(session, &buffer);
    if (size == -EINTR) continue;
    if (size <= 0) break;
    ::fuse_session_process_buf(session, &buffer);
  }
  std::free(buffer.mem);
}

/// Mounts, tells `ready`, and serves until that is unmounted or this process killed.
int serve_small_files(const std::string& folder, RingUse use, const Fd& ready) {
  install_wake_signal();
  Statistics statistics;
  Wire wire({use, {kSpeedThreads}, [](const std::string&) { ::_exit(EIO); }}, statistics);
  SessionUser user{&wire, nullptr};
  std::array<std::string, 3> words = {"zarrfs", "-o", "fsname=zarrfs-doctor,subtype=zarrfs,ro"};
  std::array<char*, 3> argv = {words[0].data(), words[1].data(), words[2].data()};
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
  fuse_lowlevel_ops operations{};
  operations.lookup = on_small_lookup;
  operations.getattr = on_small_getattr;
  operations.open = on_small_open;
  operations.read = on_small_read;
  fuse_session* const session = ::fuse_session_new(&args, &operations, sizeof operations, &user);
  if (session == nullptr || ::fuse_session_mount(session, folder.c_str()) != 0) return EIO;
  if (!wire.attach(session, ::fuse_session_fd(session))) return EIO;
  if (::write(ready.get(), "r", 1) != 1) return EIO;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kSpeedThreads; ++i) threads.emplace_back(answer_requests, session);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

/// Reads each file once while time lasts, and writes microseconds a file to `result`.
int read_files(const std::string& folder, const Fd& result) {
  std::array<char, kFileSize> content{};
  const auto start = SpeedClock::now();
  std::chrono::duration<double, std::micro> took{};
  unsigned count = 0;
  while (count < kFiles && took < kLongEnough) {
    const Fd file(::open((folder + "/" + std::to_string(count)).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) return EIO;
    if (::read(file.get(), content.data(), content.size()) != kFileSize) return EIO;
    ++count;
    took = SpeedClock::now() - start;
  }
  const double each = took.count() / count;
  return ::write(result.get(), &each, sizeof each) == sizeof each ? 0 : EIO;
}

/// A process that writes to a pipe. Killed and waited for, but not for ever, with this.
class Helper {
 public:
  explicit Helper(const std::function<int(const Fd&)>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    from_ = Fd(ends[0]);
    const Fd to(ends[1]);
    process_ = ::fork();
    if (process_ != 0) return;
    from_ = Fd();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // What libfuse complains of is told by the check that tries to mount.
    const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    ::dup2(nowhere.get(), STDERR_FILENO);
    // Nobody waits for the end of a pipe for as long as this waits for a mount.
    ::dup2(nowhere.get(), STDOUT_FILENO);
    ::_exit(body(to));
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    static_cast<void>(status_in_time(process_, std::chrono::milliseconds(kStepPatience)));
  }

  /// Whether it has written all of `words` within the time.
  [[nodiscard]] bool tells(void* words, std::size_t size) const {
    pollfd ready = {from_.get(), POLLIN, 0};
    return process_ > 0 && ::poll(&ready, 1, kStepPatience) > 0 &&
           ::read(from_.get(), words, size) == static_cast<ssize_t>(size);
  }

 private:
  Fd from_;
  pid_t process_ = -1;
};

/// Ends the mount on `folder`, and with it the waiting of all who ask it.
void end_mount(const std::string& folder) {
  const auto mounted = mount_at(folder);
  if (!mounted || !*mounted) return;
  const std::string& device = (*mounted)->device;
  const std::string number = device.substr(device.find(':') + 1);
  std::ofstream("/sys/fs/fuse/connections/" + number + "/abort") << "1";
  static_cast<void>(unmount(folder, true));
}

/// Microseconds a file; nothing where it did not work in time.
std::optional<double> measure(const std::string& folder, RingUse use) {
  // Outlives the daemon: whoever waits for the answer of a daemon that stands still ends only with
  // it, even if killed.
  std::optional<Helper> reader;
  const Helper daemon([&](const Fd& to) { return serve_small_files(folder, use, to); });
  char ready = 0;
  if (!daemon.tells(&ready, sizeof ready)) {
    end_mount(folder);
    return std::nullopt;
  }
  reader.emplace([&](const Fd& to) { return read_files(folder, to); });
  double each = 0;
  const bool told = reader->tells(&each, sizeof each);
  end_mount(folder);
  if (!told) return std::nullopt;
  return each;
}

std::string spelled(double number) {
  std::ostringstream text;
  text.precision(2);
  text << std::fixed << number;
  return text.str();
}

std::string microseconds(double number) { return std::to_string(std::lround(number)) + " us"; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// By /dev/fuse, and by io_uring where `both`, in turn.
Finding compare(const std::string& folder, bool both) {
  std::vector<double> device;
  std::vector<double> ring;
  for (int round = 0; round < kRounds; ++round) {
    const auto first = measure(folder, RingUse::kOff);
    if (!first) return {Verdict::kLimited, "a mount on " + folder + " could not be read in time"};
    device.push_back(*first);
    if (!both) continue;
    const auto second = measure(folder, RingUse::kOn);
    if (!second) return {Verdict::kLimited, "a mount over io_uring could not be read in time"};
    ring.push_back(*second);
  }
  std::string text = "a file of 4 KiB takes " + microseconds(median(device)) + " by /dev/fuse";
  if (!both) return {Verdict::kGood, text};
  text += ", " + microseconds(median(ring)) + " over io_uring (" +
          spelled(median(ring) / median(device)) + ")";
  return {Verdict::kGood, text};
}

}  // namespace

Finding look_at_speed(const Machine& machine) {
  const RingOffer offer = ring_offer(machine.root);
  std::string folder = machine.temporary + "/zarrfs-doctor-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return {Verdict::kLimited, system_error(errno, "a folder in " + machine.temporary).message};
  }
  Finding finding = compare(folder, offer == RingOffer::kSet);
  ::rmdir(folder.c_str());
  if (finding.verdict != Verdict::kGood) return finding;
  if (offer == RingOffer::kUnset) {
    finding.text += "; what io_uring gains can be measured once fuse.enable_uring is set";
  }
  if (offer == RingOffer::kNone) finding.text += "; this kernel has no FUSE over io_uring";
  return finding;
}

}  // namespace zarrfs
