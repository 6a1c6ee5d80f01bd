#include "core/zarr/shard_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/request.h"

namespace zarrfs {
namespace {

Error prefixed(const std::string& name, Error error) {
  error.message = name + ": " + error.message;
  return error;
}

}  // namespace

/// The index of one shard, outermost or inner.
class ShardReader::Level final : public Shard {
 public:
  Level(FileIdentity file, ShardIndex loaded, std::shared_ptr<const Bytes> whole)
      : index(std::move(loaded)), decoded(std::move(whole)), identity_(file) {}
  [[nodiscard]] FileIdentity identity() const override { return identity_; }
  [[nodiscard]] std::size_t memory() const override {
    return sizeof(*this) + index.memory() + (decoded ? decoded->size() : 0);
  }

  const ShardIndex index;
  const std::shared_ptr<const Bytes> decoded;  // null where no codecs are around the shard

 private:
  FileIdentity identity_;
};

struct ShardReader::Walk {
  const std::function<bool(const ArrayReader::Visited&)>& visit;
  std::uint64_t first = 0;
  std::vector<std::uint64_t> entries;  // of the levels entered so far

  /// The first of `count` things of `size` chunks each, numbered from `base`, that is not wholly
  /// before `first`.
  [[nodiscard]] std::uint64_t start(std::uint64_t base, std::uint64_t size) const {
    return first > base ? (first - base) / size : 0;
  }
};

ShardReader::ShardReader(std::shared_ptr<const File> file, const std::string& path,
                         const Layout& layout, std::span<const std::uint64_t> cell,
                         IndexCache& cache, ReadCounters& counters)
    : file_(std::move(file)),
      path_(path),
      layout_(layout),
      cell_(cell),
      cache_(cache),
      counters_(counters) {}

std::string ShardReader::name_of(std::span<const std::uint64_t> entries) const {
  std::string name = "shard " + path_;
  for (std::size_t level = 0; level < entries.size(); ++level) {
    name += level == 0 ? ": entry " : ", entry ";
    name += std::to_string(entries[level]);
  }
  return name;
}

std::string ShardReader::key_of(std::span<const std::uint64_t> entries) const {
  if (entries.empty()) return path_;
  std::string key = path_ + "/";
  for (const std::uint64_t entry : entries) key += "/" + std::to_string(entry);
  return key;
}

bool ShardReader::is_chunk(std::span<const std::uint64_t> entries) const {
  return entries.size() == layout_.levels().size();
}

Result<Bytes> ShardReader::read(const Extent& extent, ByteRange range) const {
  const std::uint64_t offset = extent.range.offset + range.offset;
  if (!extent.memory) return file_->read_range({offset, range.length});
  const auto first = extent.memory->begin() + static_cast<std::ptrdiff_t>(offset);
  return Bytes(first, first + static_cast<std::ptrdiff_t>(range.length));
}

Result<ShardReader::LevelPointer> ShardReader::level_at(std::span<const std::uint64_t> entries,
                                                        const Extent& extent) {
  const std::string key = key_of(entries);
  if (auto cached = std::dynamic_pointer_cast<const Level>(
          cache_.find(key, identity_by_ctime(file_->status())))) {
    ++counters_.index_hits;
    return cached;
  }
  ZARRFS_TRY(LevelPointer level, load(entries, extent));
  cache_.insert(key, level);
  return level;
}

Result<ShardReader::LevelPointer> ShardReader::load(std::span<const std::uint64_t> entries,
                                                    const Extent& extent) {
  const std::string name = name_of(entries);
  const ShardLevel& level = layout_.levels()[entries.size()];
  auto format = entries.empty() ? layout_.index_format_of(cell_)
                                : Result<IndexFormat>(layout_.index_format(entries.size()));
  if (!format) return fail(prefixed(name, std::move(format.error())));
  if (format->encoded_size() > kMaxIndexBytes) {
    return fail(Fault::kUnsupported,
                name + ": an index of " + std::to_string(format->encoded_size()) +
                    " bytes is larger than zarrfs reads, " + std::to_string(kMaxIndexBytes));
  }

  Extent shard = extent;
  if (!level.around.steps().empty()) {
    if (extent.range.length > kMaxWholeShard) {
      return fail(Fault::kUnsupported,
                  name + ": codecs around a shard of " + std::to_string(extent.range.length) +
                      " bytes; it must be decoded as a whole, and zarrfs does that up to " +
                      std::to_string(kMaxWholeShard));
    }
    ZARRFS_TRY(const Bytes stored, read(extent, {0, extent.range.length}));
    auto whole = level.around.decode(stored);
    if (!whole) return fail(prefixed(name, std::move(whole.error())));
    ++counters_.whole_shards;
    shard.range = {0, whole->size()};
    shard.memory = std::make_shared<const Bytes>(std::move(*whole));
  }

  const auto index_range = format->range(shard.range.length);
  if (!index_range) return fail(prefixed(name, index_range.error()));
  ZARRFS_TRY(const Bytes encoded, read(shard, *index_range));
  ++counters_.index_reads;
  auto index = ShardIndex::decode(encoded, *format, shard.range.length);
  if (!index) return fail(prefixed(name, std::move(index.error())));
  const bool decoded = !level.around.steps().empty();
  return std::make_shared<const Level>(identity_by_ctime(file_->status()), std::move(*index),
                                       decoded ? shard.memory : nullptr);
}

ShardReader::Extent ShardReader::within(const Level& level, const Extent& extent,
                                        ByteRange range) const {
  if (level.decoded) return {level.decoded, range};
  return {extent.memory, {extent.range.offset + range.offset, range.length}};
}

std::string ShardReader::damage_of(const Level& level, std::span<const std::uint64_t> entries,
                                   const IndexEntry& entry) const {
  if (entry.state == IndexEntry::State::kDamaged) {
    return name_of(entries) + " " + level.index.describe_damage(entries.back());
  }
  if (!is_chunk(entries) || entry.range.length <= layout_.most_stored_bytes()) return {};
  return name_of(entries) + " " + spell_range(entry.range) +
         " is longer than a chunk of this array can be, " +
         std::to_string(layout_.most_stored_bytes());
}

Result<std::optional<ShardReader::Extent>> ShardReader::locate(
    std::span<const std::uint64_t> entries) {
  Extent extent = whole_file();
  for (std::size_t depth = 0; depth < entries.size(); ++depth) {
    ZARRFS_TRY(const LevelPointer level, level_at(entries.first(depth), extent));
    if (entries[depth] >= level->index.size()) {
      return fail(Fault::kInvalid,
                  name_of(entries.first(depth + 1)) + " of " + std::to_string(level->index.size()));
    }
    const IndexEntry entry = level->index.entry(entries[depth]);
    if (entry.state == IndexEntry::State::kMissing) return std::nullopt;
    const std::string damage = damage_of(*level, entries.first(depth + 1), entry);
    if (!damage.empty()) return fail(Fault::kDamaged, damage);
    extent = within(*level, extent, entry.range);
  }
  return extent;
}

Result<void> ShardReader::count_below() {
  const auto& levels = layout_.levels();
  entry_counts_.assign(levels.size(), 1);
  below_.assign(levels.size(), 1);
  std::uint64_t below = 1;
  for (std::size_t depth = levels.size(); depth-- > 0;) {
    const auto counts = depth == 0 ? layout_.shard_counts(cell_) : levels[depth].counts;
    const auto entries = checked_product(counts);
    const auto chunks = entries ? checked_multiply(*entries, below) : std::nullopt;
    if (!chunks) {
      return fail(Fault::kUnsupported, name_of({}) + ": more than 2^64 chunks in one shard");
    }
    entry_counts_[depth] = *entries;
    below_[depth] = below;
    below = *chunks;
  }
  return {};
}

/// The first chunk at or below an entry: nothing where that entry lies outside the array wholly.
std::optional<std::vector<std::uint64_t>> ShardReader::first_chunk_at(
    std::span<const std::uint64_t> entries) const {
  ChunkPlace place;
  place.cell.assign(cell_.begin(), cell_.end());
  place.entries.assign(entries.begin(), entries.end());
  place.entries.resize(layout_.levels().size(), 0);
  return layout_.chunk_at(place);
}

Result<void> ShardReader::visit(std::uint64_t first,
                                const std::function<bool(const ArrayReader::Visited&)>& visit) {
  ZARRFS_CHECK(count_below());
  Walk walk{visit, first, {}};
  ZARRFS_TRY([[maybe_unused]] const bool to_the_end, visit_level(walk, whole_file(), 0));
  return {};
}

// Returns whether to go on, as all the visiting functions do.
Result<bool> ShardReader::visit_level(Walk& walk, const Extent& extent, std::uint64_t base) {
  const std::size_t depth = walk.entries.size();
  const auto level = level_at(walk.entries, extent);
  if (!level && depth > 0 && level.error().fault == Fault::kDamaged) {
    return visit_damaged(walk, base, extent.range, level.error().message);
  }
  if (!level) return fail(level.error());
  ZARRFS_CHECK(check_wanted());
  const std::uint64_t count = std::min(entry_counts_[depth], (*level)->index.size());
  for (std::uint64_t entry = walk.start(base, below_[depth]); entry < count; ++entry) {
    walk.entries.push_back(entry);
    auto go_on = visit_entry(walk, **level, extent, base + entry * below_[depth]);
    walk.entries.pop_back();
    if (!go_on || !*go_on) return go_on;
  }
  return true;
}

Result<bool> ShardReader::visit_entry(Walk& walk, const Level& level, const Extent& extent,
                                      std::uint64_t number) {
  const IndexEntry entry = level.index.entry(walk.entries.back());
  if (entry.state == IndexEntry::State::kMissing) return true;
  auto chunk = first_chunk_at(walk.entries);
  if (!chunk) return true;
  const std::string damage = damage_of(level, walk.entries, entry);
  if (!damage.empty()) return visit_damaged(walk, number, entry.range, damage);
  const Extent found = within(level, extent, entry.range);
  if (!is_chunk(walk.entries)) return visit_level(walk, found, number);
  return walk.visit({number, std::move(*chunk), found.range, {}});
}

/// Visits each chunk at or below the entry where `walk` stands.
Result<bool> ShardReader::visit_damaged(Walk& walk, std::uint64_t base, ByteRange range,
                                        const std::string& damage) {
  ZARRFS_CHECK(check_wanted());
  auto chunk = first_chunk_at(walk.entries);
  if (!chunk) return true;
  if (is_chunk(walk.entries)) return walk.visit({base, std::move(*chunk), range, damage});
  const std::size_t depth = walk.entries.size();
  for (std::uint64_t entry = walk.start(base, below_[depth]); entry < entry_counts_[depth];
       ++entry) {
    walk.entries.push_back(entry);
    auto go_on = visit_damaged(walk, base + entry * below_[depth], range, damage);
    walk.entries.pop_back();
    if (!go_on || !*go_on) return go_on;
  }
  return true;
}

}  // namespace zarrfs
