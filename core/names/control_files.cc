#include "core/names/control_files.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "core/base/json.h"
#include "core/base/memory.h"
#include "core/codecs/decoding_room.h"
#include "core/shared/shared_store.h"
#include "core/store/conditional_writer.h"
#include "core/store/store.h"

namespace zarrfs {

namespace {
constexpr mode_t kOwnerOnly = 0700;
constexpr std::uint64_t kOwnPadding = 4096;

/// The files of the folder, in the order of listings.
struct ControlFile {
  const char* name;
  NamedNode::Kind kind;
};
constexpr std::array<ControlFile, 2> kFiles = {
    {{"report.json", NamedNode::Kind::kReport}, {"stats.json", NamedNode::Kind::kStatistics}}};
}  // namespace

ControlFiles::ControlFiles(ViewParts& parts, const Statuses& statuses)
    : parts_(parts), statuses_(statuses), front_statistics_([] { return std::string("{}"); }) {
  ::clock_gettime(CLOCK_REALTIME, &started_);
}

InodeEntry ControlFiles::folder() {
  const NamedNode own{NamedNode::Kind::kOwnFolder, kOwnFolder, 0};
  return InodeEntry{.id = parts_.table.look_up(own), .status = status(own)};
}

std::optional<InodeEntry> ControlFiles::find(std::string_view name) {
  for (const ControlFile& file : kFiles) {
    if (name != file.name) continue;
    const NamedNode own{file.kind, join_path(kOwnFolder, file.name), 0};
    return InodeEntry{.id = parts_.table.look_up(own), .status = status(own), .uncached = true};
  }
  return std::nullopt;
}

void ControlFiles::list(std::uint64_t offset, const std::function<bool(const Listed&)>& sink) {
  for (std::uint64_t at = offset; at < kFiles.size(); ++at) {
    const char* name = kFiles.at(at).name;
    if (!sink({name, S_IFREG, inode_of(join_path(kOwnFolder, name)), at + 1})) return;
  }
}

struct stat ControlFiles::status(const NamedNode& node) {
  struct stat like {};
  like.st_uid = ::getuid();
  like.st_gid = ::getgid();
  like.st_mtim = started_;
  like.st_ctim = started_;
  const std::uint64_t inode = inode_of(node.path);
  if (node.kind == NamedNode::Kind::kOwnFolder) return statuses_.directory_status(like, inode);
  // Always new: a kernel that reads without opening drops what it has of an older file.
  ::clock_gettime(CLOCK_REALTIME, &like.st_mtim);
  struct stat status = statuses_.file_status(like, inode, text(node).size());
  // The report names what not everybody may see, and its pages are the same for all.
  if (parts_.permissions.wanted() && node.kind == NamedNode::Kind::kReport) {
    status.st_mode &= S_IFMT | kOwnerOnly;
    status.st_uid = ::getuid();
  }
  return status;
}

std::string ControlFiles::text(const NamedNode& node) {
  std::string text = node.kind == NamedNode::Kind::kReport ? report() : statistics();
  if (!parts_.shared.options.immutable) return text;
  // The kernel may read without opening, up to the size it was told at lookup: blanks make the size
  // one that hardly ever changes.
  text.insert(text.size() - 1, divide_up(text.size(), kOwnPadding) * kOwnPadding - text.size(),
              ' ');
  return text;
}

std::string ControlFiles::report() {
  Json document = {{"source", parts_.shared.store->name()},
                   {"view", parts_.shared.options.format == ViewFormat::kV2 ? "v2" : "v3"},
                   {"profile", parts_.shared.profile.name}};
  if (!parts_.shared.profile_because.empty())
    document["profile_because"] = parts_.shared.profile_because;
  document.update(parts_.shared.reporter.render());
  document["refused"] = parts_.shared.refusals.render();
  if (const Json shared = sharing(); shared.is_object()) document["shared"] = shared;
  if (parts_.writable()) {
    document["unpublished"] = Json::object();
    for (const Unpublished& one : unpublished()) document["unpublished"][one.name] = one.reason;
  }
  return dump_document(document);
}

std::vector<Unpublished> ControlFiles::unpublished() {
  std::vector<Unpublished> list;
  if (!parts_.writable()) return list;
  const ChunkKeyEncoding dotted{ChunkKeyEncoding::Kind::kV2, '.'};
  for (const LeftDraft& draft : parts_.shared.writes->left()) {
    const std::string kind = draft.whole_shard ? " shard " : " chunk ";
    list.push_back({"/" + draft.array_path + kind + dotted.key(draft.chunk), draft.reason});
  }
  ConditionalWriter* const server = conditional_writer_of(*parts_.shared.store);
  if (server == nullptr) return list;
  for (const std::string& path : server->waiting()) {
    list.push_back({"/" + path, "no document makes it a chunk of an array"});
  }
  return list;
}

/// Null where the store has one writer.
Json ControlFiles::sharing() const {
  SharedStore* const shared = parts_.writable() ? shared_of(*parts_.shared.store) : nullptr;
  if (shared == nullptr) return {};
  const auto told = parse_json(shared->sharing(), "writers");
  return told ? *told : Json();
}

/// Bytes: of the whole process, and of each part that has a bound.
Json ControlFiles::memory_held() const {
  const ResidentMemory resident = resident_memory();
  Json held = {{"all", resident.now},
               {"all_at_most", resident.peak},
               {"names", parts_.table.bytes() + parts_.shared.numbers.bytes()},
               {"nodes", parts_.nodes.bytes()},
               {"indexes", parts_.shared.indexes->bytes()},
               {"decoding", decoding_memory_taken() + parts_.decoded->bytes()}};
  if (parts_.writable()) {
    held["written"] = parts_.staged.bytes() + parts_.shared.writes->memory();
    held["versions"] = parts_.shared.versions->bytes();
  }
  return held;
}

std::string ControlFiles::statistics() {
  std::function<std::string()> front;
  {
    const std::lock_guard lock(front_mutex_);
    front = front_statistics_;
  }
  const ReadCounters& counters = *parts_.shared.counters;
  Json document = {{"index_reads", counters.index_reads.load()},
                   {"index_hits", counters.index_hits.load()},
                   {"chunk_reads", counters.range_reads.load()},
                   {"chunk_bytes_read", counters.bytes.load()},
                   {"whole_shards_decoded", counters.whole_shards.load()},
                   {"index_cache_bytes", parts_.shared.indexes->bytes()},
                   {"named_nodes", parts_.table.size()},
                   {"memory_held", memory_held()}};
  if (!parts_.shared.options.memory_bounds.empty()) {
    Json& bounds = document["memory_bound"] = Json::object();
    for (const auto& [part, bytes] : parts_.shared.options.memory_bounds) bounds[part] = bytes;
  }
  if (const std::string told = parts_.shared.store->statistics(); !told.empty()) {
    const auto remote = parse_json(told, "statistics");
    if (remote) document["remote"] = *remote;
  }
  if (const Json shared = sharing(); shared.is_object()) document["shared"] = shared;
  if (parts_.writable()) {
    const WriteStatistics writes = parts_.shared.writes->statistics();
    document["chunks_written"] = writes.puts;
    document["chunk_bytes_written"] = writes.bytes_put;
    document["shards_rewritten"] = writes.commits;
    document["shard_rewrites_failed"] = writes.failed_commits;
    document["shard_bytes_rewritten"] = writes.bytes_committed;
    document["shards_unpublished"] = writes.dirty_shards;
    document["chunks_unpublished"] = writes.drafts;
    document["log_bytes"] = writes.log_bytes;
  }
  if (const auto members = parse_json(front(), "front statistics");
      members && members->is_object()) {
    document.update(*members);
  }
  return dump_document(document);
}

void ControlFiles::set_front_statistics(std::function<std::string()> render_json_object) {
  const std::lock_guard lock(front_mutex_);
  front_statistics_ = std::move(render_json_object);
}

}  // namespace zarrfs
