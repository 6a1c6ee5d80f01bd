// An opened directory of a view: documents, then other names of the store, then chunks. A position
// says which of these comes next; positions of chunks are theirs for as long as the array's
// metadata does not change. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/chunks/chunk_names.h"
#include "core/vfs/store_view.h"

namespace zarrfs {

class ViewDirectory : public OpenDirectory {
 public:
  /// `.zarrfs`.
  explicit ViewDirectory(StoreView& view) : view_(view) {}
  /// A directory of the store.
  ViewDirectory(StoreView& view, StatePtr state) : view_(view), state_(std::move(state)) {}
  /// A prefix directory of an array.
  ViewDirectory(StoreView& view, StatePtr state, Coordinates prefix)
      : view_(view), state_(std::move(state)), prefix_(std::move(prefix)) {}

  Result<void> list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink) override;
  /// All but chunks and directories of chunks.
  Result<void> list_names_only(const std::function<bool(const Listed&)>& sink);

 private:
  using Sink = std::function<bool(const Listed&)>;
  using Names = std::shared_ptr<const std::vector<Entry>>;

  Result<void> list_own(std::uint64_t offset, const Sink& sink) const;
  /// False: the sink has had enough.
  bool list_documents(std::uint64_t offset, const Sink& sink) const;
  Result<bool> list_names(std::uint64_t offset, const Sink& sink);
  Result<void> list_parts(std::uint64_t offset, const Sink& sink) const;
  /// The names of the store's directory as they were when this listing started, sorted.
  Result<Names> names(bool afresh);
  /// Adds scratch files, and directories of chunks that were made and are still empty.
  void add_written(std::vector<Entry>& entries) const;
  Result<mode_t> type_of(const Entry& entry) const;

  StoreView& view_;
  const StatePtr state_;
  const std::optional<Coordinates> prefix_;
  std::mutex mutex_;
  Names names_;
};

}  // namespace zarrfs
