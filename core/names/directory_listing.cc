#include "core/names/directory_listing.h"

#include <algorithm>
#include <utility>

#include "core/chunks/chunk_lister.h"
#include "core/nodes/orphan_chunks.h"

namespace zarrfs {

namespace {
// Offsets: documents from 0, names of the store from kFirstName, chunks from kFirstPart.
constexpr std::uint64_t kFirstName = std::uint64_t{1} << 16U;
constexpr std::uint64_t kFirstPart = std::uint64_t{1} << 40U;
constexpr std::uint64_t kBehindAll = std::uint64_t{1} << 62U;
}  // namespace

Result<void> DirectoryListing::list(std::uint64_t offset, const Sink& sink) {
  if (!has_serial_) return list_all(offset, sink);
  if (offset == kBehindAll) return {};
  bool empty = offset == 0;
  ZARRFS_CHECK(list_all(offset, [&](const Listed& listed) {
    empty = false;
    return sink(listed);
  }));
  if (empty) sink({".", S_IFDIR, inode_of(directory_.path()), kBehindAll});
  return {};
}

Result<void> DirectoryListing::list_all(std::uint64_t offset, const Sink& sink) {
  if (!directory_.prefix && offset < kFirstName && !list_documents(offset, sink)) return {};
  if (offset < kFirstPart) {
    ZARRFS_TRY(const bool more, list_names(offset, sink));
    if (!more) return {};
  }
  if (state_.kind != NodeState::Kind::kArray) return {};
  const std::uint64_t untold = parts_.chunks.untold();
  auto done = parts_.reported(list_parts(offset, sink));
  if (parts_.chunks.untold() != untold) parts_.listings.doubt(state_.path);
  return done;
}

Result<void> DirectoryListing::list_names_only(const Sink& sink) {
  if (!directory_.prefix && !list_documents(0, sink)) return {};
  ZARRFS_TRY(const bool more, list_names(0, [&](const Listed& one) {
               const std::vector<std::string> chunks = chunks_listed();
               return std::binary_search(chunks.begin(), chunks.end(), one.name) || sink(one);
             }));
  static_cast<void>(more);
  return {};
}

std::optional<std::uint64_t> DirectoryListing::serial() {
  const auto serial = parts_.serial_of(directory_, [this] { return is_sound(); });
  has_serial_ = serial.has_value();
  return serial;
}

bool DirectoryListing::is_sound() {
  const auto document = parts_.shared.store->status(join_path(state_.path, kStoredDocument));
  if (!document || !*document || identity_of(**document) != state_.node.document) return false;
  const auto others = names(true);
  return others && std::all_of((*others)->begin(), (*others)->end(),
                               [](const Entry& entry) { return entry.kind == EntryKind::kFile; });
}

bool DirectoryListing::list_documents(std::uint64_t offset, const Sink& sink) const {
  const std::vector<std::string> names = documents_.names(state_);
  for (std::uint64_t at = offset; at < names.size(); ++at) {
    const std::uint64_t inode = inode_of(join_path(state_.path, names[at]));
    const std::uint64_t next = at + 1 < names.size() ? at + 1 : kFirstName;
    if (!sink({names[at], S_IFREG, inode, next})) return false;
  }
  return true;
}

Result<DirectoryListing::Names> DirectoryListing::names(bool afresh) {
  {
    const std::lock_guard lock(mutex_);
    if (names_listed_ != nullptr && !afresh) return names_listed_;
  }
  std::vector<Entry> kept;
  if (!directory_.prefix || parts_.writable()) {
    ZARRFS_TRY(auto entries, parts_.shared.store->list(stored_directory()));
    if (entries) kept = std::move(*entries);
    std::erase_if(kept, [&](const Entry& entry) {
      return (directory_.prefix && entry.kind != EntryKind::kFile) ||
             !names_.shows_stored(directory_, state_.levels.shown(entry.name));
    });
  }
  add_written(kept);
  ZARRFS_CHECK(add_early(kept));
  std::vector<std::string> chunks = chunks_being_made();
  for (const std::string& name : chunks) kept.push_back({name, EntryKind::kFile});
  std::sort(kept.begin(), kept.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  auto names = std::make_shared<const std::vector<Entry>>(std::move(kept));
  const std::lock_guard lock(mutex_);
  names_listed_ = names;
  chunks_listed_ = std::move(chunks);
  return names;
}

std::vector<std::string> DirectoryListing::chunks_being_made() const {
  std::vector<std::string> made;
  if (state_.kind != NodeState::Kind::kArray || parts_.staged.empty()) return made;
  const ChunkNames& names = state_.shown.names;
  for (const std::uint64_t number : parts_.staged.chunks_of(state_.path)) {
    if (number >= names.nodes()) continue;  // of a larger array than this by now
    const ChunkOrPrefix part = names.part_of(number);
    std::string name = name_of_chunk(part.coordinates);
    const ResolvedName resolved = names_.resolve(directory_, name);
    const bool here =
        resolved.kind == NameKind::kChunk && resolved.part.coordinates == part.coordinates;
    const auto stored =
        here ? names_.chunk_is_stored(state_, part.coordinates) : Result<bool>(true);
    if (stored && !*stored) made.push_back(std::move(name));
  }
  std::sort(made.begin(), made.end());
  return made;
}

std::string DirectoryListing::name_of_chunk(const Coordinates& chunk) const {
  const bool flat = !directory_.prefix && !state_.shown.names.nested();
  return flat || chunk.empty() ? state_.shown.names.flat_name(chunk) : std::to_string(chunk.back());
}

void DirectoryListing::add_written(std::vector<Entry>& entries) const {
  if (!parts_.writable()) return;
  const std::string path = directory_.path();
  const auto is_new = [&entries](const std::string& name) {
    return std::none_of(entries.begin(), entries.end(),
                        [&name](const Entry& entry) { return entry.name == name; });
  };
  for (std::string& name : parts_.staged.names_in(path, StagedFile::Kind::kTemporary)) {
    if (is_new(name)) entries.push_back({std::move(name), EntryKind::kFile});
  }
  for (std::string& name : parts_.staged.names_in(path, StagedFile::Kind::kDocument)) {
    const bool shown = !directory_.prefix && documents_.shows(state_, name);
    if (!shown && is_new(name)) entries.push_back({std::move(name), EntryKind::kFile});
  }
  if (state_.kind != NodeState::Kind::kArray) return;
  for (std::string& name : made_and_empty()) {
    entries.push_back({std::move(name), EntryKind::kDirectory});
  }
}

/// Chunks that wait until the array has grown to them.
Result<void> DirectoryListing::add_early(std::vector<Entry>& entries) const {
  if (!names_.keeps_early_chunks(directory_)) return {};
  ZARRFS_TRY(auto parked, parts_.shared.store->list(parking_place(state_.path)));
  for (Entry& entry : parked ? *parked : std::vector<Entry>{}) {
    const bool waits = entry.kind == EntryKind::kFile && names_.keeps_early(directory_, entry.name);
    if (waits) entries.push_back(std::move(entry));
  }
  return {};
}

/// Those that hold chunks are listed with the chunks.
std::vector<std::string> DirectoryListing::made_and_empty() const {
  std::vector<std::string> made = parts_.overlay.chunk_directories_in(directory_.path());
  std::erase_if(made, [&](const std::string& name) {
    const ResolvedName resolved = names_.resolve(directory_, name);
    if (resolved.kind != NameKind::kPrefix) return true;  // the array has shrunk since
    const auto listed =
        ChunkLister(state_.shown, parts_.chunks).prefix_exists(resolved.part.coordinates);
    return listed && *listed;
  });
  return made;
}

/// Where the store keeps what is listed here by the names of the store.
std::string DirectoryListing::stored_directory() const {
  return directory_.prefix ? parked_path(state_.path, directory_.path()) : state_.path;
}

Result<bool> DirectoryListing::list_names(std::uint64_t offset, const Sink& sink) {
  ZARRFS_TRY(const Names all, names(offset < kFirstName));
  const std::uint64_t first = offset < kFirstName ? 0 : offset - kFirstName;
  for (std::uint64_t at = first; at < all->size(); ++at) {
    const Entry& entry = (*all)[at];
    const auto type = type_of(entry);
    // What cannot be looked into is listed all the same: its readers get the error.
    if (type && *type == 0) continue;
    const ResolvedName resolved = names_.resolve(directory_, entry.name);
    const std::uint64_t inode =
        resolved.kind == NameKind::kChunk
            ? inode_of(state_.path, state_.shown.names.number_of(resolved.part))
            : inode_of(join_path(state_.path, entry.name));
    const std::string shown = state_.levels.shown(entry.name);
    if (!sink({shown, type.value_or(S_IFDIR), inode, kFirstName + at + 1})) return false;
  }
  return true;
}

/// 0 for what is not shown.
Result<mode_t> DirectoryListing::type_of(const Entry& entry) const {
  ZARRFS_TRY(const auto link, names_.shown_link(state_, join_path(state_.path, entry.name)));
  if (link) return mode_t{S_IFLNK};
  if (entry.kind == EntryKind::kFile) return mode_t{S_IFREG};
  if (directory_.prefix || parts_.overlay.has_chunk_directory(join_path(state_.path, entry.name)))
    return mode_t{S_IFDIR};
  const std::string path = join_path(state_.path, entry.name);
  if (entry.kind == EntryKind::kOther) {
    const auto status = parts_.shared.store->status(path);
    if (!status) return mode_t{S_IFREG};
    if (!*status) return mode_t{0};
    if (!S_ISDIR((*status)->st_mode)) return mode_t{(*status)->st_mode & S_IFMT};
  }
  ZARRFS_TRY(const StatePtr child, names_.shown_directory(path, &state_));
  return child == nullptr ? mode_t{0} : mode_t{S_IFDIR};
}

Result<void> DirectoryListing::list_parts(std::uint64_t offset, const Sink& sink) const {
  const NodeState& array = state_;
  const ChunkNames& names = array.shown.names;
  const std::uint64_t start = offset < kFirstPart ? 0 : offset - kFirstPart;
  std::string name;
  const std::vector<std::string> listed = chunks_listed();
  const auto emit = [&](const ChunkOrPrefix& part, std::uint64_t next) {
    name =
        part.directory ? std::to_string(part.coordinates.back()) : name_of_chunk(part.coordinates);
    if (std::binary_search(listed.begin(), listed.end(), name)) return true;
    const std::uint64_t inode = inode_of(array.path, names.number_of(part));
    const mode_t type = part.directory ? S_IFDIR : S_IFREG;
    return sink({name, type, inode, kFirstPart + next});
  };
  ChunkLister lister(array.shown, parts_.chunks);
  if (directory_.prefix) return lister.list_prefix(*directory_.prefix, start, emit);
  if (!names.nested()) return lister.list_flat(start, emit);
  if (names.first_depth() > 0) return lister.list_prefix({}, start, emit);
  if (start > 0) return {};
  ZARRFS_TRY(const bool exists, lister.prefix_exists({}));
  if (!exists) return {};
  const ChunkOrPrefix all{true, {}};
  sink({"c", S_IFDIR, inode_of(array.path, names.number_of(all)), kFirstPart + 1});
  return {};
}

}  // namespace zarrfs
