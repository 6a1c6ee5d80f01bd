#include "tools/convert/parts_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/base/random_name.h"
#include "core/store/open_store.h"
#include "core/store/remote/upload_store.h"
#include "tools/convert/convert_place.h"
#include "tools/shared/console.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

namespace fs = std::filesystem;

ByteView bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

bool all_own(const std::vector<Entry>& entries) {
  return std::all_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return is_own_name(entry.name); });
}

bool stays(std::string_view name) { return name == kConversionMarker || name == kFinishedNote; }

class LocalParts final : public PartsPlace {
 public:
  LocalParts(std::shared_ptr<Store> store, const std::string& path)
      : path_(path), target_(std::move(store), path, std::nullopt) {
    target_.share();
  }

  Result<std::optional<std::string>> read(const std::string& name) override {
    ZARRFS_TRY(auto document, target_.store().read_document(name, kLargestMarker));
    if (!document) return std::nullopt;
    return std::move(document->text);
  }

  Result<bool> put_first(const std::string& name, std::string_view text) override {
    ZARRFS_TRY(const std::string temporary, write_temporary(name, text));
    const std::string from = path_ + "/" + temporary;
    const std::string to = path_ + "/" + name;
    bool made = ::link(from.c_str(), to.c_str()) == 0;
    const bool without_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
    if (!made && without_links) {
      made = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
    }
    const int reason = errno;
    ZARRFS_CHECK(target_.store().remove(temporary));
    if (!made && reason != EEXIST) return fail(system_error(reason, to));
    ZARRFS_CHECK(target_.store().sync_directory(""));
    return made;
  }

  Result<void> put(const std::string& name, std::string_view text) override {
    ZARRFS_TRY(const std::string temporary, write_temporary(name, text));
    return target_.store().rename(temporary, name);
  }

  Result<void> remove(const std::string& name) override {
    ZARRFS_CHECK(target_.store().remove(name));
    return target_.store().sync_directory("");
  }

  Result<bool> has(const std::string& name) override {
    ZARRFS_TRY(const auto status, target_.store().status(name));
    return status.has_value();
  }

  Result<bool> prepare() override {
    ZARRFS_TRY(const auto entries, target_.store().list(""));
    return !entries || all_own(*entries);
  }

  Result<void> remove_temporary() override { return remove_temporary_below(path_); }

  [[nodiscard]] Target& target() override { return target_; }
  [[nodiscard]] const std::string& name() const override { return path_; }

 private:
  Result<std::string> write_temporary(const std::string& name, std::string_view text) {
    const std::string temporary = target_.temporary_for(name);
    ZARRFS_TRY(const auto file, target_.create(temporary));
    auto written = file->write_at(0, bytes_of(text));
    if (written) written = file->sync();
    if (written) return temporary;
    static_cast<void>(target_.store().remove(temporary));
    return fail(written.error());
  }

  static Result<void> remove_temporary_below(const std::string& root) {
    std::error_code error;
    const auto end = fs::recursive_directory_iterator();
    for (auto at = fs::recursive_directory_iterator(root, error); !error && at != end;
         at.increment(error)) {
      if (interrupted()) return fail(interruption());
      const std::string name = at->path().filename().string();
      if (!name.starts_with(".zarrfs") || stays(name)) continue;
      if (::unlink(at->path().c_str()) != 0 && errno != ENOENT) {
        return fail(system_error(errno, at->path().string()));
      }
    }
    if (error) return fail(system_error(error.value(), root));
    return {};
  }

  std::string path_;
  Target target_;
};

class RemoteParts final : public PartsPlace {
 public:
  explicit RemoteParts(std::shared_ptr<UploadStore> store)
      : store_(std::move(store)), target_(store_) {
    target_.share();
    store_->replace_earlier();
  }

  Result<std::optional<std::string>> read(const std::string& name) override {
    ZARRFS_TRY(auto document, store_->read_document(name, kLargestMarker));
    if (!document) return std::nullopt;
    return std::move(document->text);
  }

  Result<bool> put_first(const std::string& name, std::string_view text) override {
    ZARRFS_CHECK(stage(name, text));
    return store_->publish_first(name);
  }

  Result<void> put(const std::string& name, std::string_view text) override {
    ZARRFS_CHECK(stage(name, text));
    return store_->publish(name);
  }

  Result<void> remove(const std::string& name) override { return store_->remove(name); }

  Result<bool> has(const std::string& name) override {
    ZARRFS_TRY(const auto status, store_->status(name));
    return status.has_value();
  }

  Result<bool> prepare() override {
    ZARRFS_TRY(const auto entries, store_->list(""));
    if (entries && !all_own(*entries)) return false;
    ZARRFS_CHECK(store_->check_conditions());
    return true;
  }

  // Objects are put whole: under the root there are the marker and the notes of the parts alone.
  Result<void> remove_temporary() override {
    ZARRFS_TRY(const auto entries, store_->list(""));
    if (!entries) return {};
    for (const Entry& entry : *entries) {
      if (stays(entry.name) || !is_own_name(entry.name)) continue;
      ZARRFS_CHECK(store_->remove(entry.name));
    }
    return {};
  }

  [[nodiscard]] Target& target() override { return target_; }
  [[nodiscard]] const std::string& name() const override { return store_->name(); }

 private:
  Result<void> stage(const std::string& name, std::string_view text) {
    ZARRFS_TRY(const auto file, store_->create(name, 0));
    return file->write_at(0, bytes_of(text));
  }

  std::shared_ptr<UploadStore> store_;
  Target target_;
};

}  // namespace

Result<std::unique_ptr<PartsPlace>> open_local_parts(const std::string& path, bool create) {
  if (create) ZARRFS_CHECK(make_target_directory(path));
  ZARRFS_TRY(std::shared_ptr<Store> store, open_store(path, LinkPolicy::kInside));
  return std::make_unique<LocalParts>(std::move(store), path);
}

Result<std::unique_ptr<PartsPlace>> open_remote_parts(const std::string& url,
                                                      const std::string& options) {
  RemoteOptions remote;
  ZARRFS_CHECK(apply_remote_options(remote, options));
  ZARRFS_TRY(auto store, open_upload_store(url, remote));
  return std::make_unique<RemoteParts>(std::move(store));
}

}  // namespace zarrfs::tools
