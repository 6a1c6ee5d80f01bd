#include "tools/convert/store_plan.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_numbers.h"
#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/metadata/v2_note.h"
#include "core/present/cf_mask.h"
#include "core/present/dimension_names.h"
#include "core/present/v2_types.h"
#include "core/zarr/visit_limit.h"
#include "core/zarr/zvf.h"
#include "tools/shared/shown.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

bool is_no_document(const std::string& path) { return !is_metadata_name(last_name(path)); }
/// Whether it holds a number that may have been an integer beyond 64 bits.
bool may_be_rounded(const Json& value) {
  constexpr double kBeyond = 9223372036854775808.0;
  if (value.is_number_float()) return std::abs(value.get<double>()) >= kBeyond;
  if (!value.is_structured()) return false;
  return std::any_of(value.begin(), value.end(), may_be_rounded);
}

bool is_below_root(const std::string& path) { return path.find('/') != std::string::npos; }

/// A document to be made, by its number among the new ones, or to be copied.
struct OneDocument {
  std::string path;
  bool copied = false;
  std::size_t which = 0;

  /// Less is earlier in an archive.
  [[nodiscard]] auto order() const {
    return std::tuple(last_name(path) != "zarr.json", std::count(path.begin(), path.end(), '/'),
                      path);
  }
};

class StorePlanner {
 public:
  StorePlanner(const Console& console, const ConversionOptions& options, StorePlan& planned,
               PlanDepth depth)
      : console_(console),
        options_(options),
        depth_(depth),
        planned_(planned),
        source_(planned.source),
        documents_(planned.documents) {}

  Result<void> plan() {
    if (v2()) {
      ZARRFS_TRY(as_, ShownAs::choose("v2", options_.profile, shown_fill()));
    }
    ZARRFS_CHECK(plan_node(""));
    return any_node_ ? Result<void>() : no_node(source_.name, "");
  }

 private:
  [[nodiscard]] bool v2() const { return options_.form.kind == Form::Kind::kPlainV2; }

  // The column of the profile that shows the fill value as what the user says it is.
  [[nodiscard]] std::string shown_fill() const {
    switch (options_.fill) {
      case FillMeaning::kMissing: return "verbatim";
      case FillMeaning::kValue: return "mask";
      case FillMeaning::kAuto: break;
    }
    return {};
  }

  [[nodiscard]] Result<bool> fill_marks(const SourceArray& array) const {
    switch (options_.fill) {
      case FillMeaning::kMissing: return array.node.zarr_format == 3 || array.node.has_v2_fill;
      case FillMeaning::kValue: return false;
      case FillMeaning::kAuto: break;
    }
    if (!array.node.has_v2_fill || !has_dimension_names(*array.node.node.array)) return false;
    ZARRFS_TRY(const bool pixels, is_image_level(*source_.store, array.path));
    return !pixels;
  }

  // The array with what its fill value means said as Zarr v3 says it, and told. `marked`: whether
  // it gets a mark.
  Result<SourceArray> with_mark(SourceArray array, bool& marked) const {
    Node& node = array.node.node;
    if (v2() || node.array == nullptr) return array;
    Json document = node.array->document;
    ZARRFS_TRY(const bool marks, fill_marks(array));
    marked = marks && add_mark(document);
    if (marked) tell_mark(*node.array, array.path);
    if (marks && !marked) tell_other_mark(*node.array, array.path);
    if (array.node.zarr_format == 2) {
      respell_mark(document);
      ZARRFS_CHECK(note_level(array, document));
    }
    if (same_json(document, node.array->document)) return array;
    ZARRFS_TRY(ArrayMetadata metadata, parse_array(document, array.path));
    node.array = std::make_shared<const ArrayMetadata>(std::move(metadata));
    return array;
  }

  // Levels of an image keep `_ARRAY_DIMENSIONS`, though their names have several lengths.
  Result<void> note_level(const SourceArray& array, Json& document) const {
    if (!has_dimension_names(document)) return {};
    ZARRFS_TRY(const bool pixels, is_image_level(*source_.store, array.path));
    if (pixels) note(kNotedDimensions, true, document["attributes"]);
    return {};
  }

  void tell_mark(const ArrayMetadata& array, const std::string& path) const {
    tell(path, "its fill value " + dump_json(array.fill_value) +
                   " means missing data: it becomes _FillValue, too");
  }

