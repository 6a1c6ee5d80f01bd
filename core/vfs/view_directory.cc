#include "core/vfs/view_directory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/chunks/chunk_lister.h"

namespace zarrfs {

namespace {
// Offsets: documents from 0, names of the store from kFirstName, chunks from kFirstPart.
constexpr std::uint64_t kFirstName = std::uint64_t{1} << 16U;
constexpr std::uint64_t kFirstPart = std::uint64_t{1} << 40U;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
}  // namespace

Result<void> ViewDirectory::list(std::uint64_t offset, const Sink& sink) {
  if (state_ == nullptr) return list_own(offset, sink);
  if (!prefix_ && offset < kFirstName && !list_documents(offset, sink)) return {};
  if (offset < kFirstPart) {
    ZARRFS_TRY(const bool more, list_names(offset, sink));
    if (!more) return {};
  }
  if (state_->kind != NodeState::Kind::kArray) return {};
  return view_.reported(list_parts(offset, sink));
}

Result<void> ViewDirectory::list_names_only(const Sink& sink) {
  if (!prefix_ && !list_documents(0, sink)) return {};
  ZARRFS_TRY(const bool more, list_names(0, sink));
  static_cast<void>(more);
  return {};
}

Result<void> ViewDirectory::list_own(std::uint64_t offset, const Sink& sink) const {
  static constexpr std::array<const char*, 2> kNames = {kReportName, kStatisticsName};
  for (std::uint64_t at = offset; at < kNames.size(); ++at) {
    const std::string path = join_path(kOwnFolder, kNames.at(at));
    if (!sink({kNames.at(at), S_IFREG, inode_of(path), at + 1})) return {};
  }
  return {};
}

bool ViewDirectory::list_documents(std::uint64_t offset, const Sink& sink) const {
  const std::vector<std::string> names = view_.document_names(*state_);
  for (std::uint64_t at = offset; at < names.size(); ++at) {
    const std::uint64_t inode = inode_of(join_path(state_->path, names[at]));
    const std::uint64_t next = at + 1 < names.size() ? at + 1 : kFirstName;
    if (!sink({names[at], S_IFREG, inode, next})) return false;
  }
  return true;
}

Result<ViewDirectory::Names> ViewDirectory::names(bool afresh) {
  {
    const std::lock_guard lock(mutex_);
    if (names_ != nullptr && !afresh) return names_;
  }
  std::vector<Entry> kept;
  if (prefix_ && view_.writable()) {
    const std::string path = part_path(state_->shown, NamedPart{true, *prefix_});
    ZARRFS_TRY(auto entries, view_.shared_.store->list(path_aside(state_->path, path)));
    if (entries) kept = std::move(*entries);
    std::erase_if(kept, [](const Entry& entry) {
      return entry.kind != EntryKind::kFile || looks_like_chunk(entry.name);
    });
  } else if (!prefix_) {
    ZARRFS_TRY(auto entries, view_.shared_.store->list(state_->path));
    if (entries) kept = std::move(*entries);
    const std::vector<std::string> documents = view_.document_names(*state_);
    std::erase_if(kept, [&](const Entry& entry) {
      return contains(documents, entry.name) || view_.is_concealed(*state_, entry.name);
    });
  }
  add_written(kept);
  std::sort(kept.begin(), kept.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  auto names = std::make_shared<const std::vector<Entry>>(std::move(kept));
  const std::lock_guard lock(mutex_);
  names_ = names;
  return names;
}

void ViewDirectory::add_written(std::vector<Entry>& entries) const {
  if (!view_.writable()) return;
  const std::string path =
      prefix_ ? part_path(state_->shown, NamedPart{true, *prefix_}) : state_->path;
  const auto is_new = [&entries](const std::string& name) {
    return std::none_of(entries.begin(), entries.end(),
                        [&name](const Entry& entry) { return entry.name == name; });
  };
  for (std::string& name : view_.works_.scratch_in(path)) {
    if (is_new(name)) entries.push_back({std::move(name), EntryKind::kFile});
  }
  if (state_->kind != NodeState::Kind::kArray) return;
  for (std::string& name : view_.made_in(*state_, prefix_)) {
    entries.push_back({std::move(name), EntryKind::kDirectory});
  }
}

Result<bool> ViewDirectory::list_names(std::uint64_t offset, const Sink& sink) {
  ZARRFS_TRY(const Names all, names(offset < kFirstName));
  const std::uint64_t first = offset < kFirstName ? 0 : offset - kFirstName;
  for (std::uint64_t at = first; at < all->size(); ++at) {
    const Entry& entry = (*all)[at];
    const auto type = type_of(entry);
    // What cannot be looked into is listed all the same: its readers get the error.
    if (type && *type == 0) continue;
    const std::uint64_t inode = inode_of(join_path(state_->path, entry.name));
    const std::string shown = state_->levels.shown(entry.name);
    if (!sink({shown, type.value_or(S_IFDIR), inode, kFirstName + at + 1})) return false;
  }
  return true;
}

/// 0 for what is not shown.
Result<mode_t> ViewDirectory::type_of(const Entry& entry) const {
  if (entry.kind == EntryKind::kFile) return mode_t{S_IFREG};
  if (prefix_ || view_.session_.has_chunk_directory(join_path(state_->path, entry.name)))
    return mode_t{S_IFDIR};
  const std::string path = join_path(state_->path, entry.name);
  if (entry.kind == EntryKind::kOther) {
    const auto status = view_.shared_.store->status(path);
    if (!status) return mode_t{S_IFREG};
    if (!*status) return mode_t{0};
    if (!S_ISDIR((*status)->st_mode)) return mode_t{(*status)->st_mode & S_IFMT};
  }
  ZARRFS_TRY(const StatePtr child, view_.shown_directory(path, state_.get()));
  return child == nullptr ? mode_t{0} : mode_t{S_IFDIR};
}

Result<void> ViewDirectory::list_parts(std::uint64_t offset, const Sink& sink) const {
  const NodeState& array = *state_;
  const ChunkNames& names = array.shown.names;
  const std::uint64_t start = offset < kFirstPart ? 0 : offset - kFirstPart;
  std::string name;
  const auto emit = [&](const NamedPart& part, std::uint64_t next) {
    const bool flat = !prefix_ && !names.nested();
    name = flat ? names.flat_name(part.coordinates) : std::to_string(part.coordinates.back());
    const std::uint64_t inode = inode_of(array.path, names.number_of(part));
    const mode_t type = part.directory ? S_IFDIR : S_IFREG;
    return sink({name, type, inode, kFirstPart + next});
  };
  ChunkLister lister(array.shown, view_.chunks_);
  if (prefix_) return lister.list_prefix(*prefix_, start, emit);
  if (!names.nested()) return lister.list_flat(start, emit);
  if (names.first_depth() > 0) return lister.list_prefix({}, start, emit);
  if (start > 0) return {};
  ZARRFS_TRY(const bool exists, lister.prefix_exists({}));
  if (!exists) return {};
  const NamedPart all{true, {}};
  sink({"c", S_IFDIR, inode_of(array.path, names.number_of(all)), kFirstPart + 1});
  return {};
}

}  // namespace zarrfs
