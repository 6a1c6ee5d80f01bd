// zarrfs diff: whether two stores (or a store and a mount of it) hold the same values.
#include <algorithm>
#include <map>

#include "core/base/json.h"
#include "core/base/lock_order.h"
#include "core/base/printable.h"
#include "core/metadata/grid.h"
#include "core/metadata/v2_note.h"
#include "core/present/cf_mask.h"
#include "core/present/dimension_names.h"
#include "core/present/v2_types.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/missing.h"
#include "tools/shared/numbers.h"
#include "tools/shared/parallel.h"
#include "tools/shared/part_results.h"
#include "tools/shared/region.h"
#include "tools/shared/source.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 27U;  // 1 GiB of them.

bool comparable(const DataType& a, const DataType& b) {
  return a.kind == b.kind && a.size == b.size && a.unit == b.unit &&
         a.scale_factor == b.scale_factor;
}

std::string value_text(const DataType& type, const Values& values, std::uint64_t number) {
  if (type.variable_length()) {
    return "\"" + printable(values.items[number], 60) + "\"";
  }
  const ByteView element = ByteView(values.fixed).subspan(number * type.size, type.size);
  return printable(dump_json(render_fill_value(type, element, false)), 60);
}

bool same_element(const DataType& type, const Values& a, const Values& b, std::uint64_t number) {
  if (type.variable_length()) return a.items[number] == b.items[number];
  const auto first = static_cast<std::ptrdiff_t>(number * type.size);
  return std::equal(a.fixed.begin() + first, a.fixed.begin() + first + type.size,
                    b.fixed.begin() + first);
}

