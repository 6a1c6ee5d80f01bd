// Opened directories: documents, then other names of the store, then chunks. A position says which
// of these comes next; positions of chunks are theirs for as long as the array's metadata does not
// change. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/lock_order.h"
#include "core/names/namespace.h"

namespace zarrfs {

class DirectoryListing : public OpenDirectory {
 public:
  DirectoryListing(ViewParts& parts, Namespace& names, Documents& documents, Directory directory)
      : parts_(parts),
        names_(names),
        documents_(documents),
        directory_(std::move(directory)),
        state_(*directory_.state) {}

  /// Where it has a serial and no names it lists itself, as ".": a kernel that keeps a listing with
  /// nothing in it never drops it again.
  Result<void> list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink) override;
  std::optional<std::uint64_t> serial() override;
  /// All but chunks and directories of chunks.
  Result<void> list_names_only(const std::function<bool(const Listed&)>& sink);

 private:
  using Sink = std::function<bool(const Listed&)>;
  using Names = std::shared_ptr<const std::vector<Entry>>;

  Result<void> list_all(std::uint64_t offset, const Sink& sink);
  /// False: the sink has had enough.
  bool list_documents(std::uint64_t offset, const Sink& sink) const;
  Result<bool> list_names(std::uint64_t offset, const Sink& sink);
  Result<void> list_parts(std::uint64_t offset, const Sink& sink) const;
  /// The names of the store's directory as they were when this listing started, sorted.
  Result<Names> names(bool afresh);
  [[nodiscard]] std::string stored_directory() const;
  /// Whether the array is what it was taken for, and nothing is listed that is told by more than
  /// its name and those of chunks.
  bool is_sound();
  /// Adds what programs are making: temporary files, chunks and documents that are not closed yet,
  /// directories of chunks that are still empty.
  void add_written(std::vector<Entry>& entries) const;
  Result<void> add_early(std::vector<Entry>& entries) const;
  /// Names of chunks that are not stored yet, in order.
  [[nodiscard]] std::vector<std::string> chunks_being_made() const;
  [[nodiscard]] std::vector<std::string> chunks_listed() const {
    const std::lock_guard lock(mutex_);
    return chunks_listed_;
  }
  [[nodiscard]] std::string name_of_chunk(const Coordinates& chunk) const;
  [[nodiscard]] std::vector<std::string> made_and_empty() const;
  Result<mode_t> type_of(const Entry& entry) const;

  ViewParts& parts_;
  Namespace& names_;
  Documents& documents_;
  const Directory directory_;
  const NodeState& state_;
  bool has_serial_ = false;  ///< Set before it lists.
  mutable TableMutex mutex_;
  Names names_listed_;
  std::vector<std::string> chunks_listed_;  ///< Of those names; they may be stored meanwhile.
};

/// `.zarrfs`.
class ControlListing : public OpenDirectory {
 public:
  Result<void> list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink) override {
    ControlFiles::list(offset, sink);
    return {};
  }
};

}  // namespace zarrfs
