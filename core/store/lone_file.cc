#include "core/store/lone_file.h"

#include <utility>

namespace zarrfs {
namespace {

class LoneFile final : public Store {
 public:
  LoneFile(std::shared_ptr<Store> directory, std::string file, std::string name)
      : directory_(std::move(directory)), file_(std::move(file)), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override {
    StoreTraits traits = directory_->traits();
    traits.lists = true;
    traits.watchable = false;
    return traits;
  }
  [[nodiscard]] bool shows_what_was_seen() const override {
    return directory_->shows_what_was_seen();
  }
  [[nodiscard]] std::string statistics() const override { return directory_->statistics(); }
  Result<struct statvfs> space() override { return directory_->space(); }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    if (!path.empty()) return std::nullopt;
    return directory_->status(file_);
  }
  Result<std::shared_ptr<File>> open(const std::string& path) override {
    return open_for(path, {});
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    if (!path.empty()) return nullptr;
    return directory_->open_for(file_, hint);
  }
  Result<std::optional<std::vector<Entry>>> list(const std::string& /*path*/) override {
    return std::nullopt;
  }

 private:
  const std::shared_ptr<Store> directory_;
  const std::string file_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Store> open_lone_file(std::shared_ptr<Store> directory, std::string file,
                                      std::string name) {
  return std::make_unique<LoneFile>(std::move(directory), std::move(file), std::move(name));
}

}  // namespace zarrfs
