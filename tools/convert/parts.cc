#include "tools/convert/parts.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/lock_order.h"
#include "core/cli/command.h"
#include "core/store/open_store.h"
#include "tools/convert/convert_place.h"
#include "tools/convert/convert_upload.h"
#include "tools/convert/part_notes.h"
#include "tools/convert/part_range.h"
#include "tools/convert/parts_place.h"
#include "tools/convert/sides.h"
#include "tools/convert/store_plan.h"
#include "tools/shared/parallel.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

constexpr std::uint64_t kMostPieces = std::uint64_t{1} << 53U;  // what any reader of JSON can hold
constexpr std::size_t kNamed = 20;  // parts and pieces that are missing are named, so many
constexpr std::chrono::seconds kBetweenNotes{10};
const std::string kMarker = kConversionMarker;

Result<std::unique_ptr<PartsPlace>> parts_place_at(const std::string& path, bool uploads,
                                                   const std::string& options, bool create) {
  if (uploads) return open_remote_parts(path, options);
  if (is_archive_target(path)) {
    return fail(Fault::kUnsupported, path + ": an archive is made by one process, not in parts: " +
                                         "give a directory or a bucket");
  }
  return open_local_parts(path, create);
}

/// Whether the command line says what is to be made: --status needs not.
bool names_form(const Form& form) {
  return form.kind == Form::Kind::kPlainV2 || names_shards(form.shards);
}

tl::unexpected<Error> not_begun(const PartsPlace& place) {
  return fail(
      Fault::kInvalid,
      place.name() +
          ": no conversion in parts is under way here; one that is finished has no more to do");
}

// A conversion as it is planned, and where its machines meet.
class PartsConversion {
 public:
  PartsConversion(const Console& console, const ConversionOptions& options, StorePlan planned,
                  std::unique_ptr<PartsPlace> place)
      : console_(console),
        options_(options),
        planned_(std::move(planned)),
        place_(std::move(place)) {}

  // What the marker says, and how many pieces that are.
  Result<void> describe(Json description) {
    Json arrays = Json::object();
    for (const ArrayWork& work : planned_.arrays) {
      const auto count = count_pieces(work);
      if (!count || *count > kMostPieces || total_ + *count > kMostPieces) {
        return fail(Fault::kUnsupported,
                    shown_path(work.array.path) + " has too many objects to be made in parts");
      }
      total_ += *count;
      arrays[work.array.path] = {{"pieces", *count},
                                 {"shape", work.array.node.node.array->shape},
                                 {"form", work.array.node.node.array->form},
                                 {"fill_value", work.array.node.node.array->fill_value},
                                 {"result", work.plan.reason}};
    }
    total_ += planned_.files.size();
    description[kPlanMember] = {{"pieces", total_},
                                {"decoded_bytes", decoded_bytes()},
                                {"files", planned_.files.size()},
                                {"arrays", std::move(arrays)}};
    marker_ = dump_document(description);
    return {};
  }

