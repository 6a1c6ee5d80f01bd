// One version of an object at a server, as a file.
#pragma once

#include <memory>
#include <string>

#include "core/store/remote/remote_objects.h"

namespace zarrfs {

class RemoteFile final : public File {
 public:
  RemoteFile(std::shared_ptr<RemoteObjects> objects, std::string key, RemoteObjects::Seen seen)
      : objects_(std::move(objects)),
        key_(std::move(key)),
        info_(std::move(seen.info)),
        outdated_(seen.before),
        status_(objects_->status_of(key_, info_)) {}

  [[nodiscard]] std::string name() const override { return objects_->url_of(key_); }
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    const std::uint64_t begin = std::min(offset, info_.size);
    const std::uint64_t length = std::min<std::uint64_t>(out.size(), info_.size - begin);
    ZARRFS_CHECK(objects_->read(key_, info_, begin, out.first(static_cast<std::size_t>(length))));
    return static_cast<std::size_t>(length);
  }
  [[nodiscard]] std::string version_tag() const override { return info_.version.tag; }
  [[nodiscard]] bool may_be_outdated() const override { return outdated_; }
  void fetch(ByteRange range) const override { objects_->fetch(key_, info_, range); }

  [[nodiscard]] std::string path() const override { return key_; }

 private:
  const std::shared_ptr<RemoteObjects> objects_;
  const std::string key_;
  const ObjectInfo info_;
  const bool outdated_;
  const struct stat status_;
};

}  // namespace zarrfs