class Diff final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "diff"; }
  [[nodiscard]] std::string summary() const override {
    return "Compare the values of two stores, or of a store and its mount";
  }

  void declare(CLI::App& app) override {
    app.add_option("A", a_, "A store or a mount");
    app.add_option("B", b_, "Another one");
    declare_source_options(app, source_options_);
    declare_parts(app, parts_);
    app.add_option("--limit", limit_, "Differences listed for each array (all are counted)")
        ->check(number_from(0))
        ->capture_default_str();
    app.add_flag("--attributes", attributes_,
                 "Compare dimensions and attributes, too, of arrays and groups");
    app.add_flag("--json", json_, "One JSON document, for programs");
    app.add_option("-j,--threads", threads_, "Threads")->check(whole_number_between(1, 1024));
    app.footer(
        "Shapes, types, values and which values mean missing data are compared; how they are\n"
        "stored is not. Readers that follow CF take for missing what _FillValue or missing_value\n"
        "has, and in Zarr v2 the fill value of arrays with _ARRAY_DIMENSIONS that are no levels\n"
        "of an image.\n"
        "Exits with 0 if all is equal, 1 if something differs, " +
        std::to_string(kMissingDiffers) +
        " if all values are equal\nand what is missing differs, 3 if not everything could be "
        "read.");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    if (const auto wrong = wrong_parts(parts_, !a_.empty() && !b_.empty(), "A and B")) {
      console.say(*wrong);
      return kUsage;
    }
    const auto done = parts_.sum.empty() ? compare(console) : add_up(console);
    if (json_) console.out << dump_document(result(done.has_value()));
    if (!done) return console.could_not(done.error());
    if (!parts_.result.empty()) {
      const auto written = write_part_result(parts_, "diff", result(true));
      if (!written) return console.could_not(written.error());
    }
    if (!json_) {
      console.out << counted(arrays_, "array") << " compared: " << outcome() << '\n';
    }
    if (differences_ > 0) return kFound;
    return missing_differences_ > 0 ? kMissingDiffers : kGood;
  }

 private:
  [[nodiscard]] Json result(bool done) const {
    return {{"a", a_},
            {"b", b_},
            {"complete", done},
            {"arrays", arrays_},
            {"differences", differences_},
            {"missing_differences", missing_differences_},
            {"listed", listed_}};
  }

  // What parts have found, as if it were found here.
  Result<void> add_up(const Console& console) {
    ZARRFS_TRY(const auto results, read_part_results(parts_.sum, "diff"));
    for (const PartResult& part : results) {
      ZARRFS_TRY(const std::uint64_t arrays, part.number("arrays"));
      ZARRFS_TRY(const std::uint64_t differences, part.number("differences"));
      ZARRFS_TRY(const std::uint64_t missing, part.number("missing_differences"));
      arrays_ += arrays;
      differences_ += differences;
      missing_differences_ += missing;
      ZARRFS_CHECK(part.append("listed", listed_));
      for (auto [member, name] : {std::pair{"a", &a_}, std::pair{"b", &b_}}) {
        if (part.json->contains(member) && part.json[member].is_string()) *name = part.json[member];
      }
    }
    if (json_) return {};
    for (const Json& entry : listed_) console.out << on_one_line(dump_json(entry)) << '\n';
    return {};
  }

  [[nodiscard]] std::string outcome() const {
    const std::string missing =
        "what is missing differs in " + counted(missing_differences_, "array");
    if (differences_ > 0) {
      return counted(differences_, "difference") + (missing_differences_ > 0 ? ", " + missing : "");
    }
    return missing_differences_ > 0 ? "values equal, " + missing : "equal";
  }

  // By path: an array, or why a node cannot be read.
  using Nodes = std::map<std::string, Result<SourceNode>>;

  static Result<Nodes> nodes_of(const Source& source) {
    Nodes nodes;
    const auto complain = [&](const std::string& path, const Error& error) {
      nodes.emplace(path, fail(error));
    };
    ZARRFS_TRY(auto arrays, arrays_below(source, "", complain));
    for (SourceArray& array : arrays) nodes.emplace(array.path, std::move(array.node));
    return nodes;
  }

  Result<void> compare(const Console& console) {
    ZARRFS_CHECK(forget_part_result(parts_));
    ZARRFS_TRY(const Source a, Source::open_to_read(console, a_, source_options_));
    ZARRFS_TRY(const Source b, Source::open_to_read(console, b_, source_options_));
    ZARRFS_TRY(const Nodes in_a, nodes_of(a));
    ZARRFS_TRY(const Nodes in_b, nodes_of(b));
    const bool tells = parts_.tells_of_nodes();
    for (const auto& [path, node] : in_b) {
      if (tells && !in_a.contains(path)) tell(console, path, "", "only in " + b_);
    }
    for (const auto& [path, node] : in_a) {
      const auto other = in_b.find(path);
      const bool comparable = other != in_b.end() && node && other->second;
      if (!tells && !comparable) continue;
      if (other == in_b.end()) {
        tell(console, path, "", "only in " + a_);
      } else if (!node) {
        tell(console, path, "", "cannot be compared: " + a_ + ": " + node.error().message);
      } else if (!other->second) {
        tell(console, path, "", "cannot be compared: " + b_ + ": " + other->second.error().message);
      } else {
        if (tells) ++arrays_;
        ZARRFS_CHECK(compare_arrays(console, path, {*a.store, *a.reader(path, *node)},
                                    {*b.store, *b.reader(path, *other->second)}));
        if (!tells) continue;
        ZARRFS_CHECK(compare_missing(console, a, {path, *node}, b, {path, *other->second}));
        if (attributes_) compare_descriptions(console, path, *node, *other->second);
      }
    }
    return attributes_ && tells ? compare_groups(console, a, b) : Result<void>();
  }

  Result<void> compare_missing(const Console& console, const Source& a, const SourceArray& in_a,
                               const Source& b, const SourceArray& in_b) {
    ZARRFS_TRY(const auto missing_a, missing_values(a, in_a));
    ZARRFS_TRY(const auto missing_b, missing_values(b, in_b));
    if (missing_a == missing_b) return {};
    ++missing_differences_;
    tell(console, in_a.path, "",
         "what is missing differs: " + missing_text(missing_a) + " and " + missing_text(missing_b),
         0);
    return {};
  }

  // What an array is described by, in the words of v3: its dimensions, and its attributes without
  // what compare_missing() compares.
  struct Description {
    Json dimensions = Json::array();
    Json attributes = Json::object();
  };

  static Description description_of(const ArrayMetadata& array) {
    Description said;
    if (array.attributes->is_object()) said.attributes = without_note(array.attributes);
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
      const bool named = axis < array.dimension_names.size() && array.dimension_names[axis];
      said.dimensions.push_back(named ? Json(*array.dimension_names[axis]) : Json());
    }
    const auto listed = said.attributes.find(kDimensionsAttribute);
    if (listed != said.attributes.end() && array.dimension_names.empty()) {
      said.dimensions = *listed;
      said.attributes.erase(listed);
    }
    const auto mark = fill_attribute(array.type, array.attributes);
    if (mark && spell_mark(array.type, *mark)) said.attributes.erase(kFillAttribute);
    return said;
  }

  void compare_descriptions(const Console& console, const std::string& path, const SourceNode& a,
                            const SourceNode& b) {
    const Description of_a = description_of(*a.node.array);
    const Description of_b = description_of(*b.node.array);
    if (of_a.dimensions != of_b.dimensions) {
      tell(console, path, "",
           "dimensions differ: " + dump_json(of_a.dimensions) + " and " +
               dump_json(of_b.dimensions));
    }
    compare_attributes(console, path, of_a.attributes, of_b.attributes);
  }

  void compare_attributes(const Console& console, const std::string& path, const Json& a,
                          const Json& b) {
    constexpr std::size_t kShown = 60;
    for (const auto& [name, value] : a.items()) {
      const std::string attribute = "attribute " + printable(name);
      if (!b.contains(name)) {
        tell(console, path, "", attribute + " is only in " + a_);
      } else if (!same_json(value, b[name])) {
        tell(console, path, "",
             attribute + " differs: " + printable(dump_json(value), kShown) + " and " +
                 printable(dump_json(b[name]), kShown));
      }
    }
    for (const auto& [name, value] : b.items()) {
      if (!a.contains(name)) {
        tell(console, path, "", "attribute " + printable(name) + " is only in " + b_);
      }
    }
  }

  // A group that is in one of them alone has no attributes in the other: directories with nodes are
  // groups, too.
  Result<void> compare_groups(const Console& console, const Source& a, const Source& b) {
    std::map<std::string, std::pair<Json, Json>> groups;
    const auto collect = [&groups](const Source& source, Json std::pair<Json, Json>::*side) {
      return walk_source(*source.store, "", [&](const auto& path, const SourceNode& found) {
        if (found.node.group == nullptr) return true;
        const Json& attributes = found.node.group->attributes;
        groups[path].*side = attributes.is_object() ? without_note(attributes) : Json::object();
        return true;
      });
    };
    ZARRFS_CHECK(collect(a, &std::pair<Json, Json>::first));
    ZARRFS_CHECK(collect(b, &std::pair<Json, Json>::second));
    for (const auto& [path, attributes] : groups) {
      compare_attributes(console, path, attributes.first, attributes.second);
    }
    return {};
  }

  struct Side {
    Store& store;
    ArrayReader& array;
  };

  /// Numbers of the `blocks` in which the array has something stored; more than `most` where there
  /// are more.
  static Result<void> add_stored(const Side& side, const RegionReader& blocks, std::uint64_t most,
                                 std::vector<std::uint64_t>& numbers) {
    const ArrayMetadata& metadata = side.array.metadata();
    ZARRFS_TRY(const StoredShards stored, list_shards(side.store, side.array.path(), metadata));
    const Grid& grid = side.array.layout().grid();
    for (const std::uint64_t number : stored.cells) {
      const auto cell = coordinates_of(number, grid.counts());
      Box box;
      for (std::size_t axis = 0; axis < cell.size(); ++axis) {
        const AxisGrid& along = grid.axes[axis];
        const std::uint64_t begin = along.begin(cell[axis]);
        const std::uint64_t length = std::min(along.edge(cell[axis]), along.extent() - begin);
        box.begin.push_back(begin);
        box.end.push_back(begin + length);
      }
      blocks.add_touched(box, most, numbers);
      if (numbers.size() > most) return {};
    }
    return {};
  }

  /// The blocks in which either array has something stored: elsewhere both hold the fill value.
  /// Nothing where that leaves out too little to be worth it.
  static Result<std::optional<std::vector<std::uint64_t>>> stored_blocks(const Side& a,
                                                                         const Side& b,
                                                                         const RegionReader& blocks,
                                                                         std::uint64_t count) {
    std::vector<std::uint64_t> numbers;
    const std::uint64_t most = std::min<std::uint64_t>(count / 2, kMostNumbers);
    for (const Side* side : {&a, &b}) {
      ZARRFS_CHECK(add_stored(*side, blocks, most, numbers));
      if (numbers.size() > most) return std::nullopt;
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  Result<void> compare_arrays(const Console& console, const std::string& path, const Side& side_a,
                              const Side& side_b) {
    ArrayReader& a = side_a.array;
    ArrayReader& b = side_b.array;
    const DataType type_a = widened(a.metadata().type);
    const DataType type_b = widened(b.metadata().type);
    if (a.metadata().shape != b.metadata().shape) {
      if (parts_.tells_of_nodes())
        tell(console, path, "",
             "shapes differ: " + dotted(a.metadata().shape) + " and " + dotted(b.metadata().shape));
      return {};
    }
    if (!comparable(type_a, type_b)) {
      if (parts_.tells_of_nodes())
        tell(console, path, "", "types differ: " + type_a.name + " and " + type_b.name);
      return {};
    }
    const RegionReader regions_a(a);
    const RegionReader regions_b(b);
    const bool blocks_of_b = regions_b.largest_chunk() > regions_a.largest_chunk();
    const RegionReader& blocks = blocks_of_b ? regions_b : regions_a;
    const std::uint64_t count = checked_product(blocks.counts()).value_or(0);
    const bool same_fill = a.metadata().fill == b.metadata().fill;
    std::optional<std::vector<std::uint64_t>> stored;
    if (same_fill) {
      ZARRFS_TRY(stored, stored_blocks(side_a, side_b, blocks, count));
    }
    const NumberRange range = parts_.range_of(stored ? stored->size() : count);
    Progress progress(console, shown_path(path), range.count(), "chunks");
    return parallel_for(range.count(), threads_, [&](std::uint64_t done) -> Result<void> {
      const std::uint64_t i = range.begin + done;
      const auto chunk = coordinates_of(stored ? (*stored)[i] : i, blocks.counts());
      const Box box = blocks.box_of(chunk);
      progress.add(1);
      const auto is_missing = [&box](const RegionReader& regions) {
        const auto missing = regions.missing(box);
        return missing && *missing;  // what cannot be said is told by who reads it
      };
      if (same_fill && is_missing(regions_a) && is_missing(regions_b)) return {};
      return compare_box(console, path, type_a, box, regions_a, regions_b);
    });
  }

  Result<void> compare_box(const Console& console, const std::string& path, const DataType& type,
                           const Box& box, const RegionReader& a, const RegionReader& b) {
    const auto values_a = a.read(box);
    const auto values_b = b.read(box);
    for (const auto* values : {&values_a, &values_b}) {
      if (*values) continue;
      if (values->error().fault != Fault::kDamaged) return fail(values->error());
      tell(console, path, dotted(box.begin),
           (values == &values_a ? a_ : b_) + ": " + values->error().message);
      return {};
    }
    if (*values_a == *values_b) return {};
    const std::uint64_t count = box.count().value_or(0);
    std::uint64_t differing = 0;
    std::uint64_t first = 0;
    for (std::uint64_t number = count; number-- > 0;) {
      if (same_element(type, *values_a, *values_b, number)) continue;
      ++differing;
      first = number;
    }
    auto position = coordinates_of(first, box.shape());
    for (std::size_t axis = 0; axis < position.size(); ++axis) position[axis] += box.begin[axis];
    tell(console, path, dotted(position),
         value_text(type, *values_a, first) + " and " + value_text(type, *values_b, first) +
             (differing > 1 ? " (the first of " + human_count(differing) + " in this chunk)" : ""),
         differing);
    return {};
  }

  // `element`: "3.4", the first element that differs; empty where the whole array is meant.
  void tell(const Console& console, const std::string& path, const std::string& element,
            const std::string& what, std::uint64_t differing = 1) {
    const HeldLock lock(telling_);
    differences_ += differing;
    if (path != listed_array_) listed_here_ = 0;
    listed_array_ = path;
    if (++listed_here_ > limit_) return;
    Json entry = {{"array", path}, {"what", what}};
    if (!element.empty()) entry["element"] = element;
    listed_.push_back(std::move(entry));
    if (json_) return;
    console.out << shown_path(path) << (element.empty() ? "" : " element " + element) << ": "
                << on_one_line(what) << '\n';
  }

  std::string a_;
  std::string b_;
  SourceOptions source_options_;
  PartOptions parts_;
  std::uint64_t limit_ = 20;
  bool attributes_ = false;
  bool json_ = false;
  unsigned threads_ = default_threads();
  CommandMutex telling_;
  std::uint64_t arrays_ = 0;
  std::uint64_t differences_ = 0;
  std::uint64_t missing_differences_ = 0;
  std::string listed_array_;
  std::uint64_t listed_here_ = 0;
  Json listed_ = Json::array();
};

}  // namespace

std::unique_ptr<Command> diff_command() { return std::make_unique<Diff>(); }

}  // namespace zarrfs::tools
