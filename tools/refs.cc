// zarrfs refs: references to every inner chunk, so that other programs open the store without a
// mount. Source: fsspec "References specification", version 1 (kerchunk).
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/base64.h"
#include "core/metadata/grid.h"
#include "core/store/open_store.h"
#include "core/store/zip/zip_store.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/shown.h"
#include "tools/shared/source.h"
#include "tools/shared/stored_place.h"
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
    return "References (kerchunk, fsspec) to every inner chunk, for opening the store without a "
           "mount";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, remote_);
    app.add_option("-o,--output", output_, "File to write; standard output where not given");
    app.add_option(
        "--base", base_,
        "URL that paths of shards begin with; the store's absolute path where not given");
    app.add_option("--view", view_, "v2 (zarr-python 2 and 3) or v3 (zarr-python 3)")
        ->capture_default_str();
    app.add_option("--profile", profile_, "The readers, for --view v2")->capture_default_str();
    app.add_option("--separator", separator_,
                   "dot or slash, between the numbers of a chunk's key in --view v2; as the store "
                   "or the profile has it where not given. Kerchunk's Parquet needs dot")
        ->check(CLI::IsMember({"dot", "slash"}));
    app.footer(
        "Arrays whose chunks cannot be read in place (decoded by a mount) are left out, by name.");
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
    ZARRFS_TRY(ShownAs as, ShownAs::choose(view_, profile_));
    if (!separator_.empty()) as.options.separator = separator_ == "dot" ? '.' : '/';
    ZARRFS_TRY(const Source source, Source::open(source_, remote_));
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
      if (v2) {
        writer.document(join_path(found.path, ".zattrs"),
                        group_attributes(*node.group, as.profile));
      }
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
    if (shown.rule != ByteRule::kVerbatim && shown.rule != ByteRule::kTrim) {
      return leave_out(console, found.path, describe_rule(shown));
    }
    if (shown.materialise != Materialise::kOff) {
      return leave_out(console, found.path,
                       "this reader needs a file for each missing chunk, which references lack");
    }
    const auto& levels = node.layout->levels();
    if (std::any_of(levels.begin(), levels.end(),
                    [](const ShardLevel& level) { return !level.around.steps().empty(); })) {
      return leave_out(console, found.path, "its shards are compressed as a whole");
    }
    ZARRFS_TRY(const std::uint64_t made, made_bytes(source, found));
    if (made > kMaxInlined) {
      return leave_out(console, found.path,
                       std::to_string(made) + " bytes of its chunks are stored in another form");
    }
    writer.document(join_path(found.path, v2 ? ".zarray" : "zarr.json"), shown.document);
    if (v2) writer.document(join_path(found.path, ".zattrs"), shown.attributes);
    return write_chunks(source, found, shown, writer);
  }

  Result<void> leave_out(const Console& console, const std::string& path,
                         const std::string& reason) {
    console.say(shown_path(path) + " is left out: " + reason);
    ++left_out_;
    return {};
  }

  // Bytes of the chunks that are made of others when they are read, as those are that the edge of a
  // volume cuts: references cannot point at them.
  static Result<std::uint64_t> made_bytes(const Source& source, const SourceArray& found) {
    const auto reader = source.reader(found.path, found.node);
    std::uint64_t bytes = 0;
    if (reader->layout().sharded()) return bytes;
    ZARRFS_TRY(const StoredShards stored,
               list_shards(*source.store, found.path, *found.node.node.array));
    const auto counts = reader->layout().grid().counts();
    for (const std::uint64_t linear : stored.cells) {
      if (interrupted()) return fail(interruption());
      ZARRFS_TRY(
          const auto place,
          place_of_object(*source.store, reader->shard_path(coordinates_of(linear, counts))));
      if (place && !place->in_place) bytes += place->range.length;
      if (bytes > kMaxInlined) break;
    }
    return bytes;
  }

  Result<void> write_chunks(const Source& source, const SourceArray& found,
                            const Presentation& shown, ReferenceWriter& writer) {
    const auto reader = source.reader(found.path, found.node);
    ZARRFS_TRY(const StoredShards stored,
               list_shards(*source.store, found.path, *found.node.node.array));
    const auto counts = reader->layout().grid().counts();
    for (const std::uint64_t linear : stored.cells) {
      if (interrupted()) return fail(interruption());
      const auto cell = coordinates_of(linear, counts);
      std::string url = base_ + "/" + reader->shard_path(cell);
      const auto write_one = [&](std::span<const std::uint64_t> chunk, ByteRange range) {
        const std::uint64_t trimmed = std::uint64_t{shown.trim_front} + shown.trim_back;
        if (range.length < trimmed) return false;
        writer.range(join_path(found.path, shown.keys.key(chunk)), url,
                     {range.offset + shown.trim_front, range.length - trimmed});
        return true;
      };
      if (!reader->layout().sharded()) {
        ZARRFS_TRY(const auto place, place_of_object(*source.store, reader->shard_path(cell)));
        if (!place) continue;
        if (!place->in_place) {
          ZARRFS_CHECK(write_inlined(*reader, cell, join_path(found.path, shown.keys.key(cell)),
                                     shown, writer));
          continue;
        }
        url = base_ + "/" + place->path;
        if (write_one(cell, place->range)) continue;
        return fail(Fault::kDamaged, url + ": it is too short");
      }
      std::string damage;
      ZARRFS_CHECK(reader->visit_shard(cell, 0, [&](const ArrayReader::Visited& chunk) {
        damage = chunk.damage;
        if (damage.empty() && !write_one(chunk.chunk, chunk.range)) damage = "it is too short";
        return damage.empty() && !interrupted();
      }));
      if (!damage.empty()) return fail(Fault::kDamaged, url + ": " + damage);
      if (interrupted()) return fail(interruption());
    }
    return {};
  }

  static Result<void> write_inlined(ArrayReader& reader, std::span<const std::uint64_t> cell,
                                    const std::string& key, const Presentation& shown,
                                    ReferenceWriter& writer) {
    ZARRFS_TRY(const auto found, reader.find_chunk(cell));
    if (!found) return {};
    ZARRFS_TRY(const Bytes stored, found->read());
    ZARRFS_TRY(const Bytes bytes, shown.present(stored));
    writer.inlined(key, bytes);
    return {};
  }

  std::string source_;

  std::string remote_;
  std::string output_;
  std::string base_;
  std::string view_ = "v2";
  std::string profile_ = "generic";
  std::string separator_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

std::unique_ptr<Command> refs_command() { return std::make_unique<Refs>(); }

}  // namespace zarrfs::tools
