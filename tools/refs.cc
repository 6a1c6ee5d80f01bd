// zarrfs refs: references to every inner chunk, so that other programs open the store without a
// mount. Source: fsspec "References specification", version 1 (kerchunk).
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/metadata/grid.h"
#include "core/nodes/survey.h"
#include "core/present/ome.h"
#include "core/present/presentation_fill.h"
#include "core/present/v2_types.h"
#include "core/store/open_store.h"
#include "core/store/zip/zip_store.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/shown.h"
#include "tools/shared/source.h"
#include "tools/shared/stored_chunks.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

namespace fs = std::filesystem;

/// The most bytes of one array's chunks that are written into the references themselves.
constexpr std::uint64_t kMaxInlined = std::uint64_t{64} << 20U;

// Whether JSON can hold `text`: it is UTF-8.
bool fits_json(const std::string& text) {
  const auto held = parse_json(dump_json(Json(text)), "a name");
  return held && held->get<std::string>() == text;
}

// Writes the members of one JSON object as they come, so that memory does not grow with the chunks.
class ReferenceWriter {
 public:
  explicit ReferenceWriter(std::ostream& out) : out_(out) {
    out_ << "{\n\"version\": 1,\n\"refs\": {";
  }
  /// The contents of a small file.
  void document(const std::string& key, const Json& contents) {
    begin(key);
    out_ << dump_json(Json(dump_json(contents)));
    note_failure();
  }
  void range(const std::string& key, const std::string& url, ByteRange range) {
    begin(key);
    out_ << '[' << dump_json(Json(url)) << ", " << range.offset << ", " << range.length << ']';
    note_failure();
  }
  /// The contents of a file that lies nowhere as it is.
  void inlined(const std::string& key, ByteView bytes) {
    begin(key);
    out_ << dump_json(Json("base64:" + to_base64(bytes)));
    note_failure();
  }
  /// Everything is handed on. The error, of `name`, where anything could not be written.
  Result<void> finish(const std::string& name) {
    out_ << "\n}\n}\n" << std::flush;
    note_failure();
    if (out_.good()) return {};
    return fail(system_error(errno_ == 0 ? EIO : errno_, name + ": writing the references"));
  }

 private:
  // What the system said when the first write failed.
  void note_failure() {
    if (!out_.good() && errno_ == 0) errno_ = errno;
  }
  void begin(const std::string& key) {
    out_ << (first_ ? "\n" : ",\n") << dump_json(Json(key)) << ": ";
    first_ = false;
  }
  std::ostream& out_;
  bool first_ = true;
  int errno_ = 0;
};

