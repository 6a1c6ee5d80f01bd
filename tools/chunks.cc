// zarrfs ls, cat, locate: the chunks of an array, the bytes of one, and where it lives.
#include <cerrno>

#include "core/zarr/grid.h"
#include "tools/cells.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/shown.h"
#include "tools/source.h"

namespace zarrfs {
namespace {

// A chunk of an array of a store, named by the path that a mount would give it: "a/b/0.1.2".
struct NamedChunk {
  Source source;
  SourceArray array;
  std::unique_ptr<ArrayReader> reader;
  std::vector<std::uint64_t> chunk;
};

Result<NamedChunk> find_named(const std::string& source_name, const std::string& typed) {
  NamedChunk found;
  ZARRFS_TRY(found.source, Source::open(source_name));
  const std::string path = clean_path(typed);
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
  ZARRFS_TRY(found.array, find_array(found.source, parent));
  const Node& node = found.array.node.node;
  const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto counts =
      node.layout->regular() ? node.layout->chunk_counts() : node.array->grid.counts();
  ZARRFS_TRY(found.chunk, parse_coordinates(last, counts));
  found.reader = found.source.reader(parent, found.array.node);
  return found;
}

std::string cell_path_of(const NamedChunk& named) {
  const Layout& layout = named.reader->layout();
  return named.reader->cell_path(layout.place_of(named.chunk).cell);
}

class Ls final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "ls"; }
  [[nodiscard]] std::string summary() const override { return "The chunks of an array"; }

  void declare(CLI::App& app) override {
    app.add_option("SOURCE", source_, "The store: a directory or a file:// URL")->required();
    app.add_option("ARRAY", array_, "The array's path; not needed where SOURCE is an array");
    app.add_flag("-l,--long", long_, "Also stored size, shard and offset");
    app.add_flag("--json", json_, "One JSON object a line: chunk, shard, offset, length");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    watch_interrupts();
    const auto done = list(console);
    if (!done) return console.failed(done.error());
    return damaged_ ? kFound : kGood;
  }

 private:
  Result<void> list(const Console& console) {
    ZARRFS_TRY(const Source source, Source::open(source_));
    ZARRFS_TRY(const SourceArray array, find_array(source, clean_path(array_)));
    const auto reader = source.reader(array.path, array.node);
    ZARRFS_TRY(const StoredCells stored,
               list_cells(*source.store, array.path, *array.node.node.array));
    const auto counts = reader->layout().grid().counts();
    for (const std::uint64_t linear : stored.cells) {
      if (interrupted()) return fail(interruption());
      const auto cell = coordinates_of(linear, counts);
      const std::string path = reader->cell_path(cell);
      if (!reader->layout().sharded()) {
        ZARRFS_TRY(const auto status, reader->cell_status(cell));
        if (status) tell(console, cell, path, {0, static_cast<std::uint64_t>(status->st_size)}, "");
        continue;
      }
      auto visited = reader->visit_cell(cell, 0, [&](const ArrayReader::Visited& found) {
        tell(console, found.chunk, path, found.range, found.damage);
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
  std::string array_;
  bool long_ = false;
  bool json_ = false;
  bool damaged_ = false;
};

class Cat final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "cat"; }
  [[nodiscard]] std::string summary() const override {
    return "The bytes of one chunk: stored, shown or decoded";
  }

  void declare(CLI::App& app) override {
    app.add_option("SOURCE", source_, "The store: a directory or a file:// URL")->required();
    app.add_option("CHUNK", chunk_, "The array's path and the chunk: a/b/0.1.2")->required();
    auto* kinds = app.add_option_group("bytes", "Which bytes (--stored where none is given)");
    kinds->add_flag("--stored", stored_, "As they lie in the shard");
    kinds->add_flag("--shown", shown_, "As a mount shows them");
    kinds->add_flag("--decoded", decoded_,
                    "The elements of the whole chunk in C order, little-endian; the fill value "
                    "where the chunk is missing");
    kinds->require_option(0, 1);
    app.add_option("--view", view_, "v2 or v3, for --shown")->capture_default_str();
    app.add_option("--profile", profile_, "The readers, for --shown")->capture_default_str();
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const auto bytes = read();
    if (!bytes) return console.failed(bytes.error());
    console.out.write(reinterpret_cast<const char*>(bytes->data()),
                      static_cast<std::streamsize>(bytes->size()));
    console.out.flush();
    if (console.out.good()) return kGood;
    console.say(system_error(errno, "standard output").message);
    return kCouldNot;
  }

 private:
  Result<Bytes> read() {
    ZARRFS_TRY(const NamedChunk named, find_named(source_, chunk_));
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
    return shown.show(stored);
  }

  std::string source_;
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
    return "Where a chunk lives: shard file, offset, length";
  }

  void declare(CLI::App& app) override {
    app.add_option("SOURCE", source_, "The store: a directory or a file:// URL")->required();
    app.add_option("CHUNK", chunk_, "The array's path and the chunk: a/b/0.1.2")->required();
    app.add_flag("--json", json_, "One JSON object");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const auto located = locate(console);
    return located ? kGood : console.failed(located.error());
  }

 private:
  Result<void> locate(const Console& console) {
    ZARRFS_TRY(const NamedChunk named, find_named(source_, chunk_));
    ZARRFS_TRY(const auto found, named.reader->find_chunk(named.chunk));
    const std::string shard = cell_path_of(named);
    if (json_) {
      Json line = {
          {"chunk", dotted(named.chunk)}, {"shard", shard}, {"present", found.has_value()}};
      if (found) line["offset"] = found->range.offset;
      if (found) line["length"] = found->range.length;
      if (found && found->memory) line["within"] = "the decoded shard";
      console.out << dump_json(line) << '\n';
    } else if (!found) {
      console.out << on_one_line(shard) << "\tmissing\n";
    } else {
      console.out << on_one_line(shard) << '\t' << found->range.offset << '\t'
                  << found->range.length << (found->memory ? "\twithin the decoded shard" : "")
                  << '\n';
    }
    return {};
  }

  std::string source_;
  std::string chunk_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> ls_command() { return std::make_unique<Ls>(); }
std::unique_ptr<Command> cat_command() { return std::make_unique<Cat>(); }
std::unique_ptr<Command> locate_command() { return std::make_unique<Locate>(); }

}  // namespace zarrfs
