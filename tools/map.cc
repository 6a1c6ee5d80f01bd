// zarrfs map: a picture of an array's chunk grid along two axes.
#include <algorithm>

#include "core/base/printable.h"
#include "tools/commands.h"
#include "tools/picture/chunk_map.h"
#include "tools/shared/console.h"
#include "tools/shared/numbers.h"
#include "tools/shared/parallel.h"
#include "tools/shared/scan.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {
namespace {

constexpr std::uint64_t kMaxPictureEdge = 4096;  // cells of a PNG along one axis
constexpr std::uint64_t kMaxTerminalRows = 200;

// Which cells of the picture stand for chunks along one axis.
struct PictureAxis {
  std::uint64_t chunks = 1;
  std::uint64_t cells = 1;
  [[nodiscard]] std::uint64_t cell_of(std::uint64_t chunk) const {
    return cells == chunks ? chunk
                           : static_cast<std::uint64_t>(static_cast<double>(chunk) *
                                                        static_cast<double>(cells) /
                                                        static_cast<double>(chunks));
  }
};

class Map final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "map"; }
  [[nodiscard]] std::string summary() const override {
    return "Draw an array's chunks along two axes: presence, size, dead space, damage";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    app.add_option("ARRAY", array_, "The array's path; not needed if SOURCE is an array");
    app.add_option("--show", show_, "presence, size, compression or dead")
        ->check(CLI::IsMember({"presence", "size", "compression", "dead"}))
        ->capture_default_str();
    add_numbers(app, "--axes", axes_, 2,
                "The axes downwards and to the right; the last two otherwise");
    app.add_option("--at", at_,
                   "AXIS=CHUNK: only that chunk along another axis (otherwise all are summed up); "
                   "may be repeated")
        ->allow_extra_args(false);
    app.add_option("-o,--output", output_, "A PNG file to write, rather than the terminal");
    app.add_option("--square", square_, "Pixels of a chunk's square in the PNG; 0: chosen")
        ->check(whole_number_between(0, 256));
    app.add_option("--colours", colours_, "In the terminal: auto, none (characters), 256 or 24bit")
        ->check(CLI::IsMember(kColourChoices))
        ->capture_default_str();
    app.add_flag("--decode", decode_, "Decode every chunk, to find damage within chunks");
    app.add_option("-j,--threads", threads_, "Threads")->check(whole_number_between(1, 1024));
    app.footer(
        "Red or X: damaged. Dark grey or blank: missing. Dark blue to yellow, or . to @: from "
        "nothing "
        "to\nmost.");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    const auto damaged = draw(console);
    if (!damaged) return console.failed(damaged.error());
    return *damaged == 0 ? kGood : kFound;
  }

 private:
  Result<std::uint64_t> draw(const Console& console) {
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_, source_options_));
    const std::string path = clean_path(array_);
    ZARRFS_TRY(const SourceArray array, find_array(source, path));
    const auto reader = source.reader(path, array.node);
    ZARRFS_CHECK(choose_axes(*reader));
    ZARRFS_TRY(const StoredShards stored, list_shards(*source.store, path, *array.node.node.array));
    begin_map(*reader, console);
    Progress progress(console, "map", stored.cells.size(), "shards");
    ScanOptions scan{.threads = threads_, .decode = decode_};
    scan.on_progress = [&](std::uint64_t) { progress.add(1); };
    scan.on_chunk = [&](const ScannedChunk& chunk) { add_chunk(chunk); };
    scan.on_shard = [&](const ScannedShard& cell) { add_shard(*reader, cell); };
    ZARRFS_TRY(const Totals totals, scan_array(*reader, stored.cells, scan));
    ZARRFS_CHECK(show(console, *reader));
    tell(console, totals);
    return totals.damaged;
  }

  Result<void> choose_axes(const ArrayReader& reader) {
    counts_ = reader.layout().regular() ? reader.layout().chunk_counts()
                                        : reader.layout().grid().counts();
    const std::size_t rank = counts_.size();
    if (axes_.empty() && rank >= 2) axes_ = {rank - 2, rank - 1};
    for (const std::uint64_t axis : axes_) {
      if (axis < rank) continue;
      return fail(Fault::kInvalid, "--axes " + std::to_string(axis) + ": the array has " +
                                       std::to_string(rank) + " axes, from 0 on");
    }
    if (axes_.size() == 2 && axes_[0] == axes_[1]) {
      return fail(Fault::kInvalid, "--axes names one axis twice");
    }
    fixed_.assign(rank, std::nullopt);
    for (const std::string& text : at_) {
      const auto place = parse_place(text);
      if (!place || place->first >= rank || place->second >= counts_[place->first]) {
        return fail(Fault::kInvalid,
                    "--at " + printable(text) + ": expected AXIS=CHUNK within " + dotted(counts_));
      }
      fixed_[place->first] = place->second;
    }
    return {};
  }

  static std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_place(
      const std::string& text) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) return std::nullopt;
    const std::vector<std::uint64_t> any(1, ~std::uint64_t{0});
    const auto axis = parse_coordinates(text.substr(0, sign), any);
    const auto chunk = parse_coordinates(text.substr(sign + 1), any);
    if (!axis || !chunk) return std::nullopt;
    return std::pair((*axis)[0], (*chunk)[0]);
  }

  void begin_map(const ArrayReader& reader, const Console& console) {
    down_.chunks = counts_.size() >= 2 ? counts_[axes_[0]] : 1;
    right_.chunks = counts_.empty() ? 1 : counts_[counts_.size() >= 2 ? axes_[1] : 0];
    const bool terminal = output_.empty();
    const std::uint64_t most_right = terminal ? terminal_size().columns : kMaxPictureEdge;
    const std::uint64_t most_down = terminal ? kMaxTerminalRows : kMaxPictureEdge;
    down_.cells = std::min(down_.chunks, most_down);
    right_.cells = std::min(right_.chunks, most_right);
    map_.rows = down_.cells;
    map_.columns = right_.cells;
    map_.cells.resize(map_.rows * map_.columns);
    if (reader.layout().regular()) {
      map_.chunk_bytes = reader.layout().chunk_chain().decoded().bytes();
    }
    std::uint64_t depth = 1;
    for (std::size_t axis = 0; axis < counts_.size(); ++axis) {
      const bool drawn = counts_.size() < 2 || axis == axes_[0] || axis == axes_[1];
      if (!drawn && !fixed_[axis]) depth *= counts_[axis];
    }
    const std::uint64_t plane = down_.chunks * right_.chunks;
    for (MapCell& cell : map_.cells) {
      cell.possible = std::max<std::uint64_t>(1, plane / map_.cells.size()) * depth;
    }
    if (terminal && (down_.cells < down_.chunks || right_.cells < right_.chunks)) {
      console.say("several chunks share a cell of this picture; -o FILE.png has room for more");
    }
  }

  [[nodiscard]] bool selected(std::span<const std::uint64_t> chunk) const {
    for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
      if (fixed_[axis] && *fixed_[axis] != chunk[axis]) return false;
    }
    return true;
  }

  MapCell& cell_at(std::span<const std::uint64_t> chunk) {
    const std::uint64_t row = chunk.size() >= 2 ? down_.cell_of(chunk[axes_[0]]) : 0;
    const std::uint64_t column =
        chunk.empty() ? 0 : right_.cell_of(chunk[chunk.size() >= 2 ? axes_[1] : 0]);
    return map_.cells[row * map_.columns + column];
  }

  void add_chunk(const ScannedChunk& chunk) {
    if (!selected(chunk.chunk)) return;
    MapCell& cell = cell_at(chunk.chunk);
    ++cell.present;
    cell.bytes += chunk.range.length;
    cell.damaged = cell.damaged || chunk.damaged;
  }

  // Marks the chunks of a shard that is damaged as a whole, or that has dead space.
  void add_shard(const ArrayReader& reader, const ScannedShard& scanned) {
    const bool damaged = scanned.totals.damaged > 0 && scanned.totals.chunks == 0;
    if (!damaged && scanned.totals.dead_bytes == 0) return;
    const double dead =
        static_cast<double>(scanned.totals.dead_bytes) /
        static_cast<double>(std::max<std::uint64_t>(scanned.totals.object_bytes, 1));
    const std::size_t rank = counts_.size();
    std::vector<std::uint64_t> first(rank);
    std::vector<std::uint64_t> last(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      first[axis] = first_chunk(reader, axis, scanned.cell[axis]);
      last[axis] = std::min(counts_[axis], first_chunk(reader, axis, scanned.cell[axis] + 1)) - 1;
      if (fixed_[axis] && (*fixed_[axis] < first[axis] || *fixed_[axis] > last[axis])) return;
    }
    auto at = first;
    const std::size_t down = rank >= 2 ? axes_[0] : 0;
    const std::size_t right = rank >= 2 ? axes_[1] : 0;
    const std::uint64_t rows = rank >= 2 ? last[down] - first[down] + 1 : 1;
    const std::uint64_t columns = rank >= 1 ? last[right] - first[right] + 1 : 1;
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t column = 0; column < columns; ++column) {
        if (rank >= 2) at[down] = first[down] + row;
        if (rank >= 1) at[right] = first[right] + column;
        MapCell& cell = cell_at(at);
        cell.dead = std::max(cell.dead, dead);
        cell.damaged = cell.damaged || damaged;
      }
    }
  }

  // The first chunk along `axis` of the shards `cell`, or the number of chunks behind the
  // last.
  [[nodiscard]] std::uint64_t first_chunk(const ArrayReader& reader, std::size_t axis,
                                          std::uint64_t cell) const {
    const AxisGrid& edges = reader.layout().grid().axes[axis];
    if (cell >= edges.count()) return counts_[axis];
    return reader.layout().regular() ? edges.begin(cell) / reader.layout().chunk_shape()[axis]
                                     : cell;
  }

  [[nodiscard]] std::uint64_t chunks_of_shard(const ArrayReader& reader, std::size_t drawn) const {
    const std::size_t rank = counts_.size();
    if (!reader.layout().sharded() || !reader.layout().grid().regular() || rank == 0) return 0;
    if (rank == 1 && drawn == 0) return 0;
    const std::size_t axis = rank == 1 ? 0 : axes_[drawn];
    const PictureAxis& picture = drawn == 0 ? down_ : right_;
    if (picture.cells != picture.chunks) return 0;
    return first_chunk(reader, axis, 1);
  }

  Result<void> show(const Console& console, const ArrayReader& reader) {
    Measure measure = Measure::kPresence;
    if (show_ == "size") measure = Measure::kSize;
    if (show_ == "compression") measure = Measure::kCompression;
    if (show_ == "dead") measure = Measure::kDead;
    const auto colours = map_.colours(measure);
    if (output_.empty()) {
      console.out << terminal_picture(colours, map_.rows, map_.columns,
                                      colour_depth(console, colours_));
      return {};
    }
    if (colours.empty()) return fail(Fault::kInvalid, "the array has no chunks to draw");
    const std::uint64_t longest = std::max(map_.rows, map_.columns);
    const std::uint64_t square =
        square_ > 0 ? square_ : std::clamp<std::uint64_t>(1024 / longest, 1, 32);
    return write_png(output_, colours, map_.rows, map_.columns, square, chunks_of_shard(reader, 0),
                     chunks_of_shard(reader, 1));
  }

  void tell(const Console& console, const Totals& totals) const {
    std::ostream& out = output_.empty() ? console.out : console.err;
    out << show_ << ": " << counted(totals.chunks, "chunk") << " in "
        << counted(totals.shards, "object") << ", " << human_bytes(totals.object_bytes) << ", "
        << human_bytes(totals.dead_bytes) << " dead, " << human_count(totals.damaged)
        << " damaged\n";
  }

  std::string source_;

  SourceOptions source_options_;
  std::string array_;
  std::string show_ = "presence";
  std::vector<std::uint64_t> axes_;
  std::vector<std::string> at_;
  std::string output_;
  std::string colours_ = "auto";
  unsigned square_ = 0;
  bool decode_ = false;
  unsigned threads_ = default_threads();

  std::vector<std::uint64_t> counts_;
  std::vector<std::optional<std::uint64_t>> fixed_;
  PictureAxis down_;
  PictureAxis right_;
  ChunkMap map_;
};

}  // namespace

std::unique_ptr<Command> map_command() { return std::make_unique<Map>(); }

}  // namespace zarrfs::tools