class Refs final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "refs"; }
  [[nodiscard]] std::string summary() const override {
    return "Write references (kerchunk, fsspec) to every inner chunk, to open the store without "
           "a mount";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    app.add_option("-o,--output", output_, "File to write; by default standard output");
    app.add_option("--base", base_,
                   "URL that paths of shards begin with; by default the store's absolute path");
    app.add_option("--view", view_, "v2 (zarr-python 2 and 3) or v3 (zarr-python 3)")
        ->capture_default_str();
    app.add_option("--profile", profile_,
                   "The readers, for --view v2; auto: xarray for a store with CF attributes or "
                   "coordinates, else generic")
        ->capture_default_str();
    app.add_option("--separator", separator_,
                   "dot or slash, between the numbers of a chunk's key in --view v2. Kerchunk's "
                   "Parquet and VirtualiZarr know dots only")
        ->check(CLI::IsMember({"dot", "slash"}))
        ->capture_default_str();
    app.footer(
        "Chunks that cannot be read in place (decoded by a mount, or in no file of the source: "
        "inline and virtual chunks), and missing ones that the reader would not fill in, are "
        "written into the references: up to 64 MiB of an array. "
        "Arrays with more are left out, by name.");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    const auto done = output_.empty() ? write(console, console.out) : write_file(console);
    if (!done) return console.failed(done.error());
    return left_out_ == 0 ? kGood : kFound;
  }

 private:
  Result<void> write_file(const Console& console) {
    std::error_code error;
    const bool in_place = fs::exists(output_, error) && !fs::is_regular_file(output_, error);
    if (in_place) return write_to(console, output_);  // a device or a pipe
    const std::string target = fs::weakly_canonical(output_, error);
    if (error) return fail(system_error(error.value(), output_));
    const std::string temporary = target + std::string(kUnfinished);
    auto done = write_to(console, temporary);
    if (done && std::rename(temporary.c_str(), target.c_str()) != 0) {
      done = fail(system_error(errno, output_));
    }
    if (!done) (void)std::remove(temporary.c_str());
    return done;
  }

  Result<void> write_to(const Console& console, const std::string& path) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) return fail(system_error(errno, path));
    ZARRFS_CHECK(write(console, file));
    file.close();
    return file ? Result<void>() : fail(system_error(errno, path));
  }

  Result<void> write(const Console& console, std::ostream& out) {
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_, source_options_));
    ZARRFS_TRY(ShownAs as, ShownAs::choose(view_, profile_for(*source.store)));
    know_what_zarr_python_knows(as.profile);
    as.options.separator = separator_ == "dot" ? '.' : '/';
    if (base_.empty()) {
      if (is_local(source_)) {
        ZARRFS_TRY(base_, local_path(source_));
      } else {
        base_ = source_.substr(0, source_.find('?'));
      }
      if (has_zip_name(base_)) {
        return fail(Fault::kUnsupported,
                    base_ +
                        ": references into an archive would need a name for its entries; give "
                        "--base the URL of the unpacked store, or mount it");
      }
    }
    base_.erase(base_.find_last_not_of('/') + 1);
    if (!fits_json(base_)) {
      return fail(Fault::kInvalid, base_ + " is not UTF-8, and references are: give --base");
    }
    ZARRFS_CHECK(check_any_node(source));
    ReferenceWriter writer(out);
    Result<void> done;
    ZARRFS_CHECK(walk_source(*source.store, "", [&](const auto& path, const SourceNode& node) {
      if (done) done = write_node(console, source, {path, node}, as, writer);
      return done.has_value();
    }));
    ZARRFS_CHECK(done);
    return writer.finish(output_.empty() ? "standard output" : output_);
  }

  static Result<void> check_any_node(const Source& source) {
    bool any = false;
    ZARRFS_CHECK(walk_source(*source.store, "", [&](const auto&, const SourceNode& node) {
      any = any || is_node(node.node.kind);
      return !any;
    }));
    return any ? Result<void>() : no_node(source.name, "");
  }

  Result<void> write_node(const Console& console, const Source& source, const SourceArray& found,
                          const ShownAs& as, ReferenceWriter& writer) {
    const Node& node = found.node.node;
    if (!fits_json(found.path)) {
      return leave_out(console, found.path, "its name is not UTF-8, and references are");
    }
    const bool v2 = as.options.format == ViewFormat::kV2;
    if (node.kind == Node::Kind::kGroup) {
      writer.document(join_path(found.path, v2 ? ".zgroup" : "zarr.json"),
                      group_document(node.group.get(), as.options.format));
      if (v2) write_group_attributes(console, found, as, writer);
      return {};
    }
    if (node.kind == Node::Kind::kDamaged || node.kind == Node::Kind::kUnsupported) {
      return leave_out(console, found.path, node.error.message);
    }
    if (node.kind == Node::Kind::kPlain) {
      writer.document(join_path(found.path, v2 ? ".zgroup" : "zarr.json"),
                      group_document(nullptr, as.options.format));
    }
    if (node.kind != Node::Kind::kArray) return {};
    ZARRFS_TRY(const Presentation shown, presentation_of(source, found, as));
    if (shown.hidden) return leave_out(console, found.path, shown.reason);
    ZARRFS_TRY(const Inlined inlined, to_inline(source, found, shown));
    if (!inlined.why_not.empty()) return leave_out(console, found.path, inlined.why_not);
    writer.document(join_path(found.path, v2 ? ".zarray" : "zarr.json"),
                    v2 ? v2_document(shown) : v3_document(shown));
    if (v2) writer.document(join_path(found.path, ".zattrs"), v2_attributes(shown));
    return write_chunks(source, found, shown, inlined, writer);
  }

  static void write_group_attributes(const Console& console, const SourceArray& found,
                                     const ShownAs& as, ReferenceWriter& writer) {
    const GroupMetadata& group = *found.node.node.group;
    const std::string lacks = as.profile.ome04 ? ome04_lacks(group.attributes).text : "";
    if (!lacks.empty()) console.say(shown_path(found.path) + ": " + lacks);
    writer.document(join_path(found.path, ".zattrs"), group_attributes(group, as.profile));
  }

  /// Who reads references is Python: of the readers of a CF store, xarray.
  [[nodiscard]] std::string profile_for(Store& store) const {
    if (profile_ != kAutoProfile) return profile_;
    const std::string chosen = choose_for(survey_store(store, kNodesBeforeMount)).profile;
    return chosen == "netcdf" || chosen == "xarray" ? "xarray" : "generic";
  }

  /// References are opened by zarr-python, whoever reads values then: of a profile it counts what
  /// the reader makes of fill values, and of names.
  static void know_what_zarr_python_knows(Profile& profile) {
    const Profile& generic = profiles().front();
    profile.compressors = generic.compressors;
    profile.filters = generic.filters;
    profile.types = generic.types;
    profile.big_endian = generic.big_endian;
    profile.fortran = generic.fortran;
    profile.clamp_chunks = generic.clamp_chunks;
    profile.zero_dimensions = generic.zero_dimensions;
    profile.scalars = generic.scalars;
    profile.nested_attributes = generic.nested_attributes;
  }

  /// The compressor stands as the last filter, which means the same: VirtualiZarr 2.8 takes it from
  /// there only.
  static Json v2_document(const Presentation& shown) {
    Json document = shown.document;
    Json& compressor = document["compressor"];
    if (compressor.is_null()) return document;
    Json& filters = document["filters"];
    if (filters.is_null()) filters = Json::array();
    filters.push_back(std::move(compressor));
    compressor = nullptr;
    return document;
  }

  /// With the list of dimensions of an array that has none, and with `_FillValue` as Zarr v3 has it
  /// where `.zarray` has it, too: readers of Zarr v2 take it from there, VirtualiZarr, which makes
  /// Zarr v3 of it, from here.
  static Json v2_attributes(const Presentation& shown) {
    Json attributes = shown.attributes;
    const bool scalar = shown.array->shape.empty();
    if (scalar && !attributes.contains(kDimensionsAttribute)) {
      attributes[kDimensionsAttribute] = Json::array();
    }
    const Json& stored = shown.array->attributes;
    if (!stored.contains(kNczarrAttribute))
      attributes.erase(kNczarrAttribute);  // for netCDF-C only
    const bool marked = stored.contains(kFillAttribute);
    const bool in_document = !shown.document->value("fill_value", Json()).is_null();
    if (marked && in_document) attributes[kFillAttribute] = stored[kFillAttribute];
    return attributes;
  }

  static Json v3_document(const Presentation& shown) {
    Json document = shown.document;
    const bool scalar = shown.array->shape.empty();
    if (scalar && !document.contains("dimension_names")) {
      document["dimension_names"] = Json::array();
    }
    return document;
  }

  Result<void> leave_out(const Console& console, const std::string& path,
                         const std::string& reason) {
    console.say(shown_path(path) + " is left out: " + reason);
    ++left_out_;
    return {};
  }

  /// Chunks of an array that are in the references themselves.
  struct Inlined {
    bool stored = false;  // Its chunks, all of which are shown in another form than they have.
    Bytes missing;  // A chunk for each missing one, which the reader would not fill in; or none.
    std::string why_not;  // Why there are no references to the array; else empty.
  };

  static std::string reason_of(const Presentation& shown) {
    return shown.reason.empty() ? describe_rule(shown) : shown.reason;
  }

  static Result<Inlined> to_inline(const Source& source, const SourceArray& found,
                                   const Presentation& shown) {
    Inlined inlined;
    if (shown.rule == ByteRule::kRechunk) {
      inlined.why_not = "its chunks are made of several: " + reason_of(shown);
      return inlined;
    }
    inlined.stored = shown.rule != ByteRule::kVerbatim && shown.rule != ByteRule::kTrim;
    if (shown.fill_chunk != nullptr) {
      inlined.missing = *shown.fill_chunk;
    } else if (shown.array->shape.empty()) {  // VirtualiZarr reads no scalar without a chunk
      ZARRFS_TRY(inlined.missing, make_fill_chunk(shown));
    }
    const bool elsewhere = source.store->chunks_elsewhere() != nullptr;
    if (!inlined.stored && inlined.missing.empty() && !elsewhere && all_in_shards(found)) {
      return inlined;
    }
    std::uint64_t present = 0;
    std::uint64_t bytes = 0;
    ZARRFS_CHECK(visit_stored_chunks(source, found, [&](const StoredChunk& chunk) -> Result<void> {
      ++present;
      if (!inlined.stored && chunk.in_place) return {};
      ZARRFS_TRY(const std::uint64_t size, shown.shown_size(chunk.bytes));
      bytes += size;
      return {};
    }));
    const auto total = checked_product(shown.chunk_counts);
    const auto more = checked_multiply(total.value_or(present) - present, inlined.missing.size());
    const auto all = total && more ? checked_add(bytes, *more) : std::nullopt;
    if (!all || *all > kMaxInlined) {
      const bool as_stored = !inlined.stored && inlined.missing.empty() && elsewhere;
      inlined.why_not = "more than 64 MiB of chunks would stand in the references: " +
                        (as_stored ? "they are in no file of the source" : reason_of(shown));
    }
    return inlined;
  }

  Result<void> write_chunks(const Source& source, const SourceArray& found,
                            const Presentation& shown, const Inlined& inlined,
                            ReferenceWriter& writer) const {
    const auto reader = source.reader(found.path, found.node);
    const std::uint64_t trimmed = std::uint64_t{shown.trim_front} + shown.trim_back;
    const bool fills = !inlined.missing.empty();
    std::vector<bool> present;
    if (fills) present.resize(checked_product(shown.chunk_counts).value_or(0));
    ZARRFS_CHECK(visit_stored_chunks(source, found, [&](const StoredChunk& chunk) -> Result<void> {
      if (fills) present[linear_of(chunk.chunk, shown.chunk_counts)] = true;
      const std::string key = join_path(found.path, shown.keys.key(chunk.chunk));
      if (inlined.stored || !chunk.in_place) {
        return write_inlined(*reader, chunk.chunk, key, shown, writer);
      }
      const std::string url = base_ + "/" + chunk.path;
      if (chunk.range.length < trimmed) return fail(Fault::kDamaged, url + ": it is too short");
      writer.range(key, url, {chunk.range.offset + shown.trim_front, chunk.range.length - trimmed});
      return {};
    }));
    for (std::size_t linear = 0; linear < present.size(); ++linear) {
      if (present[linear]) continue;
      const auto chunk = coordinates_of(linear, shown.chunk_counts);
      writer.inlined(join_path(found.path, shown.keys.key(chunk)), inlined.missing);
    }
    return {};
  }

  static Result<void> write_inlined(ArrayReader& reader, std::span<const std::uint64_t> chunk,
                                    const std::string& key, const Presentation& shown,
                                    ReferenceWriter& writer) {
    ZARRFS_TRY(const auto found, reader.find_chunk(chunk));
    if (!found) return {};
    ZARRFS_TRY(const Bytes stored, found->read());
    ZARRFS_TRY(const Bytes bytes, shown.present(stored));
    writer.inlined(key, bytes);
    return {};
  }

  std::string source_;
  SourceOptions source_options_;
  std::string output_;
  std::string base_;
  std::string view_ = "v2";
  std::string profile_ = kAutoProfile;
  std::string separator_ = "dot";
  std::uint64_t left_out_ = 0;
};

}  // namespace

std::unique_ptr<Command> refs_command() { return std::make_unique<Refs>(); }

}  // namespace zarrfs::tools
