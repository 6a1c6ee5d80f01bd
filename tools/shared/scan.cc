#include "tools/shared/scan.h"

#include <algorithm>

#include "core/base/lock_order.h"
#include "core/metadata/grid.h"
#include "tools/shared/console.h"
#include "tools/shared/parallel.h"
#include "tools/shared/stored_place.h"
#include "tools/shared/whole_files.h"

namespace zarrfs::tools {
namespace {

bool shards_are_files(const Layout& layout) {
  return std::all_of(layout.levels().begin(), layout.levels().end(),
                     [](const ShardLevel& level) { return level.around.steps().empty(); });
}

// Scans one shard after the other; one for each call of parallel_for.
class ShardScanner {
 public:
  ShardScanner(ArrayReader& reader, const ScanOptions& options, CommandMutex& reporting,
               WholeFiles& whole, std::vector<std::uint64_t> cell)
      : reader_(reader),
        options_(options),
        reporting_(reporting),
        whole_(whole),
        cell_(std::move(cell)) {}

  Result<Totals> run() {
    path_ = reader_.shard_path(cell_);
    auto scanned = scan();
    if (scanned || is_of_process(scanned.error().fault)) return scanned;
    // One shard that cannot be read does not hide what is wrong with the others.
    report({.array = {}, .shard = {}, .chunk = "", .range = {}, .reason = scanned.error().message});
    tell_cell();
    return totals_;
  }

 private:
  Result<Totals> scan() {
    ZARRFS_TRY(const auto status, reader_.shard_status(cell_));
    if (!status) return Totals{};
    auto size = static_cast<std::uint64_t>(status->st_size);
    if (options_.made) {
      ZARRFS_TRY(const auto place, place_of_object(reader_.store(), path_));
      if (place) size = place->range.length;
    }
    totals_.shards = 1;
    totals_.object_bytes = size;
    if (reader_.layout().sharded()) {
      ZARRFS_CHECK(scan_shard(size));
    } else {
      ZARRFS_CHECK(scan_plain(size));
    }
    if (options_.decode && reader_.store().traits().checksums) ZARRFS_CHECK(check_file());
    tell_cell();
    return totals_;
  }

  void tell_cell() {
    if (options_.on_shard) {
      const HeldLock lock(reporting_);
      options_.on_shard(ScannedShard{cell_, totals_});
    }
    if (options_.on_progress) options_.on_progress(totals_.object_bytes);
  }

  Result<void> scan_plain(std::uint64_t size) {
    Place place{0, cell_, {0, size}, ""};
    if (size == 0) place.damage = "the file is empty";
    totals_.chunks = 1;
    totals_.chunk_bytes = size;
    return finish_chunk(place);
  }

  Result<void> scan_shard(std::uint64_t size) {
    std::vector<Place> places;
    Result<void> visited =
        reader_.visit_shard(cell_, 0, [&](const ArrayReader::Visited& visited_chunk) {
          places.push_back({visited_chunk.number, visited_chunk.chunk, visited_chunk.range,
                            visited_chunk.damage});
          return !interrupted();
        });
    if (!visited) {
      if (visited.error().fault != Fault::kDamaged) return visited;
      report(
          {.array = {}, .shard = {}, .chunk = "", .range = {}, .reason = visited.error().message});
      return {};
    }
    mark_overlaps(places);
    ZARRFS_CHECK(measure(places, size));
    for (const Place& place : places) {
      if (interrupted()) return fail(interruption());
      ZARRFS_CHECK(finish_chunk(place));
    }
    return {};
  }

  struct Place {
    std::uint64_t number = 0;
    std::vector<std::uint64_t> chunk;
    ByteRange range;
    std::string damage;
  };

  // Sorts by offset, so that bytes are then read in the order in which they lie; two chunks that
  // share some of their bytes (not all) cannot both be whole.
  static void mark_overlaps(std::vector<Place>& places) {
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::tie(a.range.offset, a.range.length) < std::tie(b.range.offset, b.range.length);
    });
    const Place* before = nullptr;
    for (Place& place : places) {
      if (!place.damage.empty()) continue;
      if (before != nullptr && !(before->range == place.range) &&
          before->range.offset + before->range.length > place.range.offset) {
        place.damage = "[" + std::to_string(place.range.offset) + ", +" +
                       std::to_string(place.range.length) + ") overlaps chunk " +
                       dotted(before->chunk) + " at [" + std::to_string(before->range.offset) +
                       ", +" + std::to_string(before->range.length) + ")";
      }
      before = &place;
    }
  }

  Result<void> measure(const std::vector<Place>& places, std::uint64_t size) {
    std::uint64_t used_to = 0;
    std::uint64_t used = 0;
    for (const Place& place : places) {
      ++totals_.chunks;
      if (!place.damage.empty()) continue;
      totals_.chunk_bytes += place.range.length;
      const std::uint64_t end = place.range.offset + place.range.length;
      if (end <= used_to) continue;
      used += end - std::max(used_to, place.range.offset);
      used_to = end;
    }
    ZARRFS_TRY(totals_.index_bytes, index_bytes(places));
    if (shards_are_files(reader_.layout()) && used + totals_.index_bytes <= size) {
      totals_.dead_bytes = size - used - totals_.index_bytes;
      const std::uint64_t compact = totals_.chunk_bytes + totals_.index_bytes;
      totals_.freeable_bytes = size - std::min(size, compact);
    }
    return {};
  }

