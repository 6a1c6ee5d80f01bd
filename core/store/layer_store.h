// What a store that lies over another one has from it: everything that it does not do otherwise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/store/store.h"

namespace zarrfs {

/// Hands every question on to the store below.
class LayerStore : public Store {
 public:
  explicit LayerStore(std::shared_ptr<Store> below) : below_(std::move(below)) {}

  [[nodiscard]] const std::string& name() const override { return below_->name(); }
  [[nodiscard]] StoreTraits traits() const override { return below_->traits(); }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    return below_->status(path);
  }
  Result<std::shared_ptr<File>> open(const std::string& path) override {
    return open_for(path, {});
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    return below_->open_for(path, hint);
  }
  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    return below_->list(path);
  }
  Result<struct statvfs> space() override { return below_->space(); }

  void expect(std::span<const std::string> paths, const OpenHint& hint) override {
    below_->expect(paths, hint);
  }
  void open_ahead(std::span<const std::string> paths, const OpenHint& hint) override {
    below_->open_ahead(paths, hint);
  }
  [[nodiscard]] std::uint64_t room_ahead() const override { return below_->room_ahead(); }
  Result<void> list_below(const std::string& path, const std::string& needed) override {
    return below_->list_below(path, needed);
  }
  [[nodiscard]] bool shows_what_was_seen() const override { return below_->shows_what_was_seen(); }
  [[nodiscard]] std::string statistics() const override { return below_->statistics(); }

  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    return below_->create(path, mode);
  }
  Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                         mode_t mode) override {
    return below_->clone(from, path, mode);
  }
  Result<std::unique_ptr<NewFile>> reopen(const std::string& path) override {
    return below_->reopen(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return below_->rename(from, to);
  }
  Result<void> remove(const std::string& path) override { return below_->remove(path); }
  Result<void> make_directory(const std::string& path, mode_t mode) override {
    return below_->make_directory(path, mode);
  }
  Result<void> remove_directory(const std::string& path) override {
    return below_->remove_directory(path);
  }
  Result<void> sync_directory(const std::string& path) override {
    return below_->sync_directory(path);
  }
  Result<Fd> open_plain(const std::string& path, int flags, mode_t mode) override {
    return below_->open_plain(path, flags, mode);
  }
  std::optional<std::string> why_read_only() override { return below_->why_read_only(); }
  Result<void> check_changeable(const std::string& path) override {
    return below_->check_changeable(path);
  }
  [[nodiscard]] std::string format_of(const std::string& path) const override {
    return below_->format_of(path);
  }
  ConditionalWriter* conditional_writer() override { return below_->conditional_writer(); }
  StoreUsers* users() override { return below_->users(); }
  StoreLinks* links() override { return below_->links(); }
  ChunksElsewhere* chunks_elsewhere() override { return below_->chunks_elsewhere(); }

 protected:
  [[nodiscard]] Store& below() const { return *below_; }
  [[nodiscard]] const std::shared_ptr<Store>& shared_below() const { return below_; }

 private:
  const std::shared_ptr<Store> below_;
};

}  // namespace zarrfs
