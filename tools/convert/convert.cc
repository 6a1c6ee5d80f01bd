#include "tools/convert/convert.h"

#include <filesystem>
#include <functional>

#include "core/store/open_store.h"
#include "tools/convert/convert_archive.h"
#include "tools/convert/convert_array.h"
#include "tools/convert/convert_place.h"
#include "tools/convert/convert_upload.h"
#include "tools/convert/sides.h"
#include "tools/convert/store_plan.h"
#include "tools/shared/exclusive_writer.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {
namespace {

// One run: does what is planned, and checks it.
class StoreConverter {
 public:
  StoreConverter(const Console& console, const ConversionOptions& options, StorePlan planned)
      : console_(console), options_(options), planned_(std::move(planned)) {}

  Result<void> run(Target& target, bool resumed) {
    collect_pieces(target);
    ZARRFS_CHECK(make_pieces(resumed));
    // Documents last, and the root's after all others: what is unfinished is no store.
    ZARRFS_CHECK(write_documents(planned_, false, target));
    ZARRFS_CHECK(check_pieces());
    ZARRFS_CHECK(write_documents(planned_, true, target));
    return target.sync();
  }

  // In an archive documents lie before everything else; unfinished ones have no name.
  Result<void> run_archive(Target& target) {
    collect_pieces(target);
    ZARRFS_CHECK(write_documents_in_order(planned_, target));
    ZARRFS_CHECK(make_pieces(false));
    return check_pieces();
  }

 private:
  void collect_pieces(Target& target) {
    for (const ArrayWork& work : planned_.arrays) {
      conversions_.push_back(
          array_conversion(planned_.source, work, pieces_of(work, work.cells), target));
    }
    if (!planned_.files.empty()) {
      conversions_.push_back(copy_conversion(planned_.source, planned_.files, target));
    }
  }

  // What an interrupted run made is kept where all its bytes are right.
  Result<void> make_pieces(bool resumed) {
    return for_each_piece(console_, "convert", options_.threads, conversions_,
                          [&](Conversion& conversion, std::uint64_t piece) -> Result<void> {
                            if (resumed) {
                              ZARRFS_TRY(const std::string difference,
                                         conversion.check(piece, true));
                              if (difference.empty()) return {};
                            }
                            ZARRFS_CHECK(conversion.make(piece));
                            return {};
                          });
  }

  Result<void> check_pieces() {
    const bool bytes = options_.in_place || options_.check_bytes;
    return for_each_piece(console_, "check", options_.threads, conversions_,
                          [&](Conversion& conversion, std::uint64_t piece) -> Result<void> {
                            ZARRFS_TRY(const std::string difference,
                                       conversion.check(piece, bytes));
                            if (difference.empty()) return {};
                            return fail(not_right(difference));
                          });
  }

  const Console& console_;
  const ConversionOptions& options_;
  StorePlan planned_;
  std::vector<std::unique_ptr<Conversion>> conversions_;
};

// Visits the groups above `path`, from within.
Result<void> for_each_group_above(
    const std::string& path,
    const std::function<Result<void>(const std::string& directory, Store& store,
                                     const SourceNode& group)>& visit) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  for (; directory != directory.root_path(); directory = directory.parent_path()) {
    ZARRFS_TRY(const auto store, open_store(directory.string(), LinkPolicy::kFollow));
    ZARRFS_TRY(const SourceNode node, load_source_node(*store, ""));
    if (node.node.kind != Node::Kind::kGroup) return {};
    ZARRFS_CHECK(visit(directory.string(), *store, node));
  }
  return {};
}

// In a group of Zarr v2 nothing could be Zarr v3.
Result<void> check_groups_above(const std::string& path) {
  return for_each_group_above(
      path, [&](const std::string& directory, Store&, const SourceNode& group) -> Result<void> {
        if (group.zarr_format != 2) return {};
        return fail(Fault::kInvalid, directory + " is a group of Zarr v2, in which " + path +
                                         " could not be Zarr v3: convert the whole store");
      });
}

