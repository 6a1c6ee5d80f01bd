#include "tools/convert/convert.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "core/base/request.h"
#include "core/metadata/v2_note.h"
#include "core/present/cf_mask.h"
#include "core/store/open_store.h"
#include "core/zarr/ways.h"
#include "core/zarr/zvf.h"
#include "tools/convert/convert_array.h"
#include "tools/convert/convert_documents.h"
#include "tools/convert/convert_place.h"
#include "tools/convert/convert_upload.h"
#include "tools/shared/alone.h"
#include "tools/shared/parallel.h"
#include "tools/shared/shown.h"
#include "tools/shared/stored_shards.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {
namespace {

// One run: collects what is to be done, does it, checks it.
class StoreConverter {
 public:
  StoreConverter(const Console& console, const ConversionOptions& options, Source source)
      : console_(console),
        options_(options),
        source_(std::move(source)),
        documents_(options.form) {}

  Result<void> plan() {
    if (v2()) {
      ZARRFS_TRY(as_, ShownAs::choose("v2", options_.profile, shown_fill()));
    }
    ZARRFS_CHECK(plan_node(""));
    return any_node_ ? Result<void>() : no_node(source_.name, "");
  }

  // Where no array can be converted, groups do not change their format alone.
  [[nodiscard]] bool nothing_to_do() const {
    return changed_arrays_ == 0 && (left_ > 0 || changed_groups_ == 0);
  }
  [[nodiscard]] bool all_converted() const { return left_ == 0; }

  Result<void> run(Target& target, bool resumed) {
    for (auto& make : makers_) conversions_.push_back(make(target));
    // Documents last, and the root's after all others: what is unfinished is no store.
    const auto rest = std::stable_partition(files_.begin(), files_.end(), is_no_document);
    const auto at_root = std::stable_partition(rest, files_.end(), is_below_root);
    add_copies({files_.begin(), rest}, target);
    ZARRFS_CHECK(make_pieces(resumed));
    for (const bool of_root : {false, true}) {
      ZARRFS_CHECK(
          copy_documents(of_root ? Files{at_root, files_.end()} : Files{rest, at_root}, target));
      ZARRFS_CHECK(documents_.write(target, of_root));
      if (!of_root) ZARRFS_CHECK(check_pieces());
    }
    return target.sync();
  }

 private:
  using Files = std::vector<std::string>;

  static bool is_no_document(const std::string& path) {
    return !is_metadata_name(std::string_view(path).substr(path.rfind('/') + 1));
  }
  static bool is_below_root(const std::string& path) { return path.find('/') != std::string::npos; }

  void add_copies(Files files, Target& target) {
    if (files.empty()) return;
    conversions_.push_back(copy_conversion(source_, std::move(files), target));
  }

  Result<void> copy_documents(const Files& files, Target& target) {
    const std::uint64_t count = files.size();
    const auto copies = copy_conversion(source_, files, target);
    for (std::uint64_t i = 0; i < count; ++i) ZARRFS_CHECK(copies->make(i));
    for (std::uint64_t i = 0; i < count; ++i) {
      ZARRFS_TRY(const std::string difference, copies->check(i, true));
      if (!difference.empty()) return fail(not_right(difference));
    }
    return {};
  }

  static Error not_right(const std::string& difference) {
    return {Fault::kIo, "the new store is not right: " + difference};
  }

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

