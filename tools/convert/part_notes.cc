#include "tools/convert/part_notes.h"

#include <utility>

#include "core/base/host_name.h"
#include "tools/convert/convert_place.h"
#include "tools/shared/console.h"
#include "tools/shared/parallel.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {
namespace {

const std::string kParts = ".zarrfs-parts";
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 53U;
constexpr std::size_t kListed = 1000;  // parts that are not complete, in --status --json

std::string note_of(std::uint64_t part) { return ".zarrfs-part-" + std::to_string(part); }

Result<std::uint64_t> number_in(const Json& json, const char* member, const std::string& file) {
  const auto found = json.is_object() ? json.find(member) : json.end();
  const bool good = json.is_object() && found != json.end() && found->is_number_unsigned() &&
                    found->get<std::uint64_t>() <= kMostCounted;
  if (good) return found->get<std::uint64_t>();
  return fail(Fault::kDamaged, file + ": " + member + " is no whole number");
}

Result<PartTally> parse_tally(const Json& json, const std::string& file) {
  PartTally tally;
  ZARRFS_TRY(tally.pieces, number_in(json, "pieces", file));
  ZARRFS_TRY(tally.done, number_in(json, "done", file));
  ZARRFS_TRY(tally.objects, number_in(json, "objects", file));
  ZARRFS_TRY(tally.bytes, number_in(json, "bytes", file));
  return tally;
}

Result<PartNote> parse_note(const std::string& text, const std::string& file) {
  ZARRFS_TRY(const Json json, parse_json(text, file));
  PartNote note;
  note.begun = true;
  ZARRFS_TRY(note.part, number_in(json, "part", file));
  ZARRFS_TRY(note.parts, number_in(json, "parts", file));
  const bool has_members =
      json.contains("arrays") && json["arrays"].is_object() && json.contains("files");
  if (!has_members) return fail(Fault::kDamaged, file + ": arrays or files are missing");
  for (const auto& [path, tally] : json["arrays"].items()) {
    ZARRFS_TRY(note.tallies[path], parse_tally(tally, file));
  }
  ZARRFS_TRY(note.files, parse_tally(json["files"], file));
  if (json.contains("host") && json["host"].is_string()) note.host = json["host"];
  return note;
}

std::string progress_of(const PartTally& tally) {
  return human_count(tally.done) + " of " + human_count(tally.pieces) + " pieces, " +
         human_bytes(tally.bytes);
}

}  // namespace

PartTally& PartTally::operator+=(const PartTally& other) {
  pieces += other.pieces;
  done += other.done;
  objects += other.objects;
  bytes += other.bytes;
  return *this;
}

Json PartTally::json() const {
  return {{"pieces", pieces}, {"done", done}, {"objects", objects}, {"bytes", bytes}};
}

PartTally PartNote::sum() const {
  PartTally sum = files;
  for (const auto& [path, tally] : tallies) sum += tally;
  return sum;
}

Result<std::optional<std::uint64_t>> read_parts(PartsPlace& place) {
  ZARRFS_TRY(const auto text, place.read(kParts));
  if (!text) return std::nullopt;
  const std::string file = place.name() + "/" + kParts;
  ZARRFS_TRY(const Json json, parse_json(*text, file));
  ZARRFS_TRY(const std::uint64_t parts, number_in(json, "parts", file));
  if (parts == 0 || parts > kMostParts) {
    return fail(Fault::kDamaged, file + ": there cannot be " + std::to_string(parts) + " parts");
  }
  return parts;
}

Result<void> put_parts(PartsPlace& place, std::uint64_t parts) {
  return place.put(kParts, dump_document({{"parts", parts}}));
}

Result<std::uint64_t> first_parts(PartsPlace& place, std::uint64_t parts) {
  ZARRFS_TRY(const auto said, read_parts(place));
  if (said) return *said;
  ZARRFS_TRY(const bool made, place.put_first(kParts, dump_document({{"parts", parts}})));
  if (made) return parts;
  ZARRFS_TRY(const auto first, read_parts(place));
  if (first) return *first;
  return fail(Fault::kStale, place.name() + " was finished or discarded meanwhile");
}

