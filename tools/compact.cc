// zarrfs compact: takes the dead space out of shards.
#include "core/base/lock_order.h"
#include "core/metadata/grid.h"
#include "core/write/shard_builder.h"
#include "core/zarr/embedded_file.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/exclusive_writer.h"
#include "tools/shared/numbers.h"
#include "tools/shared/parallel.h"
#include "tools/shared/scan.h"
#include "tools/shared/source.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {
namespace {

constexpr mode_t kPermissionBits = 0777;

class Compact final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "compact"; }
  [[nodiscard]] std::string summary() const override {
    return "Take the dead space out of shards, one after the other, in place";
  }

  void declare(CLI::App& app) override {
    app.add_option("SOURCE", source_, "The store: a directory or a file:// URL")->required();
    app.add_option("PATH", path_, "Only the node at PATH and what is below it");
    app.add_option("--min-dead", min_dead_,
                   "Only shards of which at least this many percent are dead")
        ->check(number_between(0, 100))
        ->capture_default_str();
    app.add_option("--foreign-bytes", foreign_bytes_,
                   "keep: a shard that is an HDF5 or TIFF file as well is left as it is, by name; "
                   "drop: it becomes a shard only")
        ->check(CLI::IsMember({"keep", "drop"}))
        ->capture_default_str();
    app.add_flag("-n,--dry-run", dry_run_, "Only say what would be done");
    app.add_option("-j,--threads", threads_, "Threads")->check(whole_number_between(1, 1024));
    app.footer(
        "Each shard is replaced at once by a complete and durable new one. Damaged shards are "
        "left\n"
        "as they are, by name (exit status 1).");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch(InterruptWatch::Work::kWrites);
    const auto done = compact(console);
    console.out << counted(shards_, "shard") << ", " << human_bytes(freed_)
                << (dry_run_ ? " could be freed\n" : " freed\n");
    if (!done) return console.failed(done.error());
    return damaged_ == 0 ? kGood : kFound;
  }

 private:
  Result<void> compact(const Console& console) {
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_));
    StoreLock lock;
    if (!dry_run_) {
      if (const auto reason = source.store->why_read_only()) {
        return fail(Fault::kReadOnly, source_ + ": " + *reason);
      }
      ZARRFS_TRY(const std::string directory, local_path(source_));
      ZARRFS_TRY(lock, lock_exclusively(directory));
    }
    const auto complain = [&](const std::string& path, const Error& error) {
      ++damaged_;
      console.say(shown_path(path) + " is left as it is: " + error.message);
    };
    ZARRFS_TRY(const auto arrays, arrays_below(source, clean_path(path_), complain));
    for (const SourceArray& array : arrays) {
      if (!array.node.node.layout->sharded()) continue;
      ZARRFS_CHECK(compact_array(console, source, array));
    }
    return {};
  }

  Result<void> compact_array(const Console& console, const Source& source,
                             const SourceArray& array) {
    const auto reader = source.reader(array.path, array.node);
    ZARRFS_TRY(const StoredShards stored,
               list_shards(*source.store, array.path, *array.node.node.array));
    std::vector<std::vector<std::uint64_t>> wasteful;
    std::uint64_t freeable = 0;
    ScanOptions scan{.threads = threads_};
    scan.on_shard = [&](const ScannedShard& cell) {
      const auto least = static_cast<double>(cell.totals.object_bytes) * min_dead_ / 100;
      const auto dead = static_cast<double>(cell.totals.freeable_bytes);
      if (cell.totals.damaged > 0) {
        ++damaged_;
        console.say(reader->shard_path(cell.cell) + " is damaged, and left as it is");
      } else if (cell.totals.freeable_bytes > 0 && dead >= least &&
                 !is_another_file(console, *reader, cell.cell)) {
        wasteful.push_back(cell.cell);
        freeable += cell.totals.freeable_bytes;
      }
    };
    ZARRFS_CHECK(scan_array(*reader, stored.cells, scan));
    if (dry_run_) {
      shards_ += wasteful.size();
      freed_ += freeable;
      return {};
    }
    Progress progress(console, "compact " + shown_path(array.path), wasteful.size(), "shards");
    return parallel_for(wasteful.size(), threads_, [&](std::uint64_t i) -> Result<void> {
      ZARRFS_TRY(const std::uint64_t freed, compact_shard(*reader, wasteful[i]));
      progress.add(1);
      const HeldLock lock(adding_);
      freed_ += freed;
      shards_ += freed > 0 ? 1 : 0;
      return {};
    });
  }

  // Whether what seems dead is an HDF5 or TIFF file, whose chunks are the shard's.
  [[nodiscard]] bool is_another_file(const Console& console, ArrayReader& reader,
                                     const std::vector<std::uint64_t>& cell) const {
    if (foreign_bytes_ == "drop") return false;
    const auto other = embedded_file_in(reader, cell);
    if (other && !*other) return false;
    const std::string why = other ? "is a file of " + **other + ", too" : other.error().message;
    console.say(reader.shard_path(cell) + " " + why + ", and left as it is");
    return true;
  }

  // Returns the bytes that the new shard is shorter; 0 where nothing was changed.
  static Result<std::uint64_t> compact_shard(ArrayReader& reader,
                                             const std::vector<std::uint64_t>& cell) {
    Store& store = reader.store();
    const std::string path = reader.shard_path(cell);
    ZARRFS_TRY(const std::shared_ptr<const File> file, store.open(path));
    if (!file) return 0;
    ChunkOrigins chunks;
    ZARRFS_CHECK(reader.visit_shard(cell, 0, [&](const ArrayReader::Visited& visited) {
      chunks[visited.number] = {file, nullptr, visited.range};
      return true;
    }));
    const std::string temporary = temporary_beside(path);
    ZARRFS_CHECK(store.remove(temporary));
    ZARRFS_TRY(const auto next, store.create(temporary, file->status().st_mode & kPermissionBits));
    auto replaced = replace(store, *next, reader.layout(), cell, chunks, *file, path);
    if (!replaced || *replaced == 0) {
      ZARRFS_CHECK(store.remove(temporary));
    }
    return replaced;
  }

  static Result<std::uint64_t> replace(Store& store, NewFile& next, const Layout& layout,
                                       const std::vector<std::uint64_t>& cell,
                                       const ChunkOrigins& chunks, const File& file,
                                       const std::string& path) {
    ZARRFS_TRY(const std::uint64_t size, build_shard(next, layout, cell, chunks));
    if (size >= file.size()) return 0;
    ZARRFS_CHECK(next.sync());
    ZARRFS_TRY(const auto status, store.status(path));
    if (!status || !(identity_of(*status) == file.identity())) {
      return fail(Fault::kStale, path + " was changed by another program meanwhile");
    }
    ZARRFS_CHECK(store.rename(temporary_beside(path), path));
    ZARRFS_CHECK(store.sync_directory(parent_path(path)));
    return file.size() - size;
  }

  std::string source_;
  std::string path_;
  double min_dead_ = 0;
  std::string foreign_bytes_ = "keep";
  bool dry_run_ = false;
  unsigned threads_ = default_threads();
  TableMutex adding_;
  std::uint64_t shards_ = 0;
  std::uint64_t freed_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace

std::unique_ptr<Command> compact_command() { return std::make_unique<Compact>(); }

}  // namespace zarrfs::tools