  // The array with what its fill value means said as Zarr v3 says it.
  Result<SourceArray> with_mark(SourceArray array, bool& marked) const {
    Node& node = array.node.node;
    if (v2() || node.array == nullptr) return array;
    Json document = node.array->document;
    ZARRFS_TRY(const bool marks, fill_marks(array));
    marked = marks && add_mark(document);
    if (array.node.zarr_format == 2) {
      respell_mark(document);
      ZARRFS_CHECK(note_level(array, document));
    } else if (document.contains("attributes")) {
      ZARRFS_CHECK(note_stored_spelling(*source_.store, array.path, document["attributes"]));
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

  void tell_mark(const SourceArray& array) const {
    const ArrayMetadata& metadata = *array.node.node.array;
    tell(array.path, "its fill value " + dump_json(metadata.fill_value) +
                         " means missing data: it becomes _FillValue, too");
  }

  void tell(const std::string& path, const std::string& what) const {
    console_.out << on_one_line(shown_path(path) + ": " + what) << '\n';
  }

  Result<void> plan_node(const std::string& path) {
    if (interrupted()) return fail(interruption());
    ZARRFS_TRY(const SourceNode node, load_source_node(*source_.store, path));
    any_node_ = any_node_ || is_node(node.node.kind);
    switch (node.node.kind) {
      case Node::Kind::kArray: return plan_one_array({path, node});
      case Node::Kind::kGroup: return plan_group(path, node);
      case Node::Kind::kPlain: return plan_children(path, false);
      case Node::Kind::kDamaged:
      case Node::Kind::kUnsupported:
        ++left_;
        tell(path, "is left as it is: " + node.node.error.message);
        return copy_tree(path, false);
      case Node::Kind::kFile:
      case Node::Kind::kAbsent: break;
    }
    return fail(Fault::kInvalid, source_.name + ": no store at " + shown_path(path));
  }

  Result<void> plan_group(const std::string& path, const SourceNode& node) {
    const GroupMetadata& group = *node.node.group;
    if (v2()) {
      if (node.zarr_format == 2) return plan_children(path, false);
      documents_.add_v2(join_path(path, ".zgroup"), group_document(&group, ViewFormat::kV2));
      documents_.add_v2(join_path(path, ".zattrs"), group_attributes(group, as_.profile),
                        style_of(group.attributes, true));
      if (group.consolidated) documents_.add_zmetadata(path);
      ++changed_groups_;
      return plan_children(path, true);
    }
    Json document = group.document;
    document.erase("consolidated_metadata");
    bool consolidated = group.consolidated;
    if (node.zarr_format == 3 && document.contains("attributes")) {
      ZARRFS_CHECK(note_stored_spelling(*source_.store, path, document["attributes"]));
    }
    if (node.zarr_format == 2) {
      ++changed_groups_;
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
    return plan_children(path, documents_.add_v3(path, std::move(document), origin));
  }

  static NewDocuments::Origin origin_of(const SourceNode& node) {
    return node.zarr_format == 2 ? NewDocuments::Origin::kMade : NewDocuments::Origin::kCopied;
  }

  void leave_other_out(const std::string& path) {
    ++left_;
    tell(path, "is left out: neither a file nor a directory");
  }

  static bool ome_v04(const Json& attributes) {
    return attributes.contains("multiscales") || attributes.contains("plate") ||
           attributes.contains("well") || attributes.contains("bioformats2raw.layout");
  }

  Result<void> plan_children(const std::string& path, bool documents_are_new) {
    ZARRFS_CHECK(ways_.enter(*source_.store, path));
    ZARRFS_TRY(const auto entries, source_.store->list(path));
    if (!entries) return {};
    for (const Entry& entry : *entries) {
      if (is_own_name(entry.name)) continue;
      const std::string child = join_path(path, entry.name);
      if (entry.kind == EntryKind::kDirectory) {
        ZARRFS_CHECK(plan_node(child));
      } else if (entry.kind == EntryKind::kOther) {
        leave_other_out(child);
      } else if (!documents_are_new || !is_metadata_name(entry.name)) {
        files_.push_back(child);
      }
    }
    return {};
  }

  Result<void> plan_one_array(const SourceArray& found) {
    if (!found.node.node.layout) {
      ++left_;
      tell(found.path, "is left as it is: " + found.node.node.error.message);
      return copy_tree(found.path, false);
    }
    bool marked = false;
    ZARRFS_TRY(const SourceArray array, with_mark(found, marked));
    if (marked) tell_mark(array);
    std::optional<Presentation> shown;
    ArrayPlan plan;
    if (v2()) {
      ZARRFS_TRY(shown, presentation_of(source_, array, as_));
      plan = plan_v2(array, *shown);
    } else {
      ZARRFS_TRY(plan, plan_array(array, options_.form));
    }
    if (plan.action == ArrayPlan::Action::kKeep) {
      if (marked) plan.document = array.node.node.array->document;
      return keep_array(array, plan);
    }
    tell(array.path, plan.reason);
    ++changed_arrays_;
    ZARRFS_TRY(StoredShards stored,
               list_shards(*source_.store, array.path, *array.node.node.array));
    if (!stored.outside.empty()) {
      tell(array.path, human_count(stored.outside.size()) +
                           " objects beyond the array's shape are left out, such as " +
                           printable(stored.outside[0]));
    }
    for (const std::string& other : stored.others) {
      ZARRFS_CHECK(copy_entry(join_path(array.path, other)));
    }
    ZARRFS_CHECK(make_nonempty_true(array, stored.cells, plan));
    add_array_documents(array, plan);
    add_maker(array, std::move(plan), std::move(stored.cells), std::move(shown));
    return {};
  }

  Result<void> keep_array(const SourceArray& array, const ArrayPlan& plan) {
    if (plan.left) ++left_;
    if (v2() && plan.left) {
      tell(array.path, (options_.in_place ? "is left as it is: " : "is left out: ") + plan.reason);
      return options_.in_place ? copy_tree(array.path, false) : Result<void>();
    }
    tell(array.path, plan.left ? "is left as it is: " + plan.reason : plan.reason + ": copied");
    const bool changed = !plan.document.is_null();
    if (changed) ++changed_arrays_;
    const Json& document = changed ? plan.document : array.node.node.array->document;
    const auto origin = changed ? NewDocuments::Origin::kMade : NewDocuments::Origin::kCopied;
    return copy_tree(array.path, documents_.add_v3(array.path, document, origin));
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

  void add_array_documents(const SourceArray& array, const ArrayPlan& plan) {
    const std::string& path = array.path;
    if (v2()) {
      documents_.add_v2(join_path(path, ".zarray"), plan.document);
      documents_.add_v2(join_path(path, ".zattrs"), plan.attributes,
                        style_of(array.node.node.array->attributes, true));
      return;
    }
    documents_.add_v3(path, plan.document, NewDocuments::Origin::kMade);
  }

  void add_maker(const SourceArray& array, ArrayPlan plan, std::vector<std::uint64_t> cells,
                 std::optional<Presentation> shown) {
    makers_.emplace_back([this, array, plan = std::move(plan), cells = std::move(cells),
                          shown = std::move(shown)](Target& target) {
      if (shown) return shown_conversion(source_, array, *shown, cells, target);
      if (plan.action == ArrayPlan::Action::kShard) {
        return shard_conversion(source_, array, plan, cells, target);
      }
      return unshard_conversion(source_, array, plan, cells, target);
    });
  }

  Result<void> copy_entry(const std::string& path) {
    ZARRFS_TRY(const auto status, source_.store->status(path));
    if (!status) return {};
    if (S_ISDIR(status->st_mode)) return copy_tree(path, false);
    if (S_ISREG(status->st_mode)) files_.push_back(path);
    return {};
  }

  Result<void> copy_tree(const std::string& path, bool without_documents) {
    ZARRFS_CHECK(check_wanted());
    ZARRFS_CHECK(ways_.enter(*source_.store, path));
    ZARRFS_TRY(const auto entries, source_.store->list(path));
    if (!entries) return {};
    for (const Entry& entry : *entries) {
      if (is_own_name(entry.name)) continue;
      if (without_documents && is_metadata_name(entry.name)) continue;
      const std::string child = join_path(path, entry.name);
      if (entry.kind == EntryKind::kDirectory) {
        ZARRFS_CHECK(copy_tree(child, false));
      } else if (entry.kind == EntryKind::kOther) {
        leave_other_out(child);
      } else {
        files_.push_back(child);
      }
    }
    return {};
  }

  // Calls `work` for every piece of every conversion.
  Result<void> for_each_piece(
      const std::string& what,
      const std::function<Result<void>(Conversion&, std::uint64_t piece)>& work) {
    std::vector<std::uint64_t> ends;
    std::uint64_t total = 0;
    for (const auto& conversion : conversions_) {
      total += conversion->pieces();
      ends.push_back(total);
    }
    Progress progress(console_, what, total, "files");
    return parallel_for(total, options_.threads, [&](std::uint64_t i) -> Result<void> {
      const auto which =
          static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), i) - ends.begin());
      const std::uint64_t first = which == 0 ? 0 : ends[which - 1];
      ZARRFS_CHECK(work(*conversions_[which], i - first));
      progress.add(1);
      return {};
    });
  }

  // What an interrupted run made is kept where all its bytes are right.
  Result<void> make_pieces(bool resumed) {
    return for_each_piece(
        "convert", [&](Conversion& conversion, std::uint64_t piece) -> Result<void> {
          if (resumed) {
            ZARRFS_TRY(const std::string difference, conversion.check(piece, true));
            if (difference.empty()) return {};
          }
          ZARRFS_CHECK(conversion.make(piece));
          return {};
        });
  }

  Result<void> check_pieces() {
    const bool bytes = options_.in_place || options_.check_bytes;
    return for_each_piece(
        "check", [&](Conversion& conversion, std::uint64_t piece) -> Result<void> {
          ZARRFS_TRY(const std::string difference, conversion.check(piece, bytes));
          if (difference.empty()) return {};
          return fail(not_right(difference));
        });
  }

  const Console& console_;
  const ConversionOptions& options_;
  Source source_;
  Ways ways_;  ///< Directories that were entered.
  ShownAs as_;
  std::vector<std::function<std::unique_ptr<Conversion>(Target&)>> makers_;
  std::vector<std::unique_ptr<Conversion>> conversions_;
  Files files_;
  NewDocuments documents_;
  bool any_node_ = false;
  std::uint64_t changed_groups_ = 0;
  std::uint64_t changed_arrays_ = 0;
  std::uint64_t left_ = 0;
};

// Groups above `path` keep no copy of metadata that are going to change: readers then look for
// themselves.
Result<void> forget_consolidated_above(const Console& console, const std::string& path) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  for (; directory != directory.root_path(); directory = directory.parent_path()) {
    ZARRFS_TRY(const auto store, open_store(directory.string(), LinkPolicy::kFollow));
    ZARRFS_TRY(const SourceNode node, load_source_node(*store, ""));
    if (node.node.kind != Node::Kind::kGroup) return {};
    if (node.zarr_format == 2) {
      return fail(Fault::kInvalid, directory.string() + " is a group of Zarr v2, in which " + path +
                                       " could not be Zarr v3: convert the whole store");
    }
    if (!node.node.group->consolidated) continue;
    Json document = node.node.group->document;
    document.erase("consolidated_metadata");
    Target target(std::shared_ptr<Store>(std::shared_ptr<Store>(), store.get()), directory.string(),
                  std::nullopt);
    ZARRFS_CHECK(target.write_document("zarr.json", dump_document(document)));
    ZARRFS_CHECK(target.sync());
    console.say(directory.string() +
                "/zarr.json: its consolidated metadata are removed, since they "
                "would not be true any more");
  }
  return {};
}

Result<std::string> real_path(const std::string& source) {
  if (!is_local(source)) return source.substr(0, source.find('?'));
  ZARRFS_TRY(const std::string local, local_path(source));
  std::error_code error;
  const auto real = std::filesystem::canonical(local, error);
  if (error) return fail(Fault::kInvalid, source + ": " + error.message());
  return real.string();
}

Result<std::string> target_outside(const std::string& target, const std::string& source_path) {
  ZARRFS_TRY(const std::string target_path, local_path(target));
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(target_path, error);
  if (error) return fail(system_error(error.value(), target_path));
  if ((real.string() + "/").starts_with(source_path + "/")) {
    return fail(Fault::kInvalid, "the target " + target_path + " lies within the source");
  }
  return real.string();
}

}  // namespace

