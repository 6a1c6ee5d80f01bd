// The store that a conversion writes into. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/base/fd.h"
#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/store/put_store.h"
#include "core/store/store.h"

namespace zarrfs::tools {

class Target {
 public:
  /// `links_from`: the local path of the source where files that stay as they are may be hard links
  /// to it (the source is going to be replaced); nothing where they are copied.
  Target(std::shared_ptr<Store> store, std::string local_path,
         std::optional<std::string> links_from);

  /// A store at a server, or an archive: what is put there stays, and whoever made the store makes
  /// it durable.
  explicit Target(std::shared_ptr<PutStore> puts);

  /// From now on other machines write here, too: no name is given to what is not whole and durable,
  /// and no temporary name is that of another process.
  void share() { shared_ = true; }
  [[nodiscard]] bool shared() const { return shared_; }

  [[nodiscard]] Store& store() const { return *store_; }
  [[nodiscard]] std::shared_ptr<Store> shared_store() const { return store_; }
  [[nodiscard]] const std::string& local_path() const { return local_path_; }

  /// Makes `path` and the directories that lead to it where they are missing.
  Result<void> make_directories(const std::string& path);
  /// A new file at `path`, in place of what an interrupted run may have left there.
  Result<std::unique_ptr<NewFile>> create(const std::string& path);
  /// Copies (or links) one file; both stores know it by `path`. Returns its bytes; nothing where
  /// there is none.
  Result<std::optional<std::uint64_t>> copy_file(Store& from, const std::string& path);
  /// Writes a small file whole: a new one takes its name at once.
  Result<void> write_document(const std::string& path, const std::string& text);
  /// The name under which what is going to be `path` is written.
  [[nodiscard]] std::string temporary_for(const std::string& path) const;
  /// `file`, of `size` bytes, written under the name `temporary`, is complete and gets its own.
  Result<void> name(NewFile& file, std::uint64_t size, const std::string& temporary,
                    const std::string& path);
  /// `file` is complete: the disk may begin with it, so that sync() has less to wait for. Small
  /// files are left to sync(), which writes many of them at once.
  void complete(NewFile& file, std::uint64_t size) const;
  /// Everything written so far is durable when it returns; an Error also where writing any of it to
  /// the disk failed earlier.
  Result<void> sync();

 private:
  friend class PieceFiles;

  std::shared_ptr<Store> store_;
  std::shared_ptr<PutStore> puts_;  // the same store, where whole files are put
  std::string local_path_;
  std::optional<std::string> links_from_;
  Fd root_;  // opened before anything is written, so that syncfs(2) tells of all failures since
  int root_errno_ = 0;
  bool shared_ = false;
  TableMutex mutex_;
  std::set<std::string> directories_;  // known to be there
};

/// The files of one piece that consists of many. They have their names from the start where this
/// process alone writes, and all at once, when they are durable, where others do, too. What has no
/// name in the end is removed. One thread at a time.
class PieceFiles {
 public:
  explicit PieceFiles(Target& target) : target_(target) {}
  ~PieceFiles();
  PieceFiles(const PieceFiles&) = delete;
  PieceFiles& operator=(const PieceFiles&) = delete;

  Result<std::unique_ptr<NewFile>> create(const std::string& path);
  /// What was created as `path`, of `size` bytes, is complete.
  Result<void> complete(const std::string& path, NewFile& file, std::uint64_t size);
  Result<void> finish();

 private:
  [[nodiscard]] bool named_late() const { return target_.shared_ && target_.puts_ == nullptr; }

  Target& target_;
  std::map<std::string, std::string> temporary_;  ///< By path: what has no name yet.
};

/// The name beside `path` under which its successor is written.
std::string temporary_beside(const std::string& path);

/// Whether the two files hold the same bytes.
Result<bool> same_bytes(const File& a, ByteRange range_a, const File& b, ByteRange range_b);

}  // namespace zarrfs::tools