  // The marker of this conversion stands in the target when it returns, whoever put it there.
  Result<void> begin() {
    constexpr int kAttempts = 3;  // a marker that was not there and is in the way was put meanwhile
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      ZARRFS_TRY(const auto found, place_->read(kMarker));
      if (found) return is_ours(*found);
      ZARRFS_TRY(const bool empty, place_->prepare());
      if (!empty) continue;
      ZARRFS_TRY(const bool made, place_->put_first(kMarker, marker_));
      if (made) return {};
    }
    return fail(Fault::kExists,
                place_->name() +
                    " is there already, and is not empty; if this conversion has made it, "
                    "it is finished and has no more to do");
  }

  Result<void> must_be_begun() {
    ZARRFS_TRY(const auto found, place_->read(kMarker));
    return found ? is_ours(*found) : not_begun(*place_);
  }

  Result<void> say_parts(std::uint64_t parts) { return put_parts(*place_, parts); }

  // The first who says how many parts there are is right.
  Result<void> agree_on_parts(std::uint64_t parts) {
    ZARRFS_TRY(const std::uint64_t agreed, first_parts(*place_, parts));
    if (agreed == parts) return {};
    return fail(Fault::kInvalid, place_->name() + " is made in " + std::to_string(agreed) +
                                     " parts, not " + std::to_string(parts) + " (--begin --parts " +
                                     std::to_string(parts) + " changes that)");
  }

  void tell_plan() const {
    console_.out << counted(total_, "piece") << ": " << counted(planned_.arrays.size(), "array")
                 << ", " << counted(planned_.files.size(), "other file") << '\n';
  }

  Result<int> make_part(std::uint64_t part, std::uint64_t parts) {
    PartNote note{.part = part, .parts = parts, .tallies = {}, .files = {}};
    ZARRFS_TRY(const Conversions pieces,
               conversions_within(range_of_part(total_, {part, parts}), note));
    ZARRFS_CHECK(put_current(note));
    CommandMutex mutex;
    std::uint64_t kept = 0;
    auto noted = std::chrono::steady_clock::now();
    const std::string name = "part " + std::to_string(part) + "/" + std::to_string(parts);
    ZARRFS_CHECK(for_each_piece(console_, name, options_.threads, pieces,
                                [&](Conversion& conversion, std::uint64_t piece) -> Result<void> {
                                  bool was_there = false;
                                  ZARRFS_TRY(const Made made,
                                             make_piece(conversion, piece, was_there));
                                  const HeldLock lock(mutex);
                                  tally_of(conversion).add(made);
                                  if (was_there && made.objects > 0) ++kept;
                                  const auto now = std::chrono::steady_clock::now();
                                  if (now - noted < kBetweenNotes) return {};
                                  noted = now;
                                  return put_current(note);
                                }));
    ZARRFS_CHECK(place_->target().sync());
    ZARRFS_CHECK(put_current(note));
    const PartTally sum = note.sum();
    console_.out << name << ": " << counted(sum.pieces, "piece") << ", "
                 << counted(sum.objects, "object") << ", " << human_bytes(sum.bytes) << "; "
                 << human_count(kept) << " were there\n";
    return kGood;
  }

  // Whether --finish has made everything, and was interrupted as it removed the notes of the parts.
  Result<bool> has_everything() {
    ZARRFS_TRY(const auto note, place_->read(kFinishedNote));
    return note.has_value();
  }

  // Whether all parts are whole. Names those that are not.
  Result<bool> all_there() {
    ZARRFS_TRY(const auto parts, read_parts(*place_));
    if (!parts) {
      console_.out << "no part was made\n";
      return total_ == 0;
    }
    ZARRFS_TRY(auto notes, read_notes(*place_, *parts, options_.threads));
    std::size_t missing = 0;
    for (PartNote& note : notes) {
      if (!note.complete() || !is_of_this_cut(note)) {
        ZARRFS_TRY(const std::string lacks, look_through(note));
        if (lacks.empty()) continue;
        if (++missing <= kNamed) tell_missing(note, lacks);
      }
    }
    if (missing > kNamed) console_.out << human_count(missing - kNamed) << " more parts\n";
    if (missing > 0) return false;
    return objects_are_there(notes);
  }

  Result<void> finish() {
    Target& target = place_->target();
    std::vector<std::string> files = planned_.files;
    files.insert(files.end(), planned_.others.begin(), planned_.others.end());
    Conversions copies;
    copies.push_back(copy_conversion(planned_.source, std::move(files), target));
    ZARRFS_CHECK(for_each_piece(console_, "copy", options_.threads, copies,
                                [&](Conversion& conversion, std::uint64_t piece) -> Result<void> {
                                  bool was_there = false;
                                  ZARRFS_CHECK(make_piece(conversion, piece, was_there));
                                  return {};
                                }));
    if (options_.check_bytes) ZARRFS_CHECK(check_bytes(copies));
    ZARRFS_CHECK(write_documents(planned_, false, target));
    ZARRFS_CHECK(write_documents(planned_, true, target));
    ZARRFS_CHECK(target.sync());
    ZARRFS_TRY(std::ignore, place_->put_first(kFinishedNote, "{}\n"));
    return clean_up();
  }

  // What zarrfs had noted in the result, which is whole: the note that says so goes last.
  Result<void> clean_up() {
    ZARRFS_CHECK(place_->remove_temporary());
    ZARRFS_CHECK(place_->target().sync());
    for (const std::string& name : {kMarker, std::string(kFinishedNote)}) {
      ZARRFS_TRY(const auto there, place_->read(name));
      if (there) ZARRFS_CHECK(place_->remove(name));
    }
    return {};
  }

  [[nodiscard]] bool all_converted() const { return planned_.left == 0; }

 private:
  // Says how much of a part there is; not in a target that is whole, or gone.
  Result<void> put_current(const PartNote& note) {
    ZARRFS_CHECK(put_note(*place_, note));
    ZARRFS_TRY(const bool under_way, place_->has(kMarker));
    if (under_way) return {};
    ZARRFS_CHECK(remove_note(*place_, note));
    return ended_meanwhile();
  }

  [[nodiscard]] tl::unexpected<Error> ended_meanwhile() const {
    return fail(Fault::kStale, place_->name() + " was finished or discarded meanwhile");
  }

  [[nodiscard]] Result<void> is_ours(const std::string& marker) const {
    if (marker == marker_) return {};
    const auto without_plan = [](const std::string& text) {
      auto description = parse_json(text, kMarker);
      if (!description || !description->is_object()) return Json();
      description->erase(kPlanMember);
      return std::move(*description);
    };
    if (without_plan(marker) != without_plan(marker_)) {
      return another_conversion(place_->name(), marker, marker_);
    }
    return fail(Fault::kExists, place_->name() +
                                    ": the arrays or files of the source are not those of --begin: "
                                    "a conversion in parts needs a source that stays as it is; "
                                    "--discard removes what was made");
  }

  // Of all elements of all arrays, as far as types have a size; for choosing the number of parts.
  [[nodiscard]] std::uint64_t decoded_bytes() const {
    std::uint64_t bytes = 0;
    for (const ArrayWork& work : planned_.arrays) {
      const ArrayMetadata& array = *work.array.node.node.array;
      const auto of_array =
          checked_multiply(checked_product(array.shape).value_or(kMostPieces), array.type.size);
      bytes = std::min(kMostPieces, bytes + std::min(kMostPieces, of_array.value_or(kMostPieces)));
    }
    return bytes;
  }

  // The conversions of what `range` has of each array, and of the files; `note` gets a tally for
  // each.
  Result<Conversions> conversions_within(NumberRange range, PartNote& note) {
    Conversions conversions;
    tallies_.clear();
    std::uint64_t first = 0;
    for (const ArrayWork& work : planned_.arrays) {
      const std::uint64_t count = count_pieces(work).value_or(0);
      const NumberRange mine = common_range(range, {first, first + count});
      const NumberRange within{mine.begin - first, mine.end - first};
      first += count;
      if (mine.count() == 0) continue;
      ZARRFS_TRY(auto numbers, pieces_within(planned_.source, work, within));
      PartTally& tally = note.tallies[work.array.path];
      tally = {.pieces = mine.count(), .done = mine.count() - numbers.size()};
      conversions.push_back(
          array_conversion(planned_.source, work, std::move(numbers), place_->target()));
      tallies_[conversions.back().get()] = &tally;
    }
    const NumberRange mine = common_range(range, {first, first + planned_.files.size()});
    if (mine.count() == 0) return conversions;
    const auto at = planned_.files.begin();
    note.files.pieces = mine.count();
    conversions.push_back(copy_conversion(planned_.source,
                                          {at + static_cast<std::ptrdiff_t>(mine.begin - first),
                                           at + static_cast<std::ptrdiff_t>(mine.end - first)},
                                          place_->target()));
    tallies_[conversions.back().get()] = &note.files;
    return conversions;
  }

  PartTally& tally_of(const Conversion& conversion) { return *tallies_.at(&conversion); }

  // What is there is kept. What another machine made meanwhile will do as well.
  Result<Made> make_piece(Conversion& conversion, std::uint64_t piece, bool& was_there) {
    ZARRFS_TRY(const bool under_way, place_->has(kMarker));
    if (!under_way) return ended_meanwhile();
    ZARRFS_TRY(const auto found, conversion.found(piece));
    was_there = found.has_value();
    if (found) return *found;
    const auto made = conversion.make(piece);
    if (made) return *made;
    const auto meanwhile = conversion.found(piece);
    if (meanwhile && *meanwhile) return **meanwhile;
    return fail(made.error());
  }

  // Whether a note has what the part has of each array.
  [[nodiscard]] bool is_of_this_cut(const PartNote& note) const {
    const NumberRange range = range_of_part(total_, {note.part, note.parts});
    std::uint64_t first = 0;
    std::size_t arrays = 0;
    for (const ArrayWork& work : planned_.arrays) {
      const std::uint64_t count = count_pieces(work).value_or(0);
      const std::uint64_t mine = common_range(range, {first, first + count}).count();
      first += count;
      if (mine == 0) continue;
      const auto tally = note.tallies.find(work.array.path);
      if (tally == note.tallies.end() || tally->second.pieces != mine) return false;
      ++arrays;
    }
    return arrays == note.tallies.size() && note.sum().pieces == range.count();
  }

  // What a part without a complete note lacks; empty where all of it is there.
  Result<std::string> look_through(PartNote& note) {
    const PartNote before = note;
    note = {.part = note.part, .parts = note.parts, .tallies = {}, .files = {}};
    ZARRFS_TRY(const Conversions pieces,
               conversions_within(range_of_part(total_, {note.part, note.parts}), note));
    for (const auto& conversion : pieces) {
      for (std::uint64_t piece = 0; piece < conversion->pieces(); ++piece) {
        if (interrupted()) return fail(interruption());
        ZARRFS_TRY(const auto found, conversion->found(piece));
        if (!found) {
          ZARRFS_TRY(const std::string lacks, conversion->check(piece, false));
          if (!lacks.empty()) {
            note = before;
            return lacks;
          }
        }
        tally_of(*conversion).add(found.value_or(Made{}));
      }
    }
    return std::string();
  }

  void tell_missing(const PartNote& note, const std::string& lacks) const {
    console_.out << on_one_line("part " + std::to_string(note.part) + "/" +
                                std::to_string(note.parts) + " is not complete: " + lacks)
                 << '\n';
  }

  // Whether what parts have made is still there, as the listings of the target tell.
  Result<bool> objects_are_there(std::vector<PartNote>& notes) {
    std::map<std::string, PartTally> made;
    for (const PartNote& note : notes) {
      for (const auto& [path, tally] : note.tallies) made[path] += tally;
    }
    std::set<std::string> doubtful;
    for (const ArrayWork& work : planned_.arrays) {
      ZARRFS_TRY(const bool as_made, is_as_made(work, made[work.array.path]));
      if (!as_made) doubtful.insert(work.array.path);
    }
    return doubtful.empty() ? true : look_for_lost(doubtful, notes);
  }

  // Whether there are as many objects as the parts have made, and in a directory as many bytes: a
  // bucket has no objects cut short, and would have to be asked for each. False where a listing
  // does not tell.
  Result<bool> is_as_made(const ArrayWork& work, const PartTally& tally) {
    const auto& made = work.copied ? work.array.node.node.array : work.plan.metadata;
    if (work.shown || made == nullptr) return false;
    Store& store = place_->target().store();
    ZARRFS_TRY(const StoredShards stored, list_shards(store, work.array.path, *made));
    if (stored.cells.size() < tally.objects) return false;
    if (!store.traits().near || stored.cells.size() > tally.objects) return true;
    std::atomic<std::uint64_t> bytes = 0;
    ZARRFS_CHECK(
        parallel_for(stored.cells.size(), options_.threads, [&](std::uint64_t i) -> Result<void> {
          const auto cell = coordinates_of(stored.cells[i], made->grid.counts());
          ZARRFS_TRY(const auto status,
                     store.status(join_path(work.array.path, made->key_encoding.key(cell))));
          if (status) bytes += static_cast<std::uint64_t>(status->st_size);
          return {};
        }));
    return bytes == tally.bytes;
  }

  Result<bool> look_for_lost(const std::set<std::string>& arrays, std::vector<PartNote>& notes) {
    std::size_t missing = 0;
    for (PartNote& note : notes) {
      const bool concerned =
          std::any_of(note.tallies.begin(), note.tallies.end(),
                      [&](const auto& tally) { return arrays.contains(tally.first); });
      if (!concerned) continue;
      ZARRFS_TRY(const std::string lacks, look_through(note));
      if (lacks.empty()) continue;
      if (++missing <= kNamed) tell_missing(note, lacks);
    }
    return missing == 0;
  }

  Result<void> check_bytes(const Conversions& copies) {
    PartNote note;
    ZARRFS_TRY(const Conversions all, conversions_within({0, total_}, note));
    for (const Conversions* conversions : {&all, &copies}) {
      ZARRFS_CHECK(
          for_each_piece(console_, "check", options_.threads, *conversions,
                         [&](Conversion& conversion, std::uint64_t piece) -> Result<void> {
                           ZARRFS_TRY(const std::string difference, conversion.check(piece, true));
                           return difference.empty() ? Result<void>() : fail(not_right(difference));
                         }));
    }
    return {};
  }

  const Console& console_;
  const ConversionOptions& options_;
  StorePlan planned_;
  std::unique_ptr<PartsPlace> place_;
  std::uint64_t total_ = 0;
  std::string marker_;
  std::map<const Conversion*, PartTally*> tallies_;
};