  // Where the array has a mark of its own: who reads Zarr v2 may take the fill value for it.
  void tell_other_mark(const ArrayMetadata& array, const std::string& path) const {
    const Json& attributes = array.attributes;
    const auto mark = attributes.find(kFillAttribute);
    if (mark == attributes.end() || mark_repeats_fill(array)) return;
    tell(path, "its fill value " + dump_json(array.fill_value) + " and its _FillValue " +
                   printable(dump_json(*mark), 40) +
                   " differ: xarray takes the first for missing data in Zarr v2, and the second in "
                   "Zarr v3");
  }

  // Names of dimensions that v2 does not get: xarray opens no group in which one has two lengths.
  // Those of an image's levels are in its own metadata.
  [[nodiscard]] Result<void> tell_unnamed(const SourceArray& array, const ArrayPlan& plan) const {
    const auto& names = array.node.node.array->dimension_names;
    const auto named = [](const auto& name) { return name.has_value(); };
    const bool lost = plan.action == ArrayPlan::Action::kUnshard &&
                      std::any_of(names.begin(), names.end(), named) &&
                      !plan.attributes.contains(kDimensionsAttribute);
    if (!lost) return {};
    ZARRFS_TRY(const bool pixels, is_image_level(*source_.store, array.path));
    if (pixels) return {};
    const bool all = std::all_of(names.begin(), names.end(), named);
    tell(array.path, std::string("its dimensions lose their names, ") +
                         (all ? "one of which has another length in its group; --profile xarray "
                                "gives such names their lengths"
                              : "since not all have one; --profile xarray makes up the others"));
    return {};
  }

  void tell(const std::string& path, const std::string& what) const {
    console_.out << on_one_line(shown_path(path) + ": " + what) << '\n';
  }

  Result<void> plan_node(const std::string& path) {
    if (interrupted()) return fail(interruption());
    ZARRFS_TRY(const SourceNode node, load_source_node(*source_.store, path));
    any_node_ = any_node_ || is_node(node.node.kind);
    ZARRFS_TRY(const std::string unkept, unkept_integer(path, node));
    if (!unkept.empty() && node.node.group) return fail(Fault::kInvalid, unkept);
    if (!unkept.empty()) {
      ++planned_.left;
      tell(path, "is left as it is: " + unkept);
      return copy_tree(path, false);
    }
    switch (node.node.kind) {
      case Node::Kind::kArray: return plan_one_array({path, node});
      case Node::Kind::kGroup: return plan_group(path, node);
      case Node::Kind::kPlain: return plan_children(path, false);
      case Node::Kind::kDamaged:
      case Node::Kind::kUnsupported:
        ++planned_.left;
        tell(path, "is left as it is: " + node.node.error.message);
        return copy_tree(path, false);
      case Node::Kind::kFile:
      case Node::Kind::kAbsent: break;
    }
    return fail(Fault::kInvalid, source_.name + ": no store at " + shown_path(path));
  }

  // What says that the attributes of a node hold an integer of which only the nearest double would
  // be kept; empty where they hold none.
  [[nodiscard]] Result<std::string> unkept_integer(const std::string& path,
                                                   const SourceNode& node) const {
    const bool may_be = (node.node.array && may_be_rounded(node.node.array->attributes)) ||
                        (node.node.group && may_be_rounded(node.node.group->attributes));
    if (!may_be) return std::string();
    const bool v3 = node.zarr_format == 3;
    const std::string name = join_path(path, v3 ? "zarr.json" : ".zattrs");
    ZARRFS_TRY(const auto document, source_.store->read_document(name, kMaxDocument));
    if (!document) return std::string();
    const auto whole = check_integers(document->text, v3 ? "attributes" : "", name);
    return whole ? std::string() : whole.error().message;
  }

