// zarrfs info: what a store holds.
#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/formats/open_source.h"
#include "core/zarr/shard_form.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/numbers.h"
#include "tools/shared/parallel.h"
#include "tools/shared/scan.h"
#include "tools/shared/shown.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {
namespace {

struct ArrayFacts {
  std::string path;
  SourceNode node;
  Totals totals;
  std::uint64_t outside = 0;
  std::uint64_t logical_bytes = 0;  // 0 for types of variable length
  std::string shown;
  std::string format;  // of a volume that is shown as Zarr
  std::string damage;  // the first that was found
};

// The shape of the shards, in array axes.
std::vector<std::uint64_t> object_shape(const Grid& grid) {
  std::vector<std::uint64_t> shape;
  for (const AxisGrid& axis : grid.axes) shape.push_back(axis.regular_edge().value_or(0));
  return shape;
}

std::string shape_text(const Grid& grid) {
  return grid.regular() ? list_text(object_shape(grid)) : "of several sizes";
}

std::string codec_text(const CodecSpec& spec) {
  std::string text = printable(spec.name, 60);
  for (const char* word : {"endian", "cname", "level", "clevel", "order"}) {
    const auto found = spec.configuration->find(word);
    if (found == spec.configuration->end()) continue;
    text += " " + (found->is_string() ? printable(found->get<std::string>(), 30)
                                      : printable(dump_json(*found), 60));
  }
  return text;
}

std::vector<CodecSpec> chunk_codecs(const Layout& layout, const ArrayMetadata& array) {
  if (!layout.sharded()) return array.codecs;
  std::vector<CodecSpec> specs;
  for (const CodecChain::Step& step : layout.chunk_chain().steps()) specs.push_back(step.spec);
  return specs;
}

std::string codecs_text(const std::vector<CodecSpec>& specs) {
  std::string text;
  for (const CodecSpec& spec : specs) text += (text.empty() ? "" : " > ") + codec_text(spec);
  return text;
}

std::string ratio_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  const auto permille =
      static_cast<std::uint64_t>(static_cast<double>(part) * 1000 / static_cast<double>(whole));
  return " (" + std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %)";
}