Result<int> finish_parts(const Console& console, PartsConversion& conversion) {
  ZARRFS_TRY(const bool has_everything, conversion.has_everything());
  if (has_everything) {
    ZARRFS_CHECK(conversion.clean_up());
  } else {
    ZARRFS_CHECK(conversion.must_be_begun());
    ZARRFS_TRY(const bool all_there, conversion.all_there());
    if (!all_there) {
      console.say("not everything is there: make the parts above again");
      return kFound;
    }
    ZARRFS_CHECK(conversion.finish());
  }
  if (conversion.all_converted()) return kGood;
  console.say("not everything got the form asked for; the lines above say what, and why");
  return kFound;
}

Result<int> tell_status(const Console& console, const std::string& source_name,
                        const std::string& target_name, const ConversionOptions& options,
                        const PartsStep& step) {
  ZARRFS_TRY(const std::string source_path, real_path(source_name));
  const bool uploads = !is_local(target_name);
  ZARRFS_TRY(const std::string path, uploads ? upload_target(target_name, source_path)
                                             : target_outside(target_name, source_path));
  ZARRFS_TRY(const auto place, parts_place_at(path, uploads, options.target_remote, false));
  ZARRFS_TRY(const auto marker, place->read(kMarker));
  if (!marker) return not_begun(*place);
  ZARRFS_TRY(const Json described, parse_json(*marker, kMarker));
  const Json asked = options.form.json();
  const bool same_form =
      described.contains("form") && (!names_form(options.form) || described["form"] == asked);
  if (!made_from(*marker, source_path) || !described.contains(kPlanMember) || !same_form) {
    return another_conversion(place->name(), *marker,
                              dump_document(Json{{"source", source_path}, {"form", asked}}));
  }
  ZARRFS_TRY(const auto whole, place->read(kFinishedNote));
  if (whole) {
    console.say(place->name() + ": is whole; --finish again removes what the parts have noted");
  }
  ZARRFS_TRY(const auto parts, read_parts(*place));
  std::vector<PartNote> notes;
  if (parts) {
    ZARRFS_TRY(notes, read_notes(*place, *parts, options.threads));
  }
  ZARRFS_TRY(const PartsStatus status, add_up(described[kPlanMember], parts, notes));
  if (step.json) {
    console.out << dump_document(status.json(source_name, target_name));
  } else {
    console.out << status.text();
  }
  return kGood;
}

}  // namespace