  // The index of the shard and those of the shards within it that hold chunks.
  [[nodiscard]] Result<std::uint64_t> index_bytes(const std::vector<Place>& places) const {
    const Layout& layout = reader_.layout();
    ZARRFS_TRY(const IndexFormat outer, layout.index_format_of(cell_));
    std::uint64_t bytes = outer.encoded_size();
    std::uint64_t below = 1;
    for (std::size_t level = layout.levels().size(); level-- > 1;) {
      const IndexFormat& format = layout.index_format(level);
      below *= format.entries();
      std::vector<std::uint64_t> groups;
      groups.reserve(places.size());
      for (const Place& place : places) groups.push_back(place.number / below);
      std::sort(groups.begin(), groups.end());
      const auto last = std::unique(groups.begin(), groups.end());
      bytes += static_cast<std::uint64_t>(last - groups.begin()) * format.encoded_size();
    }
    return bytes;
  }

  Result<void> finish_chunk(const Place& place) {
    std::string damage = place.damage;
    if (damage.empty() && options_.decode) {
      ZARRFS_TRY(damage, decode(place));
    }
    if (!damage.empty()) {
      report({.array = {},
              .shard = {},
              .chunk = dotted(place.chunk),
              .range = place.range,
              .reason = damage});
    }
    if (options_.on_chunk) {
      const HeldLock lock(reporting_);
      options_.on_chunk(ScannedChunk{place.chunk, place.range, !damage.empty()});
    }
    return {};
  }

  // The bytes between the chunks, and those of chunks that have no checksum of their own. A chunk
  // that is a file of its own was read as a whole, and so compared.
  Result<void> check_file() {
    ZARRFS_CHECK(open_file());
    if (!reader_.layout().sharded() && !file_->place()) return {};
    auto checked = whole_.check(*file_);
    if (checked || checked.error().fault != Fault::kDamaged) return checked;
    report({.array = {}, .shard = {}, .chunk = "", .range = {}, .reason = checked.error().message});
    return {};
  }

  Result<void> open_file() {
    if (file_) return {};
    ZARRFS_TRY(file_, reader_.store().open(path_));
    if (!file_) return fail(Fault::kDamaged, "the file vanished while it was read");
    return {};
  }

  // What is wrong with the bytes of a chunk; empty where they decode.
  Result<std::string> decode(const Place& place) {
    auto bytes = read(place);
    if (!bytes && bytes.error().fault != Fault::kDamaged) return fail(bytes.error());
    if (!bytes) return bytes.error().message;
    const Layout& layout = reader_.layout();
    if (layout.regular()) return complaint(layout.chunk_chain().decode(*bytes));
    ZARRFS_TRY(const CodecChain chain, layout.chain_of(cell_));
    return complaint(chain.decode(*bytes));
  }

  Result<Bytes> read(const Place& place) {
    if (!shards_are_files(reader_.layout())) {
      ZARRFS_TRY(const auto found, reader_.find_chunk(place.chunk));
      if (!found) return fail(Fault::kDamaged, "the chunk vanished while it was read");
      return found->read();
    }
    ZARRFS_CHECK(open_file());
    return file_->read_range(place.range);
  }

  static std::string complaint(const Result<Bytes>& decoded) {
    if (decoded) return {};
    return decoded.error().message.empty() ? "cannot be decoded" : decoded.error().message;
  }

  void report(Damage damage) {
    ++totals_.damaged;
    if (!options_.on_damage) return;
    damage.array = reader_.path();
    damage.shard = path_;
    const HeldLock lock(reporting_);
    options_.on_damage(damage);
  }

  ArrayReader& reader_;
  const ScanOptions& options_;
  CommandMutex& reporting_;
  WholeFiles& whole_;
  std::vector<std::uint64_t> cell_;
  std::string path_;
  std::shared_ptr<File> file_;
  Totals totals_;
};

}  // namespace

Totals& Totals::operator+=(const Totals& other) {
  shards += other.shards;
  object_bytes += other.object_bytes;
  chunks += other.chunks;
  chunk_bytes += other.chunk_bytes;
  index_bytes += other.index_bytes;
  dead_bytes += other.dead_bytes;
  damaged += other.damaged;
  freeable_bytes += other.freeable_bytes;
  return *this;
}

Result<Totals> scan_array(ArrayReader& reader, const std::vector<std::uint64_t>& cells,
                          const ScanOptions& options) {
  const std::vector<std::uint64_t> counts = reader.layout().grid().counts();
  CommandMutex reporting;
  TableMutex adding;
  WholeFiles whole(reader.store());
  Totals totals;
  ZARRFS_CHECK(parallel_for(cells.size(), options.threads, [&](std::uint64_t i) -> Result<void> {
    ShardScanner scanner(reader, options, reporting, whole, coordinates_of(cells[i], counts));
    ZARRFS_TRY(const Totals one, scanner.run());
    const HeldLock lock(adding);
    totals += one;
    return {};
  }));
  return totals;
}

}  // namespace zarrfs::tools