Result<bool> convert_store(const Console& console, const std::string& source_name,
                           const std::string& target_name, const ConversionOptions& options,
                           std::string& unfinished) {
  ZARRFS_TRY(const std::string source_path, real_path(source_name));
  std::string target_path;
  const bool uploads = !options.in_place && !is_local(target_name);
  if (!options.in_place) {
    ZARRFS_TRY(target_path, uploads ? upload_target(target_name, source_path)
                                    : target_outside(target_name, source_path));
  }
  const bool local = is_local(source_name);
  const bool a_directory = local && std::filesystem::is_directory(source_path);
  if (options.in_place && !a_directory) {
    return fail(Fault::kUnsupported, source_path + " is only read: give a TARGET");
  }
  ZARRFS_TRY(Source source, Source::open(local ? source_path : source_name, options.remote));
  StoreLock lock;
  if (options.in_place) {
    if (const auto reason = source.store->why_read_only()) return fail(Fault::kReadOnly, *reason);
    ZARRFS_TRY(lock, be_alone(source_path));
  } else if (a_directory) {
    ZARRFS_CHECK(check_published(source_path));
  }
  Json description = {{"source", source_path}, {"form", options.form.json()}};
  if (options.form.kind == Form::Kind::kPlainV2) description["profile"] = options.profile;
  if (options.fill != FillMeaning::kAuto) {
    description["fill_value_is_missing"] = options.fill == FillMeaning::kMissing;
  }
  StoreConverter converter(console, options, std::move(source));
  if (a_directory) {
    ZARRFS_CHECK(ConversionPlace::finish_earlier(source_path, options.in_place));
  }
  // What refuses the target comes before the plan is told.
  if (uploads) {
    ZARRFS_TRY(ConversionUpload place,
               ConversionUpload::find(target_path, options.target_remote, description));
    ZARRFS_CHECK(converter.plan());
    unfinished = target_path;
    ZARRFS_CHECK(place.begin());
    Target target(place.store());
    ZARRFS_CHECK(converter.run(target, place.resumed()));
    ZARRFS_CHECK(place.finish());
    return converter.all_converted();
  }
  ZARRFS_TRY(ConversionPlace place,
             ConversionPlace::find(source_path, target_path, options.in_place, description));
  ZARRFS_CHECK(converter.plan());
  if (options.in_place && converter.nothing_to_do()) return converter.all_converted();
  ZARRFS_CHECK(place.begin());
  unfinished = place.path();
  ZARRFS_TRY(std::shared_ptr<Store> store, open_store(place.path(), LinkPolicy::kInside));
  Target target(std::move(store), place.path(),
                options.in_place ? std::optional(source_path) : std::nullopt);
  ZARRFS_CHECK(converter.run(target, place.resumed()));
  if (options.in_place) {
    ZARRFS_CHECK(forget_consolidated_above(console, source_path));
  }
  ZARRFS_CHECK(place.finish());
  return converter.all_converted();
}

Result<void> discard_conversion(const Console& console, const std::string& source_name,
                                const std::string& target_name, const ConversionOptions& options) {
  ZARRFS_TRY(const std::string source_path, real_path(source_name));
  bool any = false;
  if (options.in_place) {
    ZARRFS_TRY(any, ConversionPlace::discard(source_path, "", true));
  } else if (is_local(target_name)) {
    ZARRFS_TRY(const std::string target_path, target_outside(target_name, source_path));
    ZARRFS_TRY(any, ConversionPlace::discard(source_path, target_path, false));
  } else {
    ZARRFS_TRY(const std::string url, upload_target(target_name, source_path));
    ZARRFS_TRY(any, ConversionUpload::discard(url, options.target_remote, source_path));
  }
  console.say(source_path + (any ? ": what an unfinished conversion had made is removed"
                                 : ": no unfinished conversion was left behind"));
  return {};
}

}  // namespace zarrfs::tools