/// "2026-11-25T21:55:19Z".
std::string time_text(std::uint64_t time_us) {
  constexpr std::uint64_t kPerSecond = 1'000'000;
  const auto seconds = static_cast<std::time_t>(time_us / kPerSecond);
  std::tm parts{};
  std::array<char, 40> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "at no time";
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

Json history_json(const SourceHistory& found) {
  Json json = {{"specification", found.history.specification},
               {"shown", spell_revision(found.shown)},
               {"branches", Json::object()},
               {"tags", Json::object()},
               {"snapshots", Json::array()},
               {"more_snapshots", found.history.more}};
  for (const auto& one : found.history.references) {
    json[one.kind == "tag" ? "tags" : "branches"][one.name] = one.snapshot;
  }
  for (const auto& one : found.history.snapshots) {
    json["snapshots"].push_back(
        {{"id", one.name}, {"time", time_text(one.time_us)}, {"message", one.message}});
  }
  return json;
}

void tell_history(std::ostream& out, const SourceHistory& found) {
  out << "Icechunk repository, specification " << found.history.specification
      << "; shown: " << printable(spell_revision(found.shown)) << '\n';
  for (const auto& one : found.history.references) {
    out << "    " << one.kind << "  " << printable(one.name) << "  " << one.snapshot << '\n';
  }
  for (const auto& one : found.history.snapshots) {
    out << "    snapshot  " << one.name << "  " << time_text(one.time_us) << "  "
        << printable(one.message) << '\n';
  }
  if (found.history.more) out << "    older snapshots are not listed\n";
  out << '\n';
}

class Info final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "info"; }
  [[nodiscard]] std::string summary() const override {
    return "Describe a store: its tree, shapes, codecs, sizes, dead space";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    app.add_option("PATH", path_, "Only the node at PATH and what is below it");
    app.add_flag("--json", json_, "One JSON document, for programs");
    app.add_option("--view", view_, "v2 or v3: the view for \"shown as\"")->capture_default_str();
    app.add_option("--profile", profile_, "The readers for \"shown as\"")->capture_default_str();
    app.add_option("-j,--threads", threads_, "Threads")->check(whole_number_between(1, 1024));
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    const auto done = look(console);
    if (!done) return console.failed(done.error());
    return damaged_ ? kFound : kGood;
  }

 private:
  Result<void> look(const Console& console) {
    ZARRFS_TRY(as_, ShownAs::choose(view_, profile_));
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_, source_options_));
    std::vector<std::pair<std::string, SourceNode>> nodes;
    const std::string top = clean_path(path_);
    std::optional<SourceHistory> history;
    if (top.empty()) {
      ZARRFS_TRY(history, source.history(source_options_));
    }
    ZARRFS_CHECK(walk_source(*source.store, top, [&](const auto& path, const SourceNode& node) {
      nodes.emplace_back(path, node);
      return !interrupted();
    }));
    std::erase_if(nodes, [](const auto& node) { return !is_node(node.second.node.kind); });
    if (nodes.empty()) return no_node(source_, top);
    if (history && !json_) tell_history(console.out, *history);
    Json listed = Json::array();
    Totals all;
    std::uint64_t logical = 0;
    std::uint64_t arrays = 0;
    for (const auto& [path, node] : nodes) {
      if (interrupted()) return fail(interruption());
      if (node.node.kind != Node::Kind::kArray || !node.node.layout) {
        tell_node(console, path, node, listed);
        continue;
      }
      const auto facts = measure(source, path, node);
      if (!facts && is_of_array(facts.error().fault)) {
        tell_node(console, path, unreadable(node, facts.error()), listed);
        continue;
      }
      if (!facts) return fail(facts.error());
      all += facts->totals;
      logical += facts->logical_bytes;
      ++arrays;
      if (json_) {
        listed.push_back(array_json(*facts));
      } else {
        tell_array(console, *facts);
      }
    }
    if (json_) {
      Json document = {{"store", source_},
                       {"stored_bytes", all.object_bytes},
                       {"logical_bytes", logical},
                       {"dead_bytes", all.dead_bytes},
                       {"nodes", listed}};
      if (history) document["icechunk"] = history_json(*history);
      console.out << dump_document(document);
    } else {
      console.out << '\n'
                  << counted(arrays, "array") << ", " << human_bytes(all.object_bytes)
                  << " stored for " << human_bytes(logical) << ratio_text(all.object_bytes, logical)
                  << ", " << human_bytes(all.dead_bytes) << " dead\n";
    }
    return {};
  }

  static SourceNode unreadable(SourceNode node, const Error& error) {
    node.node.kind = Node::Kind::kDamaged;
    node.node.error = error;
    return node;
  }

  Result<ArrayFacts> measure(const Source& source, const std::string& path,
                             const SourceNode& node) {
    ArrayFacts facts;
    facts.path = path;
    facts.node = node;
    const auto reader = source.reader(path, node);
    ZARRFS_TRY(const StoredShards stored, list_shards(*source.store, path, *node.node.array));
    facts.outside = stored.outside.size();
    facts.format = source.store->format_of(path);
    ScanOptions options{.threads = threads_};
    options.made = !facts.format.empty();
    options.on_damage = [&](const Damage& damage) {
      if (facts.damage.empty()) facts.damage = damage.shard + ": " + damage.reason;
    };
    ZARRFS_TRY(facts.totals, scan_array(*reader, stored.cells, options));
    damaged_ = damaged_ || facts.totals.damaged > 0;
    const auto elements = checked_product(node.node.array->shape);
    facts.logical_bytes =
        checked_multiply(elements.value_or(0), node.node.array->type.size).value_or(0);
    ZARRFS_TRY(const Presentation shown, presentation_of(source, {path, node}, as_));
    facts.shown = describe_rule(shown);
    return facts;
  }

  void tell_node(const Console& console, const std::string& path, const SourceNode& node,
                 Json& listed) {
    const bool group = node.node.kind == Node::Kind::kGroup;
    damaged_ = damaged_ || node.node.kind == Node::Kind::kDamaged;
    if (json_) {
      Json entry = {{"path", path}, {"zarr_format", node.zarr_format}};
      entry["kind"] = group ? "group" : "unreadable";
      if (!group) entry["error"] = node.node.error.message;
      listed.push_back(std::move(entry));
      return;
    }
    console.out << bold(console, shown_path(path));
    if (group) {
      console.out << "  group of Zarr v" << node.zarr_format;
      if (node.node.group && !node.node.group->attributes->empty()) {
        console.out << ", attributes:";
        for (const auto& item : node.node.group->attributes->items()) {
          console.out << ' ' << printable(item.key(), 40);
        }
      }
    } else {
      console.out << "  cannot be read: " << on_one_line(node.node.error.message);
    }
    console.out << '\n';
  }

  void tell_array(const Console& console, const ArrayFacts& facts) const {
    const ArrayMetadata& array = *facts.node.node.array;
    const Layout& layout = *facts.node.node.layout;
    const Totals& totals = facts.totals;
    std::ostream& out = console.out;
    out << bold(console, shown_path(facts.path)) << "  " << printable(array.type.name) << ' '
        << list_text(array.shape) << "  Zarr v" << facts.node.zarr_format << '\n';
    const std::string chunk =
        layout.regular() ? list_text(layout.chunk_shape()) : shape_text(layout.grid());
    if (layout.sharded()) {
      out << "    shards   " << shape_text(layout.grid()) << " of chunks " << chunk << '\n';
    } else {
      out << "    chunks   " << chunk << '\n';
    }
    if (!facts.format.empty()) {
      out << "    volume   " << facts.format
          << "; chunks are shown as the codecs below make them\n";
    }
    out << "    codecs   " << codecs_text(chunk_codecs(layout, array)) << '\n';
    out << "    present  ";
    if (layout.sharded()) {
      const std::uint64_t cells = layout.grid().count().value_or(0);
      out << human_count(totals.shards) << " of " << human_count(cells) << " shards, ";
    }
    out << human_count(totals.chunks) << " of " << human_count(layout.chunk_count()) << " chunks"
        << ratio_text(totals.chunks, layout.chunk_count()) << '\n';
    out << "    stored   " << human_bytes(totals.object_bytes);
    if (facts.logical_bytes > 0) {
      out << " for " << human_bytes(facts.logical_bytes)
          << ratio_text(totals.object_bytes, facts.logical_bytes);
    }
    if (layout.sharded()) {
      out << ", indexes " << human_bytes(totals.index_bytes) << ", dead "
          << human_bytes(totals.dead_bytes);
    }
    out << '\n';
    if (facts.outside > 0) {
      out << "    outside  " << counted(facts.outside, "object") << " beyond the array's shape\n";
    }
    if (totals.damaged > 0) {
      out << "    damage   " << human_count(totals.damaged) << " found, such as "
          << on_one_line(facts.damage) << "; zarrfs verify names each\n";
    }
    out << "    shown    " << on_one_line(facts.shown) << '\n';
  }

  static std::string bold(const Console& console, const std::string& text) {
    return console.out_is_terminal ? "\033[1m" + text + "\033[0m" : text;
  }

  static Json array_json(const ArrayFacts& facts) {
    const ArrayMetadata& array = *facts.node.node.array;
    const Layout& layout = *facts.node.node.layout;
    Json codecs = Json::array();
    for (const CodecSpec& spec : chunk_codecs(layout, array)) {
      codecs.push_back({{"name", spec.name}, {"configuration", spec.configuration}});
    }
    Json entry = {{"path", facts.path},
                  {"kind", "array"},
                  {"zarr_format", facts.node.zarr_format},
                  {"shape", array.shape},
                  {"data_type", array.type.name},
                  {"sharded", layout.sharded()}};
    if (layout.sharded() && layout.grid().regular()) {
      entry["shard_shape"] = object_shape(layout.grid());
    }
    if (layout.regular()) entry["chunk_shape"] = layout.chunk_shape();
    entry["codecs"] = std::move(codecs);
    entry["objects"] = facts.totals.shards;
    entry["objects_possible"] = layout.grid().count().value_or(0);
    entry["objects_outside"] = facts.outside;
    entry["chunks"] = facts.totals.chunks;
    entry["chunks_possible"] = layout.chunk_count();
    entry["stored_bytes"] = facts.totals.object_bytes;
    entry["chunk_bytes"] = facts.totals.chunk_bytes;
    entry["index_bytes"] = facts.totals.index_bytes;
    entry["dead_bytes"] = facts.totals.dead_bytes;
    entry["logical_bytes"] = facts.logical_bytes;
    entry["damaged"] = facts.totals.damaged;
    entry["shown"] = facts.shown;
    if (!facts.format.empty()) entry["format"] = facts.format;
    if (!facts.damage.empty()) entry["first_damage"] = facts.damage;
    return entry;
  }

  std::string source_;

  SourceOptions source_options_;
  std::string path_;
  std::string view_ = "v2";
  std::string profile_ = "generic";
  bool json_ = false;
  unsigned threads_ = default_threads();
  ShownAs as_;
  bool damaged_ = false;
};

}  // namespace

std::unique_ptr<Command> info_command() { return std::make_unique<Info>(); }

}  // namespace zarrfs::tools
