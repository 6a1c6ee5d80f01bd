// zarrfs ls, cat, locate: the chunks of an array, the bytes of one, and where it lives.
#include <algorithm>
#include <cerrno>

#include "core/base/json.h"
#include "core/metadata/grid.h"
#include "tools/commands.h"
#include "tools/shared/console.h"
#include "tools/shared/shown.h"
#include "tools/shared/source.h"
#include "tools/shared/stored_place.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

// A chunk of an array of a store, named by the path that some mount or store gives it: "a/b/0.1.2",
// "a/b/0/1/2", "a/b/c/0/1/2".
struct NamedChunk {
  Source source;
  SourceArray array;
  std::unique_ptr<ArrayReader> reader;
  std::vector<std::uint64_t> chunk;
};

// The first array on the way from the root to `path`; the error of the folder that holds `path`
// where there is none.
Result<SourceArray> array_around(const Source& source, const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string above = path.substr(0, end);
    ZARRFS_TRY(const SourceNode node, load_source_node(*source.store, above));
    // Loaded again, a server may give another answer: the first one is what counts.
    if (node.node.kind == Node::Kind::kDamaged) return fail(node.node.error);
    if (is_node(node.node.kind) && node.node.kind != Node::Kind::kGroup) {
      return find_array(source, above);
    }
  }
  return find_array(source, parent_path(path));
}

// "0.1.2" of "0/1/2", "c/0/1/2" and "c.0.1.2".
std::string with_dots(std::string name) {
  if (name == "c") return "";
  if (name.starts_with("c/") || name.starts_with("c.")) name.erase(0, 2);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

Result<NamedChunk> find_named(const Console& console, const std::string& source_name,
                              const SourceOptions& options, const std::string& typed) {
  NamedChunk found;
  ZARRFS_TRY(found.source, Source::open_to_read(console, source_name, options));
  const std::string path = clean_path(typed);
  ZARRFS_TRY(found.array, array_around(found.source, path));
  const Node& node = found.array.node.node;
  const std::string& parent = found.array.path;
  const auto counts =
      node.layout->regular() ? node.layout->chunk_counts() : node.array->grid.counts();
  const std::string name =
      parent.empty() ? path : path.substr(std::min(parent.size() + 1, path.size()));
  ZARRFS_TRY(found.chunk, parse_coordinates(with_dots(name), counts));
  found.reader = found.source.reader(parent, found.array.node);
  return found;
}

std::string cell_path_of(const NamedChunk& named) {
  const Layout& layout = named.reader->layout();
  return named.reader->shard_path(layout.place_of(named.chunk).cell);
}

class Ls final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "ls"; }
  [[nodiscard]] std::string summary() const override { return "List the chunks of an array"; }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    app.add_option("ARRAY", array_, "The array's path; not needed if SOURCE is an array");
    app.add_flag("-l,--long", long_, "Also stored size, shard and offset");
    app.add_flag("--json", json_, "One JSON object a line: chunk, shard, offset, length");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch;
    const auto done = list(console);
    if (!done) return console.failed(done.error());
    return damaged_ ? kFound : kGood;
  }

 private:
  Result<void> list(const Console& console) {
    ZARRFS_TRY(const Source source, Source::open_to_read(console, source_, source_options_));
    ZARRFS_TRY(const SourceArray array, find_array(source, clean_path(array_)));
    const auto reader = source.reader(array.path, array.node);
    ZARRFS_TRY(const StoredShards stored,
               list_shards(*source.store, array.path, *array.node.node.array));
    const auto counts = reader->layout().grid().counts();
    for (const std::uint64_t linear : stored.cells) {
      if (interrupted()) return fail(interruption());
      const auto cell = coordinates_of(linear, counts);
      const std::string path = reader->shard_path(cell);
      if (!reader->layout().sharded()) {
        ZARRFS_TRY(const auto place, place_of_object(*source.store, path));
        if (place) tell(console, cell, place->path, place->range, "");
        continue;
      }
      auto visited = reader->visit_shard(cell, 0, [&](const ArrayReader::Visited& found) {
        const StoredPlace place = place_of_chunk(found, path);
        tell(console, found.chunk, place.path, place.range, found.damage);
        return !interrupted() && console.out.good();
      });
      if (!visited && visited.error().fault != Fault::kDamaged) return visited;
      if (!visited) {
        console.say(visited.error().message);
        damaged_ = true;
      }
    }
    return interrupted() ? fail(interruption()) : Result<void>();
  }

  void tell(const Console& console, std::span<const std::uint64_t> chunk, const std::string& path,
            ByteRange range, const std::string& damage) {
    if (!damage.empty()) {
      damaged_ = true;
      console.say("chunk " + dotted(chunk) + " of " + path + ": " + damage);
    }
    if (json_) {
      Json line = {{"chunk", dotted(chunk)},
                   {"shard", path},
                   {"offset", range.offset},
                   {"length", range.length}};
      if (!damage.empty()) line["damage"] = damage;
      console.out << dump_json(line) << '\n';
    } else if (long_) {
      console.out << dotted(chunk) << '\t' << range.length << '\t' << on_one_line(path) << '\t'
                  << range.offset << (damage.empty() ? "" : "\tdamaged") << '\n';
    } else {
      console.out << dotted(chunk) << '\n';
    }
  }

  std::string source_;

  SourceOptions source_options_;
  std::string array_;
  bool long_ = false;
  bool json_ = false;
  bool damaged_ = false;
};