  Result<void> plan_group(const std::string& path, const SourceNode& node) {
    const GroupMetadata& group = *node.node.group;
    if (v2()) {
      if (node.zarr_format == 2) return plan_children(path, false);
      documents_.add_v2(join_path(path, ".zgroup"), group_document(&group, ViewFormat::kV2));
      documents_.add_v2(join_path(path, ".zattrs"), group_attributes(group, as_.profile),
                        style_of(group.attributes, true));
      if (group.consolidated) documents_.add_zmetadata(path);
      ++planned_.changed_groups;
      return plan_children(path, true);
    }
    Json document = group.document;
    document.erase("consolidated_metadata");
    bool consolidated = group.consolidated;
    ZARRFS_TRY(const bool bare, stores_bare(path, node.zarr_format, document));
    if (node.zarr_format == 2) {
      ++planned_.changed_groups;
      if (ome_v04(group.attributes)) {
        GroupMetadata newer;
        newer.attributes = Json{{"ome", {{"version", "0.5"}}}};
        document["attributes"] = ungroup_attributes(without_note(group.attributes), newer);
        take_spelling(Json(), group.attributes, document["attributes"]);
      }
      ZARRFS_TRY(const auto zmetadata, source_.store->status(join_path(path, ".zmetadata")));
      consolidated = zmetadata.has_value();
    }
    const auto origin = consolidated ? NewDocuments::Origin::kConsolidated : origin_of(node);
    return plan_children(path, documents_.add_v3(path, std::move(document), origin, bare));
  }

  // Whether the node at `path`, of which `document` is made, has bare NaN and Infinity.
  Result<bool> stores_bare(const std::string& path, int zarr_format, const Json& document) const {
    if (zarr_format != 3 || !document.contains("attributes")) return false;
    return stores_bare_numbers(*source_.store, path, document["attributes"]);
  }

  static NewDocuments::Origin origin_of(const SourceNode& node) {
    return node.zarr_format == 2 ? NewDocuments::Origin::kMade : NewDocuments::Origin::kCopied;
  }

  // Whether it is of zarrfs itself, or has such a name, which somebody gave it: that is not taken
  // over, and so nothing may take the place of the store.
  Result<bool> skips_own(const std::string& path, const std::string& name) {
    if (!is_own_name(name)) return false;
    if (is_given_name(name)) return true;
    const std::string why = "zarrfs keeps names that begin with .zarrfs for itself";
    if (options_.in_place) {
      return fail(Fault::kInvalid, shown_path(path) + ": " + why + ": give it another name");
    }
    ++planned_.left;
    tell(path, "is left out: " + why);
    return true;
  }

  void leave_other_out(const std::string& path) {
    ++planned_.left;
    tell(path, "is left out: neither a file nor a directory");
  }

  static bool ome_v04(const Json& attributes) {
    return attributes.contains("multiscales") || attributes.contains("plate") ||
           attributes.contains("well") || attributes.contains("bioformats2raw.layout");
  }

  Result<void> plan_children(const std::string& path, bool documents_are_new) {
    ZARRFS_CHECK(visits_.enter(*source_.store, path));
    ZARRFS_TRY(const auto entries, source_.store->list(path));
    if (!entries) return {};
    for (const Entry& entry : *entries) {
      const std::string child = join_path(path, entry.name);
      ZARRFS_TRY(const bool skips, skips_own(child, entry.name));
      if (skips) continue;
      if (entry.kind == EntryKind::kDirectory) {
        ZARRFS_CHECK(plan_node(child));
      } else if (entry.kind == EntryKind::kOther) {
        leave_other_out(child);
      } else if (!documents_are_new || !is_metadata_name(entry.name)) {
        planned_.files.push_back(child);
      }
    }
    return {};
  }

  Result<void> plan_one_array(const SourceArray& found) {
    if (!found.node.node.layout) {
      ++planned_.left;
      tell(found.path, "is left as it is: " + found.node.node.error.message);
      return copy_tree(found.path, false);
    }
    bool marked = false;
    ZARRFS_TRY(const SourceArray array, with_mark(found, marked));
    std::optional<Presentation> shown;
    ArrayPlan plan;
    if (v2()) {
      ZARRFS_TRY(shown, presentation_of(source_, array, as_));
      plan = plan_v2(array, *shown);
      ZARRFS_CHECK(tell_unnamed(array, plan));
    } else {
      ZARRFS_TRY(plan, plan_array(array, options_.form));
    }
    if (plan.action == ArrayPlan::Action::kKeep) {
      if (marked) plan.document = array.node.node.array->document;
      return keep_array(array, plan);
    }
    tell(array.path, plan.reason);
    ++planned_.changed_arrays;
    std::vector<std::uint64_t> cells;
    if (depth_ == PlanDepth::kListed || must_be_listed(array)) {
      ZARRFS_TRY(cells, list_array(array));
    }
    if (depth_ == PlanDepth::kRest) ZARRFS_CHECK(copy_others(array));
    if (depth_ != PlanDepth::kGrids) ZARRFS_CHECK(make_nonempty_true(array, cells, plan));
    ZARRFS_CHECK(add_array_documents(array, plan));
    planned_.arrays.push_back({array, std::move(plan), std::move(shown), false, std::move(cells)});
    return {};
  }

