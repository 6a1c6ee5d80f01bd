#include "core/store/remote/upload_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "core/base/random_name.h"
#include "core/store/begun_files.h"
#include "core/store/local_file.h"
#include "core/store/remote/part_plan.h"
#include "core/store/remote/parts_use.h"
#include "core/store/remote/remote_objects.h"
#include "core/store/remote/remote_store.h"

namespace zarrfs {
namespace {

constexpr int kPutAttempts = 5;  // where others put the same object at the same moment
constexpr std::uint64_t kCompared = std::uint64_t{4} << 20U;

std::string folder_for_uploads() {
  const char* const told = std::getenv("TMPDIR");
  return told != nullptr && *told == '/' ? told : "/tmp";
}

class Uploads final : public UploadStore {
 public:
  Uploads(std::shared_ptr<RemoteObjects> objects, const std::string& name)
      : objects_(objects), server_(make_remote_store(std::move(objects), name)) {}

  [[nodiscard]] const std::string& name() const override { return server_->name(); }
  [[nodiscard]] StoreTraits traits() const override { return server_->traits(); }
  std::optional<std::string> why_read_only() override { return std::nullopt; }
  Result<std::optional<struct stat>> status(const std::string& path) override {
    return server_->status(path);
  }
  Result<std::shared_ptr<File>> open(const std::string& path) override {
    return server_->open(path);
  }
  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    return server_->list(path);
  }

  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t /*mode*/) override {
    return staged_.create(path, path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    ZARRFS_TRY(Fd file, staged_.take(from));
    return put(std::move(file), to);
  }
  Result<void> publish(const std::string& path) override {
    ZARRFS_TRY(Fd file, staged_.take(path));
    return put(std::move(file), path);
  }
  Result<bool> publish_first(const std::string& path) override {
    ZARRFS_TRY(Fd staged, staged_.take(path));
    ZARRFS_TRY(const auto file, complete_file(std::move(staged), path));
    return put_in_place_of(std::nullopt, file, path);
  }
  Result<void> remove(const std::string& path) override {
    if (staged_.take(path)) return {};
    ZARRFS_TRY(const auto info, objects_->status(path));
    return info ? objects_->writer().remove(path, *info) : Result<void>{};
  }
  /// There are none.
  Result<void> make_directory(const std::string& /*path*/, mode_t /*mode*/) override { return {}; }

  void replace_earlier() override { replaces_ = true; }
  Result<void> check_conditions() override { return objects_->writer().check_conditions(); }

 private:
  Result<void> put(Fd staged, const std::string& path) {
    ZARRFS_TRY(const auto file, complete_file(std::move(staged), path));
    for (int attempt = 1;; ++attempt) {
      std::optional<ObjectInfo> earlier;
      if (replaces_) {
        ZARRFS_TRY(earlier, objects_->status(path));
      }
      if (earlier && earlier->size == file->size()) {
        ZARRFS_TRY(const bool same, holds(path, *earlier, *file));
        if (same) return {};
      }
      ZARRFS_TRY(const bool made, put_in_place_of(earlier, file, path));
      if (made) return {};
      if (!replaces_ || attempt == kPutAttempts) return put_by_another(path);
    }
  }

  static Result<std::shared_ptr<File>> complete_file(Fd staged, const std::string& path) {
    struct stat status {};
    if (::fstat(staged.get(), &status) != 0) return fail(system_error(errno, path));
    return make_local_file(std::move(staged), status, path);
  }

  /// False where something else stands there.
  Result<bool> put_in_place_of(const std::optional<ObjectInfo>& earlier,
                               const std::shared_ptr<File>& file, const std::string& path) {
    const auto made = put_object(earlier, file, path);
    if (made) return true;
    if (made.error().fault != Fault::kStale) return fail(made.error());
    return false;
  }

  Result<ObjectInfo> put_object(const std::optional<ObjectInfo>& earlier,
                                const std::shared_ptr<File>& file, const std::string& path) {
    const ByteRange whole{0, file->size()};
    const std::string note = random_digits();
    if (whole.length > kSentAsOne && parts_.usable(*objects_)) {
      const auto parts = plan_parts(whole.length, {whole});
      const ObjectWriter::UploadWatch nobody{[](const std::string&) { return Result<void>{}; },
                                             [] {}};
      auto done = objects_->writer().put_parts(path, parts, file, earlier, note, nobody);
      if (done || done.error().fault != Fault::kUnsupported) return done;
      parts_.refuse(done.error());
    }
    ZARRFS_TRY(const auto body, RequestBody::of_file(file, whole));
    return objects_->writer().put(path, body, earlier, note);
  }

  [[nodiscard]] tl::unexpected<Error> put_by_another(const std::string& path) const {
    return fail(Fault::kExists, objects_->url_of(path) + " was put by another program meanwhile");
  }

  /// Whether the object, of the same size, has the bytes of `file`. False where another takes its
  /// place meanwhile: what is put for this one then is refused, and the next one is looked at.
  Result<bool> holds(const std::string& path, const ObjectInfo& info, const File& file) {
    Bytes there;
    for (std::uint64_t at = 0; at < info.size; at += kCompared) {
      const ByteRange range{at, std::min(kCompared, info.size - at)};
      ZARRFS_TRY(const Bytes here, file.read_range(range));
      there.resize(range.length);
      const auto read = objects_->read(path, info, at, there);
      if (!read && read.error().fault != Fault::kStale) return fail(read.error());
      if (!read || here != there) return false;
    }
    return true;
  }

  const std::shared_ptr<RemoteObjects> objects_;
  const std::unique_ptr<Store> server_;
  PartsUse parts_;
  std::atomic<bool> replaces_{false};
  BegunFiles staged_{folder_for_uploads()};
};

}  // namespace

Result<std::shared_ptr<UploadStore>> open_upload_store(const std::string& url,
                                                       const RemoteOptions& options) {
  ZARRFS_TRY(const Url parsed, parse_url(url));
  RemoteOptions writing = options;
  writing.write = true;
  ZARRFS_TRY(auto objects, RemoteObjects::open(parsed, writing));
  if (!objects->client().writes()) {
    return fail(Fault::kReadOnly, parsed.text() + ": this kind of store is only read");
  }
  return std::make_shared<Uploads>(std::move(objects), parsed.text());
}

}  // namespace zarrfs