void declare_chunk(CLI::App& app, std::string& chunk) {
  app.add_option("CHUNK", chunk,
                 "The array's path and the chunk, as a mount or the store has it: a/b/0.1.2, "
                 "a/b/0/1/2 or a/b/c/0/1/2")
      ->required();
}

class Cat final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "cat"; }
  [[nodiscard]] std::string summary() const override {
    return "Print the bytes of one chunk: stored, shown or decoded";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    declare_chunk(app, chunk_);
    auto* kinds = app.add_option_group("bytes", "Which bytes (--stored where none is given)");
    kinds->add_flag("--stored", stored_, "As they lie in the shard");
    kinds->add_flag("--shown", shown_, "As a mount shows them");
    kinds->add_flag("--decoded", decoded_,
                    "The elements of the whole chunk in C order, little-endian; the fill value "
                    "where the chunk is missing");
    kinds->require_option(0, 1);
    app.add_option("--view", view_, "v2 or v3, for --shown")
        ->check(CLI::IsMember({"v2", "v3"}))
        ->capture_default_str();
    app.add_option("--profile", profile_, "The readers, for --shown")->capture_default_str();
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const auto bytes = read(console);
    if (!bytes) return console.failed(bytes.error());
    console.out.write(reinterpret_cast<const char*>(bytes->data()),
                      static_cast<std::streamsize>(bytes->size()));
    console.out.flush();
    if (console.out.good()) return kGood;
    console.say(system_error(errno, "standard output").message);
    return kCouldNot;
  }

 private:
  Result<Bytes> read(const Console& console) {
    ZARRFS_TRY(const NamedChunk named, find_named(console, source_, source_options_, chunk_));
    if (decoded_) return named.reader->read_elements(named.chunk);
    ZARRFS_TRY(const auto found, named.reader->find_chunk(named.chunk));
    if (!found) {
      return fail(Fault::kNoData, "chunk " + chunk_ + " is missing: it holds the fill value");
    }
    ZARRFS_TRY(Bytes stored, found->read());
    if (!shown_) return stored;
    ZARRFS_TRY(const ShownAs as, ShownAs::choose(view_, profile_));
    ZARRFS_TRY(const Presentation shown, presentation_of(named.source, named.array, as));
    if (shown.hidden) return fail(Fault::kUnsupported, shown_path(chunk_) + ": " + shown.reason);
    return shown.present(stored);
  }

  std::string source_;

  SourceOptions source_options_;
  std::string chunk_;
  bool stored_ = false;
  bool shown_ = false;
  bool decoded_ = false;
  std::string view_ = "v2";
  std::string profile_ = "generic";
};

class Locate final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "locate"; }
  [[nodiscard]] std::string summary() const override {
    return "Say where a chunk lies: shard file, offset, length";
  }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    declare_chunk(app, chunk_);
    app.add_flag("--json", json_, "One JSON object");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const auto located = locate(console);
    return located ? kGood : console.failed(located.error());
  }

 private:
  Result<void> locate(const Console& console) {
    ZARRFS_TRY(const NamedChunk named, find_named(console, source_, source_options_, chunk_));
    ZARRFS_TRY(const auto found, named.reader->find_chunk(named.chunk));
    std::string shard = cell_path_of(named);
    ByteRange range = found ? found->range : ByteRange{};
    std::string within = found && found->memory ? "the decoded shard" : "";
    if (found && !found->memory) {
      ZARRFS_TRY(const auto place, place_of_object(*named.source.store, shard));
      if (place) shard = place->path;
      if (place && !place->in_place) {
        range = place->range;
        within = "a volume of another format, which is decoded";
      }
    }
    if (json_) {
      Json line = {
          {"chunk", dotted(named.chunk)}, {"shard", shard}, {"present", found.has_value()}};
      if (found) line["offset"] = range.offset;
      if (found) line["length"] = range.length;
      if (!within.empty()) line["within"] = within;
      console.out << dump_json(line) << '\n';
    } else if (!found) {
      console.out << on_one_line(shard) << "\tmissing\n";
    } else {
      console.out << on_one_line(shard) << '\t' << range.offset << '\t' << range.length
                  << (within.empty() ? "" : "\twithin " + within) << '\n';
    }
    return {};
  }

  std::string source_;

  SourceOptions source_options_;
  std::string chunk_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> ls_command() { return std::make_unique<Ls>(); }
std::unique_ptr<Command> cat_command() { return std::make_unique<Cat>(); }
std::unique_ptr<Command> locate_command() { return std::make_unique<Locate>(); }

}  // namespace zarrfs::tools
