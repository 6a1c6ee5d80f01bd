// zarrfs verify: looks for damage in every shard of a store.
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/missing.h"
#include "tools/shared/numbers.h"
#include "tools/shared/parallel.h"
#include "tools/shared/scan.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {
namespace {

class Verify final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "verify"; }
  [[nodiscard]] std::string summary() const override {
    return "Check every shard's index and ranges, and with --decode every chunk";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, remote_);
    app.add_option("PATH", path_, "Only the node at PATH and what is below it");
    app.add_flag("--decode", decode_, "Also decode every chunk (reads the whole store)");
    app.add_flag("--json", json_, "One JSON document, for programs");
    app.add_option("-j,--threads", threads_, "Threads")->check(whole_number_between(1, 1024));
    app.footer(
        "Exits with 0 where nothing is damaged, 1 where something is, 3 where something may not "
        "be\n"
        "read. Nodes that are not understood are named, and not checked. Arrays whose fill value\n"
        "may mark missing cells although they have no _FillValue, as stores have that were made "
        "of\n"
        "Zarr v2 by earlier versions, are named, too: a guess (axes with names, a fill value "
        "that\n"
        "is neither 0 nor NaN), which is no damage. See zarrfs mark.");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    const auto done = check(console);
    if (json_) {
      console.out << dump_document(Json{{"store", source_},
                                        {"complete", done.has_value() && unread_ == 0},
                                        {"objects", totals_.shards},
                                        {"chunks", totals_.chunks},
                                        {"bytes", totals_.object_bytes},
                                        {"damage", listed_},
                                        {"not_understood", not_understood_},
                                        {"perhaps_unmarked", perhaps_unmarked_}});
    }
    if (!done) return console.failed(done.error());
    if (!json_) {
      console.out << human_count(totals_.shards) << " objects, " << human_count(totals_.chunks)
                  << " chunks, " << human_bytes(totals_.object_bytes) << ": "
                  << (damages_ == 0 ? "no damage" : human_count(damages_) + " damaged")
                  << (not_understood_.empty()
                          ? ""
                          : ", " + human_count(not_understood_.size()) + " not understood")
                  << (perhaps_unmarked_.empty()
                          ? ""
                          : ", " + human_count(perhaps_unmarked_.size()) +
                                " perhaps without their mark of missing cells")
                  << (decode_ ? "" : " (indexes only; --decode reads every chunk)") << '\n';
    }
    if (damages_ > 0) return kFound;
    return unread_ == 0 ? kGood : kCouldNot;
  }

 private:
  struct Piece {
    SourceArray array;
    std::vector<std::uint64_t> cells;
  };

  Result<void> check(const Console& console) {
    ZARRFS_TRY(const Source source, Source::open(source_, remote_));
    const auto complain = [&](const std::string& path, const Error& error) {
      if (error.fault == Fault::kUnsupported) return tell_not_understood(console, path, error);
      if (error.fault == Fault::kDenied) return tell_unread(console, path, error);
      tell(console,
           Damage{.array = path, .shard = {}, .chunk = {}, .range = {}, .reason = error.message});
    };
    ZARRFS_TRY(auto arrays, arrays_below(source, clean_path(path_), complain));
    std::vector<Piece> pieces;
    std::uint64_t cells = 0;
    for (SourceArray& array : arrays) {
      ZARRFS_TRY(StoredShards stored,
                 list_shards(*source.store, array.path, *array.node.node.array));
      cells += stored.cells.size();
      ZARRFS_TRY(const bool unmarked, may_lack_mark(source, array));
      if (unmarked) tell_unmarked(console, array);
      pieces.push_back({std::move(array), std::move(stored.cells)});
    }
    Progress progress(console, "verify", cells, "shards");
    ScanOptions options{.threads = threads_, .decode = decode_};
    options.on_damage = [&](const Damage& damage) { tell(console, damage); };
    options.on_progress = [&](std::uint64_t) { progress.add(1); };
    for (const Piece& piece : pieces) {
      const auto reader = source.reader(piece.array.path, piece.array.node);
      ZARRFS_TRY(const Totals totals, scan_array(*reader, piece.cells, options));
      totals_ += totals;
    }
    return {};
  }

  void tell_not_understood(const Console& console, const std::string& path, const Error& error) {
    not_understood_.push_back({{"array", path}, {"reason", error.message}});
    console.say(shown_path(path) + " is not understood, and not checked: " + error.message);
  }

  void tell_unmarked(const Console& console, const SourceArray& array) {
    const Json& fill = array.node.node.array->fill_value;
    perhaps_unmarked_.push_back({{"array", array.path}, {"fill_value", fill}});
    if (json_) return;
    console.out << on_one_line(shown_path(array.path) + ": its fill value " + dump_json(fill) +
                               " may mark missing cells, and no _FillValue says so (a guess; "
                               "zarrfs mark adds it)")
                << '\n';
  }

  void tell_unread(const Console& console, const std::string& path, const Error& error) {
    ++unread_;
    console.say(shown_path(path) + " is not checked: " + error.message);
  }

  void tell(const Console& console, const Damage& damage) {
    ++damages_;
    if (json_) {
      Json entry = {{"array", damage.array}, {"shard", damage.shard}};
      if (!damage.chunk.empty()) entry["chunk"] = damage.chunk;
      if (damage.range) entry["offset"] = damage.range->offset;
      if (damage.range) entry["length"] = damage.range->length;
      entry["reason"] = damage.reason;
      listed_.push_back(std::move(entry));
      return;
    }
    console.out << (damage.shard.empty() ? shown_path(damage.array) : on_one_line(damage.shard))
                << ": ";
    if (!damage.chunk.empty()) console.out << "chunk " << damage.chunk << ": ";
    if (damage.range) {
      console.out << "[" << damage.range->offset << ", +" << damage.range->length << "): ";
    }
    console.out << on_one_line(damage.reason) << '\n';
  }

  std::string source_;

  std::string remote_;
  std::string path_;
  bool decode_ = false;
  bool json_ = false;
  unsigned threads_ = default_threads();
  Totals totals_;
  std::uint64_t damages_ = 0;
  std::uint64_t unread_ = 0;  // nodes whose documents may not be read
  Json listed_ = Json::array();
  Json not_understood_ = Json::array();
  Json perhaps_unmarked_ = Json::array();
};

}  // namespace

std::unique_ptr<Command> verify_command() { return std::make_unique<Verify>(); }

}  // namespace zarrfs::tools