  // Whether its documents tell which objects there are.
  [[nodiscard]] bool must_be_listed(const SourceArray& array) const {
    const Json& attributes = array.node.node.array->attributes;
    return depth_ == PlanDepth::kRest && attributes.is_object() &&
           attributes.contains(kNonemptyChunks);
  }

  Result<std::vector<std::uint64_t>> list_array(const SourceArray& array) {
    ZARRFS_TRY(StoredShards stored,
               list_shards(*source_.store, array.path, *array.node.node.array));
    if (!stored.outside.empty()) {
      tell(array.path, counted(stored.outside.size(), "object") +
                           " beyond the array's shape left out, such as " +
                           printable(stored.outside[0]));
    }
    if (depth_ == PlanDepth::kRest) return std::move(stored.cells);
    for (const std::string& other : stored.others) {
      ZARRFS_CHECK(copy_entry(join_path(array.path, other)));
    }
    return std::move(stored.cells);
  }

  // What lies in the array's directory beside its objects.
  Result<void> copy_others(const SourceArray& array) {
    ZARRFS_TRY(const auto others,
               list_beside_shards(*source_.store, array.path, *array.node.node.array));
    const std::size_t before = planned_.files.size();
    for (const std::string& other : others) {
      ZARRFS_CHECK(copy_entry(join_path(array.path, other)));
    }
    for (std::size_t i = before; i < planned_.files.size(); ++i) {
      planned_.others.push_back(std::move(planned_.files[i]));
    }
    planned_.files.resize(before);
    return {};
  }

  // An array whose objects are copied by number, in parts.
  Result<void> copy_by_grid(const SourceArray& array, const ArrayPlan& plan,
                            bool documents_are_new) {
    planned_.arrays.push_back({array, plan, std::nullopt, true, {}});
    if (!documents_are_new) {
      for (const char* name : {"zarr.json", ".zarray", ".zattrs"}) {
        ZARRFS_CHECK(copy_entry(join_path(array.path, name)));
      }
    }
    return depth_ == PlanDepth::kRest ? copy_others(array) : Result<void>();
  }

  Result<void> keep_array(const SourceArray& array, const ArrayPlan& plan) {
    if (plan.left) ++planned_.left;
    if (v2() && plan.left) {
      tell(array.path, (options_.in_place ? "is left as it is: " : "is left out: ") + plan.reason);
      return options_.in_place ? copy_tree(array.path, false) : Result<void>();
    }
    tell(array.path, plan.left ? "is left as it is: " + plan.reason : plan.reason + ": copied");
    const bool changed = !plan.document.is_null();
    if (changed) ++planned_.changed_arrays;
    const Json& document = changed ? plan.document : *array.node.node.array->document;
    const auto origin = changed ? NewDocuments::Origin::kMade : NewDocuments::Origin::kCopied;
    ZARRFS_TRY(const bool bare, stores_bare(array.path, array.node.zarr_format, document));
    const bool is_new = documents_.add_v3(array.path, document, origin, bare);
    return depth_ == PlanDepth::kListed ? copy_tree(array.path, is_new)
                                        : copy_by_grid(array, plan, is_new);
  }

  Result<void> make_nonempty_true(const SourceArray& array, const std::vector<std::uint64_t>& cells,
                                  ArrayPlan& plan) const {
    const auto reader = source_.reader(array.path, array.node);
    ZARRFS_TRY(auto nonempty, true_nonempty_chunks(*reader, cells));
    if (!nonempty) return {};
    Json& attributes = v2() ? plan.attributes : plan.document["attributes"];
    if (attributes.is_object()) attributes["nonempty_chunks"] = std::move(*nonempty);
    return {};
  }

  Result<void> add_array_documents(const SourceArray& array, const ArrayPlan& plan) {
    const std::string& path = array.path;
    if (v2()) {
      documents_.add_v2(join_path(path, ".zarray"), plan.document);
      documents_.add_v2(join_path(path, ".zattrs"), plan.attributes,
                        style_of(array.node.node.array->attributes, true));
      return {};
    }
    ZARRFS_TRY(const bool bare, stores_bare(path, array.node.zarr_format, plan.document));
    documents_.add_v3(path, plan.document, NewDocuments::Origin::kMade, bare);
    return {};
  }

