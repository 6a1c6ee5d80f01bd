// zarrfs verify: looks for damage in every shard of a store.
#include "core/base/json.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/missing.h"
#include "tools/shared/numbers.h"
#include "tools/shared/parallel.h"
#include "tools/shared/part_results.h"
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
    declare_source(app, source_, source_options_);
    app.get_option("SOURCE")->required(false);  // --sum has none
    app.add_option("PATH", path_, "Only the node at PATH and what is below it");
    declare_parts(app, parts_);
    app.add_flag("--decode", decode_, "Also decode every chunk (reads the whole store)");
    app.add_flag("--json", json_, "One JSON document, for programs");
    app.add_option("-j,--threads", threads_, "Threads")->check(whole_number_between(1, 1024));
    app.footer(
        "Exits with 0 where nothing is damaged, 1 where something is, or where the store is the\n"
        "unfinished result of a conversion, 3 where something may not be\n"
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
    if (const auto wrong = wrong_parts(parts_, !source_.empty(), "SOURCE")) {
      console.say(*wrong);
      return kUsage;
    }
    const auto done = parts_.sum.empty() ? check(console) : add_up(console);
    if (json_) console.out << dump_document(result(done.has_value()));
    if (!done) {
      return parts_.sum.empty() ? console.failed(done.error()) : console.could_not(done.error());
    }
    if (!parts_.result.empty()) {
      const auto written = write_part_result(parts_, "verify", result(true));
      if (!written) return console.failed(written.error());
    }
    if (!json_) {
      console.out << counted(totals_.shards, "object") << ", " << counted(totals_.chunks, "chunk")
                  << ", " << human_bytes(totals_.object_bytes) << ": "
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
  [[nodiscard]] Json result(bool done) const {
    return {{"store", source_},
            {"complete", done && unread_ == 0},
            {"objects", totals_.shards},
            {"chunks", totals_.chunks},
            {"bytes", totals_.object_bytes},
            {"damage", listed_},
            {"not_understood", not_understood_},
            {"perhaps_unmarked", perhaps_unmarked_},
            {"decoded", decode_}};
  }

  // What parts have found, as if it were found here.
  Result<void> add_up(const Console& console) {
    ZARRFS_TRY(const auto results, read_part_results(parts_.sum, "verify"));
    decode_ = true;
    for (const PartResult& part : results) {
      if (!part.json->contains("store") || !part.json["store"].is_string()) {
        return fail(Fault::kDamaged, part.file + ": it names no store");
      }
      source_ = part.json["store"];
      ZARRFS_TRY(const std::uint64_t objects, part.number("objects"));
      ZARRFS_TRY(const std::uint64_t chunks, part.number("chunks"));
      ZARRFS_TRY(const std::uint64_t bytes, part.number("bytes"));
      totals_.shards += objects;
      totals_.chunks += chunks;
      totals_.object_bytes += bytes;
      ZARRFS_CHECK(part.append("not_understood", not_understood_));
      ZARRFS_CHECK(part.append("perhaps_unmarked", perhaps_unmarked_));
      ZARRFS_CHECK(part.append("damage", listed_));
      ZARRFS_TRY(const bool complete, part.flag("complete"));
      if (!complete) ++unread_;
      ZARRFS_TRY(const bool decoded, part.flag("decoded"));
      decode_ = decode_ && decoded;
    }
    damages_ = listed_.size();
    if (json_) return {};
    for (const Json& damage : listed_) console.out << on_one_line(dump_json(damage)) << '\n';
    return {};
  }

  struct Piece {
    SourceArray array;
    std::vector<std::uint64_t> cells;
  };

  Result<void> check(const Console& console) {
    ZARRFS_CHECK(forget_part_result(parts_));
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_, source_options_));
    const auto complain = [&](const std::string& path, const Error& error) {
      if (parts_.tells_of_nodes()) tell_node(console, path, error);
    };
    if (source.unfinished && parts_.tells_of_nodes()) {
      tell(console,
           Damage{.array = "",
                  .shard = {},
                  .chunk = {},
                  .range = {},
                  .reason = "the unfinished result of a conversion: not all of it is there"});
    }
    auto below = arrays_below(source, clean_path(path_), complain);
    // Documents are what a conversion in parts writes last.
    if (!below && source.unfinished && below.error().fault == Fault::kInvalid) return {};
    ZARRFS_TRY(auto arrays, std::move(below));
    ZARRFS_TRY(std::vector<Piece> pieces, pieces_of(console, source, arrays));
    std::uint64_t cells = 0;
    for (const Piece& piece : pieces) cells += piece.cells.size();
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

  // The objects of the part, or of all arrays.
  Result<std::vector<Piece>> pieces_of(const Console& console, const Source& source,
                                       std::vector<SourceArray>& arrays) {
    std::uint64_t total = 0;
    for (const SourceArray& array : arrays) {
      const auto count = array.node.node.layout->grid().count().value_or(0);
      const auto sum = checked_add(total, count);
      if (!sum) return fail(Fault::kTooBig, "the grids of the arrays have too many places");
      total = *sum;
    }
    const NumberRange range = parts_.range_of(total);
    std::vector<Piece> pieces;
    std::uint64_t first = 0;
    for (SourceArray& array : arrays) {
      if (parts_.tells_of_nodes()) {
        ZARRFS_TRY(const bool unmarked, may_lack_mark(source, array));
        if (unmarked) tell_unmarked(console, array);
      }
      const std::uint64_t count = array.node.node.layout->grid().count().value_or(0);
      const NumberRange mine = common_range(range, {first, first + count});
      const NumberRange within{mine.begin - first, mine.end - first};
      first += count;
      if (mine.count() == 0 && !parts_.part.empty()) continue;
      auto cells = cells_of(source, array, within);
      if (cells) {
        pieces.push_back({std::move(array), std::move(*cells)});
      } else if (is_of_array(cells.error().fault)) {
        tell_node(console, array.path, cells.error());
      } else {
        return fail(cells.error());
      }
    }
    return pieces;
  }

  // Why a node is not checked, or what is damaged in it.
  void tell_node(const Console& console, const std::string& path, const Error& error) {
    if (error.fault == Fault::kUnsupported) return tell_not_understood(console, path, error);
    if (error.fault == Fault::kDenied) return tell_unread(console, path, error);
    tell(console,
         Damage{.array = path, .shard = {}, .chunk = {}, .range = {}, .reason = error.message});
  }

  Result<std::vector<std::uint64_t>> cells_of(const Source& source, const SourceArray& array,
                                              NumberRange within) const {
    const ArrayMetadata& metadata = *array.node.node.array;
    if (parts_.part.empty()) {
      ZARRFS_TRY(StoredShards stored, list_shards(*source.store, array.path, metadata));
      return std::move(stored.cells);
    }
    const CellBox box = box_of(metadata.grid.counts(), within);
    ZARRFS_TRY(auto cells, list_shards_within(*source.store, array.path, metadata, box));
    std::erase_if(cells,
                  [&](std::uint64_t cell) { return cell < within.begin || cell >= within.end; });
    return cells;
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
    {
      Json entry = {{"array", damage.array}, {"shard", damage.shard}};
      if (!damage.chunk.empty()) entry["chunk"] = damage.chunk;
      if (damage.range) entry["offset"] = damage.range->offset;
      if (damage.range) entry["length"] = damage.range->length;
      entry["reason"] = damage.reason;
      listed_.push_back(std::move(entry));
    }
    if (json_) return;
    const std::string place =
        (damage.shard.empty() ? shown_path(damage.array) : on_one_line(damage.shard)) + ": ";
    // What the store itself says may begin with the name already.
    if (!on_one_line(damage.reason).starts_with(place)) console.out << place;
    if (!damage.chunk.empty()) console.out << "chunk " << damage.chunk << ": ";
    if (damage.range) {
      console.out << "[" << damage.range->offset << ", +" << damage.range->length << "): ";
    }
    console.out << on_one_line(damage.reason) << '\n';
  }

  std::string source_;

  SourceOptions source_options_;
  std::string path_;
  PartOptions parts_;
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
