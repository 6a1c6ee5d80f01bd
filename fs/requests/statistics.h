// Counts of what the kernel asked and what it was answered, for `.zarrfs/stats.json`.
// Thread-safe; counting takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace zarrfs {

enum class Operation : std::uint8_t {
  kLookup,
  kForget,
  kGetattr,
  kAccess,
  kReadlink,
  kOpen,
  kRead,
  kRelease,
  kOpendir,
  kReaddir,
  kReaddirplus,
  kReleasedir,
  kStatfs,
  kGetxattr,
  kListxattr,
  kSetattr,
  kMknod,
  kMkdir,
  kUnlink,
  kRmdir,
  kSymlink,
  kRename,
  kLink,
  kCreate,
  kWrite,
  kFlush,
  kFsync,
  kFsyncdir,
  kSetxattr,
  kRemovexattr,
};
inline constexpr std::size_t kOperationCount =
    static_cast<std::size_t>(Operation::kRemovexattr) + 1;

/// Their names in statistics and log lines, in the order of Operation.
inline constexpr std::string_view kOperationNames[] = {
    "lookup", "forget",   "getattr",   "access",   "readlink",    "open",
    "read",   "release",  "opendir",   "readdir",  "readdirplus", "releasedir",
    "statfs", "getxattr", "listxattr", "setattr",  "mknod",       "mkdir",
    "unlink", "rmdir",    "symlink",   "rename",   "link",        "create",
    "write",  "flush",    "fsync",     "fsyncdir", "setxattr",    "removexattr",
};
static_assert(std::size(kOperationNames) == kOperationCount);
constexpr std::string_view operation_name(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}

/// How requests come.
enum class Transport : std::uint8_t {
  kDevice,  ///< /dev/fuse.
  kRing,    ///< io_uring.
};

class Statistics {
 public:
  void count_request(Operation operation) { add(requests_[index(operation)], 1); }
  /// An answer that is an errno.
  void count_error(Operation operation) { add(errors_[index(operation)], 1); }
  /// Of any request, before it is known which.
  void count_arrival(Transport by) { add(by == Transport::kRing ? by_ring_ : by_device_, 1); }
  void count_bytes_read(std::uint64_t bytes) { add(bytes_read_, bytes); }
  /// Of the bytes of a file of the store.
  void count_read_in_place() { add(reads_in_place_, 1); }
  void count_bytes_written(std::uint64_t bytes) { add(bytes_written_, bytes); }

  [[nodiscard]] std::uint64_t requests(Operation operation) const {
    return requests_[index(operation)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t errors(Operation operation) const {
    return errors_[index(operation)].load(std::memory_order_relaxed);
  }
  /// All requests but those that come by themselves: the kernel forgets nodes when memory is short,
  /// and monitors ask every file system for its space.
  [[nodiscard]] std::uint64_t wanted_requests() const;
  [[nodiscard]] std::uint64_t arrivals(Transport by) const {
    return (by == Transport::kRing ? by_ring_ : by_device_).load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t bytes_read() const {
    return bytes_read_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t bytes_written() const {
    return bytes_written_.load(std::memory_order_relaxed);
  }

  /// A JSON object: {"process": PID, "bytes_read": N, "bytes_written": N, "reads_in_place": N,
  /// "requests_by_device": N, "requests_by_io_uring": N, "requests": {"lookup": N, ...}, "errors":
  /// {...}}.
  [[nodiscard]] std::string render() const;

 private:
  using Counter = std::atomic<std::uint64_t>;
  static std::size_t index(Operation operation) { return static_cast<std::size_t>(operation); }
  static void add(Counter& counter, std::uint64_t by) {
    counter.fetch_add(by, std::memory_order_relaxed);
  }

  std::array<Counter, kOperationCount> requests_{};
  std::array<Counter, kOperationCount> errors_{};
  Counter by_device_{0};
  Counter by_ring_{0};
  Counter bytes_read_{0};
  Counter bytes_written_{0};
  Counter reads_in_place_{0};
};

}  // namespace zarrfs
