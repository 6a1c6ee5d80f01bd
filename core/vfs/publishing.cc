#include "core/vfs/publishing.h"

#include <utility>

#include "core/base/hash.h"
#include "core/write/shard_builder.h"

namespace zarrfs {

Result<void> Publishing::begin() {
  const Writing& chosen = *parts_.shared.options.writing;
  WriteOptions options;
  options.flush_after = chosen.flush_after;
  options.write_buffer = chosen.write_buffer / 4;  // for files that are written, the rest
  options.drop_foreign = chosen.drop_foreign;
  options.commit_at_sync = chosen.commit_at_sync;
  options.hold_conflicts = chosen.hold_conflicts;
  options.most_unpublished = chosen.most_unpublished;
  options.changed = [this](const ChunkChanges& changes) {
    return parts_.editor.chunks_changed(changes);
  };
  tell_versions(options);
  options.tick = [this, idle = chosen.flush_after] {
    second_looks_.drop_old();
    static_cast<void>(staged_.persist_idle(idle));  // reported, and tried again
  };
  options.log = [this](bool error, const std::string& line) {
    parts_.shared.options.log(error ? ViewOptions::Level::kError : ViewOptions::Level::kInfo, line);
  };
  ZARRFS_TRY(parts_.shared.writes, WriteBuffer::open(parts_.shared.store, std::move(options)));
  static_cast<void>(parts_.reported(parts_.editor.resume()));  // what it could not do is kept
  return {};
}

namespace {
std::uint64_t cell_number(const ArrayView& array, const Coordinates& cell) {
  return linear_of(cell, array.reader->layout().grid().counts());
}

/// `drafts` have the numbers of the chunks in the shard at `cell`.
ShardVersions::Chunks chunks_of(const ArrayView& array, const Coordinates& cell,
                                const ShardVersions::Chunks& drafts) {
  const Layout& layout = array.reader->layout();
  ShardVersions::Chunks chunks;
  for (const auto& [number, written] : drafts) {
    const auto chunk = layout.chunk_at({cell, entries_of(layout, cell, number)});
    if (chunk) chunks.emplace_back(linear_of(*chunk, array.names.counts()), written);
  }
  return chunks;
}
}  // namespace

void Publishing::tell_versions(WriteOptions& options) {
  const auto shown = [this](const std::string& array_path) {
    const StatePtr array = parts_.nodes.last_known(array_path);
    return array == nullptr || array->shown.versions == nullptr ? nullptr : array;
  };
  options.replacing = [shown](const std::string& array_path, const Coordinates& cell,
                              const FileIdentity& before, const FileIdentity& after,
                              const ShardVersions::Chunks& drafts) {
    const StatePtr array = shown(array_path);
    if (array == nullptr) return;
    array->shown.versions->replacing(cell_number(array->shown, cell), before, after,
                                     chunks_of(array->shown, cell, drafts));
  };
  options.committed = [shown](const std::string& array_path, const Coordinates& cell,
                              const CommitOutcome& outcome) {
    const StatePtr array = shown(array_path);
    if (array == nullptr) return;
    array->shown.versions->republished(cell_number(array->shown, cell), outcome.before,
                                       outcome.after);
  };
}

Result<void> Publishing::sync(NodeId node) {
  if (!parts_.writable()) return {};
  ZARRFS_TRY(const InodeTarget target, inodes_.resolve(node));
  if (!target.named) {
    if (target.part.directory) {
      ZARRFS_CHECK(staged_.sync_temporaries(part_path(target.state->shown, target.part)));
    }
    return target.part.directory
               ? parts_.shared.writes->sync_below(target.state->path)
               : parts_.chunk_writer.sync(target.state->shown, target.part.coordinates);
  }
  if (target.named->kind != NamedNode::Kind::kDirectory) return {};
  ZARRFS_CHECK(staged_.sync_temporaries(target.named->path));
  ZARRFS_CHECK(parts_.shared.writes->sync_below(target.named->path));
  return parts_.shared.store->sync_directory(target.named->path);
}

Result<void> Publishing::publish() {
  if (!parts_.writable()) return {};
  Result<void> first = staged_.persist_idle(std::chrono::milliseconds(0));
  auto committed = parts_.shared.writes->commit_below("");
  if (!committed && first) first = std::move(committed);
  auto pending = removal_.delete_pending();
  if (!pending && first) first = std::move(pending);
  return first;
}

Result<void> Publishing::close() {
  if (!parts_.writable()) return {};
  Result<void> first = staged_.submit_all();
  auto published = publish();
  if (!published && first) first = std::move(published);
  auto closed = parts_.shared.writes->close();
  return first ? closed : first;
}

}  // namespace zarrfs