Result<void> put_note(PartsPlace& place, const PartNote& note) {
  Json arrays = Json::object();
  for (const auto& [path, tally] : note.tallies) arrays[path] = tally.json();
  return place.put(note_of(note.part), dump_document({{"part", note.part},
                                                      {"parts", note.parts},
                                                      {"host", host_name()},
                                                      {"arrays", std::move(arrays)},
                                                      {"files", note.files.json()}}));
}

Result<void> remove_note(PartsPlace& place, const PartNote& note) {
  return place.remove(note_of(note.part));
}

Result<std::vector<PartNote>> read_notes(PartsPlace& place, std::uint64_t parts, unsigned threads) {
  std::vector<PartNote> notes(parts);
  ZARRFS_CHECK(parallel_for(parts, threads, [&](std::uint64_t i) -> Result<void> {
    PartNote& note = notes[i];
    note.part = i + 1;
    note.parts = parts;
    ZARRFS_TRY(const auto text, place.read(note_of(i + 1)));
    if (!text) return {};
    const auto found = parse_note(*text, place.name() + "/" + note_of(i + 1));
    const bool good = found && found->part == note.part && found->parts == parts;
    if (good) note = *found;
    return {};
  }));
  return notes;
}

Result<PartsStatus> add_up(const Json& plan, std::optional<std::uint64_t> parts,
                           const std::vector<PartNote>& notes) {
  PartsStatus status;
  status.parts = parts;
  const std::string file = kConversionMarker;
  ZARRFS_TRY(status.sum.pieces, number_in(plan, "pieces", file));
  ZARRFS_TRY(status.decoded_bytes, number_in(plan, "decoded_bytes", file));
  ZARRFS_TRY(status.files.pieces, number_in(plan, "files", file));
  if (!plan.contains("arrays") || !plan["arrays"].is_object()) {
    return fail(Fault::kDamaged, file + ": it names no arrays");
  }
  for (const auto& [path, array] : plan["arrays"].items()) {
    ZARRFS_TRY(status.arrays[path].pieces, number_in(array, "pieces", file));
  }
  const auto add = [&status](PartTally& to, const PartTally& tally) {
    for (PartTally* sum : {&to, &status.sum}) {
      sum->done += tally.done;
      sum->objects += tally.objects;
      sum->bytes += tally.bytes;
    }
  };
  for (const PartNote& note : notes) {
    if (note.begun) ++status.begun_parts;
    if (note.complete()) {
      ++status.complete_parts;
    } else if (status.incomplete.size() < kListed) {
      status.incomplete.push_back(note.part);
    }
    for (const auto& [path, tally] : note.tallies) {
      if (status.arrays.contains(path)) add(status.arrays[path], tally);
    }
    add(status.files, note.files);
  }
  return status;
}

std::string PartsStatus::text() const {
  std::string text;
  for (const auto& [path, tally] : arrays) {
    text += on_one_line(shown_path(path) + ": " + progress_of(tally)) + "\n";
  }
  if (files.pieces > 0) text += "other files: " + progress_of(files) + "\n";
  text += "all: " + progress_of(sum) + "; ";
  if (!parts) return text + "nobody has said how many parts there are\n";
  return text + human_count(complete_parts) + " of " + human_count(*parts) + " parts complete, " +
         human_count(begun_parts - complete_parts) + " begun\n";
}

Json PartsStatus::json(const std::string& source, const std::string& target) const {
  Json by_array = Json::object();
  for (const auto& [path, tally] : arrays) by_array[path] = tally.json();
  return {{"source", source},
          {"target", target},
          {"parts", parts ? Json(*parts) : Json()},
          {"complete_parts", complete_parts},
          {"begun_parts", begun_parts},
          {"incomplete", incomplete},
          {"pieces", sum.pieces},
          {"done", sum.done},
          {"objects", sum.objects},
          {"decoded_bytes", decoded_bytes},
          {"bytes", sum.bytes},
          {"arrays", std::move(by_array)},
          {"files", files.json()}};
}

}  // namespace zarrfs::tools
