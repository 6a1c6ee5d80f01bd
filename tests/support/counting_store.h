// A store around another one that counts what is asked of it, and fails where a test says so.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/store/layer_store.h"

namespace zarrfs {

enum class StoreCall {
  kStatus,
  kOpen,
  kReadAt,
  kList,
  kCreate,
  kReopen,
  kRename,
  kRemove,
  kMakeDirectory,
  kRemoveDirectory,
  kSyncDirectory,
  kOpenPlain,
};

/// What was counted; shared with the files that the store has opened. Thread-safe.
class StoreCalls {
 public:
  [[nodiscard]] int count(StoreCall call) const { return counts_[static_cast<std::size_t>(call)]; }
  /// Of all kinds.
  [[nodiscard]] int all() const { return std::accumulate(counts_.begin(), counts_.end(), 0); }
  void reset() {
    for (auto& count : counts_) count = 0;
  }
  /// From now on, the `number`-th call (from 1) of this kind fails with `error_number`, once.
  void fail_once(StoreCall call, int number, int error_number) {
    const std::lock_guard lock(mutex_);
    failures_[{call, counts_[static_cast<std::size_t>(call)] + number}] = error_number;
  }
  /// What another thread does just before the next call of this kind, once.
  void meanwhile(StoreCall call, std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    meanwhile_[call] = std::move(act);
  }
  Result<void> enter(StoreCall call, const std::string& name) {
    const int number = ++counts_[static_cast<std::size_t>(call)];
    if (const auto act = take_meanwhile(call)) std::thread(act).join();
    const std::lock_guard lock(mutex_);
    const auto found = failures_.find({call, number});
    if (found == failures_.end()) return {};
    const int error_number = found->second;
    failures_.erase(found);
    return fail(system_error(error_number, name + ": a fault of the test"));
  }

 private:
  std::function<void()> take_meanwhile(StoreCall call) {
    const std::lock_guard lock(mutex_);
    const auto found = meanwhile_.find(call);
    if (found == meanwhile_.end()) return nullptr;
    std::function<void()> act = std::move(found->second);
    meanwhile_.erase(found);
    return act;
  }
  std::array<std::atomic<int>, 12> counts_{};
  std::mutex mutex_;
  std::map<std::pair<StoreCall, int>, int> failures_;
  std::map<StoreCall, std::function<void()>> meanwhile_;
};

class CountingFile final : public File {
 public:
  CountingFile(std::shared_ptr<File> file, std::shared_ptr<StoreCalls> calls)
      : file_(std::move(file)), calls_(std::move(calls)) {}
  [[nodiscard]] std::string name() const override { return file_->name(); }
  [[nodiscard]] const struct stat& status() const override { return file_->status(); }
  [[nodiscard]] Result<struct stat> current_status() const override {
    return file_->current_status();
  }
  [[nodiscard]] std::optional<FilePlace> place() const override { return file_->place(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kReadAt, name()));
    return file_->read_at(offset, out);
  }

 private:
  std::shared_ptr<File> file_;
  std::shared_ptr<StoreCalls> calls_;
};

class CountingStore final : public LayerStore {
 public:
  explicit CountingStore(std::shared_ptr<Store> store)
      : LayerStore(std::move(store)), calls_(std::make_shared<StoreCalls>()) {}
  [[nodiscard]] StoreCalls& calls() const { return *calls_; }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kStatus, path));
    return below().status(path);
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kOpen, path));
    ZARRFS_TRY(std::shared_ptr<File> file, below().open_for(path, hint));
    if (!file) return nullptr;
    return std::make_shared<CountingFile>(std::move(file), calls_);
  }
  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kList, path));
    return below().list(path);
  }
  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kCreate, path));
    return below().create(path, mode);
  }
  Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                         mode_t mode) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kCreate, path));
    return below().clone(from, path, mode);
  }
  Result<std::unique_ptr<NewFile>> reopen(const std::string& path) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kReopen, path));
    return below().reopen(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kRename, from));
    return below().rename(from, to);
  }
  Result<void> remove(const std::string& path) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kRemove, path));
    return below().remove(path);
  }
  Result<void> make_directory(const std::string& path, mode_t mode) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kMakeDirectory, path));
    return below().make_directory(path, mode);
  }
  Result<void> remove_directory(const std::string& path) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kRemoveDirectory, path));
    return below().remove_directory(path);
  }
  Result<void> sync_directory(const std::string& path) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kSyncDirectory, path));
    return below().sync_directory(path);
  }
  Result<Fd> open_plain(const std::string& path, int flags, mode_t mode) override {
    ZARRFS_CHECK(calls_->enter(StoreCall::kOpenPlain, path));
    return below().open_plain(path, flags, mode);
  }

 private:
  std::shared_ptr<StoreCalls> calls_;
};

}  // namespace zarrfs