  Result<void> copy_entry(const std::string& path) {
    ZARRFS_TRY(const auto status, source_.store->status(path));
    if (!status) return {};
    if (S_ISDIR(status->st_mode)) return copy_tree(path, false);
    if (S_ISREG(status->st_mode)) planned_.files.push_back(path);
    return {};
  }

  Result<void> copy_tree(const std::string& path, bool without_documents) {
    ZARRFS_CHECK(check_wanted());
    ZARRFS_CHECK(visits_.enter(*source_.store, path));
    ZARRFS_TRY(const auto entries, source_.store->list(path));
    if (!entries) return {};
    for (const Entry& entry : *entries) {
      const std::string child = join_path(path, entry.name);
      ZARRFS_TRY(const bool skips, skips_own(child, entry.name));
      if (skips || (without_documents && is_metadata_name(entry.name))) continue;
      if (entry.kind == EntryKind::kDirectory) {
        ZARRFS_CHECK(copy_tree(child, false));
      } else if (entry.kind == EntryKind::kOther) {
        leave_other_out(child);
      } else {
        planned_.files.push_back(child);
      }
    }
    return {};
  }

  const Console& console_;
  const ConversionOptions& options_;
  PlanDepth depth_;
  StorePlan& planned_;
  const Source& source_;
  NewDocuments& documents_;
  VisitLimit visits_;  ///< Directories that were entered.
  ShownAs as_;
  bool any_node_ = false;
};

}  // namespace

Result<StorePlan> plan_store(const Console& console, const ConversionOptions& options,
                             Source source, PlanDepth depth) {
  StorePlan planned{.source = std::move(source), .documents = NewDocuments(options.form)};
  ZARRFS_CHECK(StorePlanner(console, options, planned, depth).plan());
  // Listings come in any order, and machines that make parts have to agree.
  std::sort(planned.files.begin(), planned.files.end());
  std::sort(planned.arrays.begin(), planned.arrays.end(),
            [](const auto& a, const auto& b) { return a.array.path < b.array.path; });
  const auto rest =
      std::stable_partition(planned.files.begin(), planned.files.end(), is_no_document);
  const auto at_root = std::stable_partition(rest, planned.files.end(), is_below_root);
  planned.documents_below.assign(rest, at_root);
  planned.documents_at_root.assign(at_root, planned.files.end());
  planned.files.erase(rest, planned.files.end());
  return planned;
}

Result<void> write_documents(const StorePlan& planned, bool of_root, Target& target) {
  const auto& files = of_root ? planned.documents_at_root : planned.documents_below;
  const auto copies = copy_conversion(planned.source, files, target);
  for (std::uint64_t i = 0; i < files.size(); ++i) ZARRFS_CHECK(copies->make(i));
  for (std::uint64_t i = 0; i < files.size(); ++i) {
    ZARRFS_TRY(const std::string difference, copies->check(i, true));
    if (!difference.empty()) return fail(not_right(difference));
  }
  return planned.documents.write(target, of_root);
}

Result<void> write_documents_in_order(const StorePlan& planned, Target& target) {
  std::vector<std::string> copied = planned.documents_at_root;
  copied.insert(copied.end(), planned.documents_below.begin(), planned.documents_below.end());
  std::vector<OneDocument> documents;
  for (std::size_t i = 0; i < copied.size(); ++i) documents.push_back({copied[i], true, i});
  const std::vector<std::string> made = planned.documents.paths();
  for (std::size_t i = 0; i < made.size(); ++i) documents.push_back({made[i], false, i});
  std::sort(documents.begin(), documents.end(),
            [](const OneDocument& a, const OneDocument& b) { return a.order() < b.order(); });
  const auto copies = copy_conversion(planned.source, copied, target);
  for (const OneDocument& document : documents) {
    if (interrupted()) return fail(interruption());
    if (!document.copied) {
      ZARRFS_CHECK(planned.documents.write_one(target, document.which));
      continue;
    }
    ZARRFS_CHECK(copies->make(document.which));
    ZARRFS_TRY(const std::string difference, copies->check(document.which, true));
    if (!difference.empty()) return fail(not_right(difference));
  }
  return {};
}

Error not_right(const std::string& difference) {
  return {Fault::kIo, "the new store is not right: " + difference};
}

}  // namespace zarrfs::tools
