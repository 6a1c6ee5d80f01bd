#include "fs/requests/reply.h"

#include <cerrno>

namespace zarrfs {
namespace {

const char* chars_of(ByteView bytes) { return reinterpret_cast<const char*>(bytes.data()); }

}  // namespace

Reply::~Reply() { error(EIO); }

void Reply::error(int error_number) {
  if (request_ == nullptr) return;
  if (error_number != 0) statistics_->count_error(operation_);
  fuse_reply_err(take(), error_number);
}

void Reply::none() {
  if (request_ != nullptr) fuse_reply_none(take());
}

bool Reply::entry(const fuse_entry_param& entry) {
  return request_ != nullptr && fuse_reply_entry(take(), &entry) == 0;
}

void Reply::attributes(const struct stat& status, double timeout) {
  if (request_ != nullptr) fuse_reply_attr(take(), &status, timeout);
}

bool Reply::opened(const fuse_file_info& info) {
  return request_ != nullptr && fuse_reply_open(take(), &info) == 0;
}

bool Reply::created(const fuse_entry_param& entry, const fuse_file_info& info) {
  return request_ != nullptr && fuse_reply_create(take(), &entry, &info) == 0;
}

void Reply::written(std::size_t size) {
  if (request_ == nullptr) return;
  statistics_->count_bytes_written(size);
  fuse_reply_write(take(), size);
}

void Reply::data(ByteView bytes) {
  if (request_ == nullptr) return;
  statistics_->count_bytes_read(bytes.size());
  fuse_reply_buf(take(), chars_of(bytes), bytes.size());
}

void Reply::data_in_place(ByteView bytes) {
  if (request_ != nullptr) statistics_->count_read_in_place();
  data(bytes);
}

bool Reply::buffer(ByteView bytes) {
  return request_ != nullptr && fuse_reply_buf(take(), chars_of(bytes), bytes.size()) == 0;
}

void Reply::link(const std::string& target) {
  if (request_ != nullptr) fuse_reply_readlink(take(), target.c_str());
}

void Reply::attribute_size(std::size_t size) {
  if (request_ != nullptr) fuse_reply_xattr(take(), size);
}

void Reply::space(const struct statvfs& space) {
  if (request_ != nullptr) fuse_reply_statfs(take(), &space);
}

}  // namespace zarrfs
