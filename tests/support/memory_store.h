// A store in memory that knows what a power cut would leave: each file's synced contents plus any
// subset of the changes made since, each directory's synced names plus any subset of the changes
// since (a rename within a directory is one change). Also fails calls on demand. For tests of the
// write path. Thread-safe.
//
// Writes through a plain descriptor are taken over at the next look; syncing one has no effect.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/store/store.h"

namespace zarrfs::testing {

struct MemoryInode {
  bool directory = false;
  std::uint64_t number = 0;
  std::uint64_t version = 0;  // becomes st_mtime and st_ctime
  std::uint64_t moved = 0;    // added to st_ctime
  Bytes bytes;
  Bytes durable_bytes;
  Fd descriptor;  // holds the bytes too, once somebody asked for one; of a directory: its lock's
  std::vector<std::function<void(Bytes&)>> unsynced;
  using Entries = std::map<std::string, std::shared_ptr<MemoryInode>>;
  Entries entries;
  Entries durable_entries;
  std::vector<std::function<void(Entries&)>> unsynced_entries;
};

class MemoryStore final : public Store {
 public:
  MemoryStore();

  /// Asked before each changing call (with its name, "write", "sync", "rename", ... and the path):
  /// an errno to fail with, or 0.
  std::function<int(const std::string& call, const std::string& path)> fault;
  /// Called after each changing call that succeeded.
  std::function<void(const std::string& call, const std::string& path)> after;
  /// Called before a file is opened for reading.
  std::function<void(const std::string& path)> opening;
  /// Mutants: syncs that only pretend.
  bool pretend_file_sync = false;
  bool pretend_directory_sync = false;
  /// Whether it is a storage that shares blocks between files.
  bool has_clones = false;
  /// Mutant: copied ranges are zeros.
  bool pretend_copy = false;

  /// Number of independent changes that a power cut may or may not keep.
  [[nodiscard]] std::size_t unsynced_changes() const;
  /// The store after a power cut that kept change i where `kept(i)`.
  [[nodiscard]] std::shared_ptr<MemoryStore> after_power_cut(
      const std::function<bool(std::size_t)>& kept) const;
  /// The store as a new process finds it after the death of this one: everything kept.
  [[nodiscard]] std::shared_ptr<MemoryStore> after_kill() const;

  /// All paths of files, for looking for what was left behind.
  [[nodiscard]] std::set<std::string> files() const;
  void write_file(const std::string& path, const std::string& text);
  /// Replaces a file by one of the same inode number and mtime, as a program may that sets these.
  void unpack_over(const std::string& path, const Bytes& bytes);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override { return {}; }
  Result<std::optional<struct stat>> status(const std::string& path) override;
  Result<std::shared_ptr<File>> open(const std::string& path) override;
  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override;
  Result<struct statvfs> space() override;
  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override;
  Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                         mode_t mode) override;
  Result<std::unique_ptr<NewFile>> reopen(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_directory(const std::string& path, mode_t mode) override;
  Result<void> remove_directory(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<Fd> open_plain(const std::string& path, int flags, mode_t mode) override;
  std::optional<std::string> why_read_only() override { return std::nullopt; }

 private:
  friend class MemoryNewFile;
  /// What is left of each inode.
  struct Survival {
    std::function<Bytes(const MemoryInode&)> bytes;
    std::function<MemoryInode::Entries(const MemoryInode&)> entries;
  };
  [[nodiscard]] std::shared_ptr<MemoryStore> copy_of(const Survival& survival) const;
  using Pointer = std::shared_ptr<MemoryInode>;
  /// What stands at `path`, with what was written to it through a descriptor; null: nothing.
  [[nodiscard]] Pointer find(const std::string& path) const;
  Result<void> change(const std::string& call, const std::string& path,
                      const std::function<Result<void>()>& act);
  void change_entries(const Pointer& directory, std::function<void(MemoryInode::Entries&)> act);
  Pointer new_inode(bool directory);
  Result<Pointer> plain_file(const std::string& path, int flags);

  std::string name_ = "memory";
  mutable std::recursive_mutex mutex_;
  std::uint64_t next_number_ = 1;
  std::uint64_t clock_ = 1;
  Pointer root_;
};

}  // namespace zarrfs::testing
