// The answer to one request of the kernel. libfuse frees a request with its first answer, even one
// that could not be delivered; a second answer would touch freed memory. A Reply can answer only
// once, and answers EIO when nobody did. Used by one thread.
#pragma once

#include <utility>

#include "core/base/bytes.h"
#include "fs/requests/fuse.h"
#include "fs/requests/statistics.h"

namespace zarrfs {

class Reply {
 public:
  Reply(fuse_req_t request, Operation operation, Statistics& statistics)
      : request_(request), operation_(operation), statistics_(&statistics) {
    statistics_->count_request(operation);
  }
  Reply(Reply&& other) noexcept
      : request_(std::exchange(other.request_, nullptr)),
        operation_(other.operation_),
        statistics_(other.statistics_) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  Reply& operator=(Reply&&) = delete;
  ~Reply();

  [[nodiscard]] Operation operation() const { return operation_; }
  /// The request, for libfuse's helpers that lay out directory entries. Null once answered.
  [[nodiscard]] fuse_req_t request() const { return request_; }

  // Each answers the request if it has no answer yet. Those that hand something to the kernel tell
  // whether it arrived: where it did not, the kernel will never give it back.

  void error(int error_number);
  void none();
  bool entry(const fuse_entry_param& entry);
  void attributes(const struct stat& status, double timeout);
  bool opened(const fuse_file_info& info);
  bool created(const fuse_entry_param& entry, const fuse_file_info& info);
  void written(std::size_t size);
  /// File contents.
  void data(ByteView bytes);
  /// The same, from a file of the store.
  void data_in_place(ByteView bytes);
  /// Anything else that is bytes: directory entries, attribute values.
  bool buffer(ByteView bytes);
  /// Where a symbolic link leads.
  void link(const std::string& target);
  void attribute_size(std::size_t size);
  void space(const struct statvfs& space);

 private:
  fuse_req_t take() { return std::exchange(request_, nullptr); }

  fuse_req_t request_;
  Operation operation_;
  Statistics* statistics_;
};

}  // namespace zarrfs