Result<int> convert_in_parts(const Console& console, const std::string& source_name,
                             const std::string& target_name, const ConversionOptions& options,
                             const PartsStep& step) {
  if (step.kind == PartsStep::Kind::kStatus) {
    return tell_status(console, source_name, target_name, options, step);
  }
  ZARRFS_TRY(ConversionSides sides, open_sides(source_name, target_name, options));
  ZARRFS_CHECK(check_source(sides, false));
  const bool finishes = step.kind == PartsStep::Kind::kFinish;
  const bool is_part = step.kind == PartsStep::Kind::kPart;
  std::ostream nowhere(nullptr);  // a part tells nothing of the plan: who begins and finishes does
  std::istringstream nothing;
  const Console quiet(Streams{nothing, nowhere, console.err});
  ZARRFS_TRY(StorePlan planned,
             plan_store(is_part ? quiet : console, options, std::move(sides.source),
                        finishes ? PlanDepth::kRest : PlanDepth::kGrids));
  ZARRFS_TRY(auto place,
             parts_place_at(sides.target_path, sides.uploads, options.target_remote, !finishes));
  const bool all_converted = planned.left == 0;
  PartsConversion conversion(console, options, std::move(planned), std::move(place));
  ZARRFS_CHECK(conversion.describe(*sides.description));
  if (finishes) return finish_parts(console, conversion);
  ZARRFS_CHECK(conversion.begin());
  if (is_part) {
    ZARRFS_CHECK(conversion.agree_on_parts(step.parts));
    return conversion.make_part(step.part, step.parts);
  }
  if (step.parts != 0) ZARRFS_CHECK(conversion.say_parts(step.parts));
  conversion.tell_plan();
  return all_converted ? kGood : kFound;
}

}  // namespace zarrfs::tools