// Groups above `path` keep no copy of metadata that are going to change: readers then look for
// themselves.
Result<void> forget_consolidated_above(const Console& console, const std::string& path) {
  return for_each_group_above(
      path,
      [&](const std::string& directory, Store& store, const SourceNode& node) -> Result<void> {
        if (!node.node.group->consolidated) return {};
        Json document = node.node.group->document;
        document.erase("consolidated_metadata");
        Target target(std::shared_ptr<Store>(std::shared_ptr<Store>(), &store), directory,
                      std::nullopt);
        ZARRFS_CHECK(target.write_document("zarr.json", dump_document(document)));
        ZARRFS_CHECK(target.sync());
        console.say(directory +
                    "/zarr.json: its consolidated metadata are removed, since they "
                    "would not be true any more");
        return {};
      });
}

}  // namespace

Result<bool> convert_store(const Console& console, const std::string& source_name,
                           const std::string& target_name, const ConversionOptions& options,
                           std::string& unfinished) {
  ZARRFS_TRY(ConversionSides sides, open_sides(source_name, target_name, options));
  const std::string source_path = sides.source_path;
  StoreLock lock;
  if (options.in_place) {
    if (!sides.source_is_directory) {
      return fail(Fault::kUnsupported, source_path + " is only read: give a TARGET");
    }
    if (const auto reason = sides.source.store->why_read_only()) {
      return fail(Fault::kReadOnly, *reason);
    }
    ZARRFS_CHECK(check_groups_above(source_path));
    ZARRFS_TRY(lock, lock_exclusively(source_path));
  }
  ZARRFS_CHECK(check_source(sides, options.in_place));
  const auto plan = [&] {
    return plan_store(console, options, std::move(sides.source), PlanDepth::kListed);
  };
  // What refuses the target comes before the plan is told.
  if (sides.uploads) {
    ZARRFS_TRY(ConversionUpload place,
               ConversionUpload::find(sides.target_path, options.target_remote, sides.description));
    ZARRFS_TRY(StorePlan planned, plan());
    const bool all_converted = planned.left == 0;
    unfinished = sides.target_path;
    ZARRFS_CHECK(place.begin());
    Target target(place.store());
    ZARRFS_CHECK(StoreConverter(console, options, std::move(planned)).run(target, place.resumed()));
    ZARRFS_CHECK(place.finish());
    return all_converted;
  }
  if (sides.archives) {
    ZARRFS_TRY(ConversionArchive place, ConversionArchive::find(sides.target_path));
    ZARRFS_TRY(StorePlan planned, plan());
    const bool all_converted = planned.left == 0;
    ZARRFS_CHECK(place.begin());
    Target target(place.store());
    ZARRFS_CHECK(StoreConverter(console, options, std::move(planned)).run_archive(target));
    ZARRFS_CHECK(place.finish());
    return all_converted;
  }
  ZARRFS_TRY(ConversionPlace place, ConversionPlace::find(source_path, sides.target_path,
                                                          options.in_place, sides.description));
  ZARRFS_TRY(StorePlan planned, plan());
  const bool all_converted = planned.left == 0;
  if (options.in_place && planned.nothing_to_do()) return all_converted;
  ZARRFS_CHECK(place.begin());
  unfinished = place.path();
  ZARRFS_TRY(std::shared_ptr<Store> store, open_store(place.path(), LinkPolicy::kInside));
  Target target(std::move(store), place.path(),
                options.in_place ? std::optional(source_path) : std::nullopt);
  ZARRFS_CHECK(StoreConverter(console, options, std::move(planned)).run(target, place.resumed()));
  if (options.in_place) {
    ZARRFS_CHECK(forget_consolidated_above(console, source_path));
  }
  ZARRFS_CHECK(place.finish());
  return all_converted;
}

Result<void> discard_conversion(const Console& console, const std::string& source_name,
                                const std::string& target_name, const ConversionOptions& options) {
  ZARRFS_TRY(const std::string source_path, real_path(source_name));
  bool any = false;
  if (options.in_place) {
    ZARRFS_TRY(any, ConversionPlace::discard(source_path, "", true));
  } else if (is_local(target_name)) {
    ZARRFS_TRY(const std::string target_path, target_outside(target_name, source_path));
    ZARRFS_TRY(any, is_archive_target(target_name)
                        ? ConversionArchive::discard(target_path)
                        : ConversionPlace::discard(source_path, target_path, false));
  } else {
    ZARRFS_TRY(const std::string url, upload_target(target_name, source_path));
    ZARRFS_TRY(any, ConversionUpload::discard(url, options.target_remote, source_path));
  }
  console.say(source_path + (any ? ": what an unfinished conversion had made is removed"
                                 : ": no unfinished conversion was left behind"));
  return {};
}

}  // namespace zarrfs::tools
