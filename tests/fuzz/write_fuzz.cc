// What a program may write to a mount: documents and names of any bytes, in any order. Whatever it
// was, nothing crashes, the store can be opened again, and what it then lists is there.
#include <fcntl.h>

#include <array>
#include <cstdio>
#include <string>

#include "core/base/json.h"
#include "core/vfs/open_view.h"
#include "core/view/view.h"
#include "core/zarr/tree.h"
#include "tests/fuzz/input.h"
#include "tests/support/memory_store.h"

using zarrfs::fuzz::require;

namespace {

using namespace zarrfs;

constexpr std::array kNames = {".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json",
                               "a",       "b",       "c",       "0",          "1",
                               "0.0",     "1.1",     "t",       ".zarrfs",    ".zarray.partial"};
constexpr std::array kTexts = {
    R"({"zarr_format":2})",
    R"({"zarr_format":2,"shape":[4,4],"chunks":[2,2],"dtype":"<u2","fill_value":0,"order":"C","compressor":null,"filters":null})",
    R"({"zarr_format":3,"node_type":"group","attributes":{}})",
    R"({"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","fill_value":0,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]})",
    R"({"a":[1,2.5,"x"],"_ARRAY_DIMENSIONS":["y","x"]})",
    "12345678"};
constexpr int kMostSteps = 24;
constexpr int kDeepest = 8;

/// One program that uses the mount as the input says.
class Program {
 public:
  Program(View& view, fuzz::Input input) : view_(view), input_(input) {}

  void run() {
    for (int step = 0; step < kMostSteps && !input_.rest.empty(); ++step) act();
    leave_directory();
  }

 private:
  void act() {
    switch (input_.byte() % 10) {
      case 0: static_cast<void>(view_.make_directory(at_, name(), 0755)); break;
      case 1: enter_directory(); break;
      case 2: leave_directory(); break;
      case 3: static_cast<void>(view_.remove_file(at_, name())); break;
      case 4: static_cast<void>(view_.remove_directory(at_, name())); break;
      case 5: rename(); break;
      case 6: static_cast<void>(view_.publish()); break;
      default: write(); break;
    }
  }
  std::string name() {
    const std::size_t number = input_.byte();
    if (number < kNames.size()) return kNames.at(number);
    std::string text(input_.text().substr(0, 255));
    std::erase(text, '/');  // the kernel hands on none, nor these:
    return text.empty() || text == "." || text == ".." ? "x" : text;
  }
  std::string text() {
    const std::size_t number = input_.byte();
    return number < kTexts.size() ? kTexts.at(number) : std::string(input_.text());
  }
  void enter_directory() {
    const auto found = view_.find(at_, name());
    if (!found || !*found || !S_ISDIR((*found)->status.st_mode)) return;
    leave_directory();
    at_ = (*found)->id;
  }
  void leave_directory() {
    if (at_ != kRootNode) view_.forget(at_, 1);
    at_ = kRootNode;
  }
  void write() {
    const std::string called = name();
    const std::string written = text();
    const int flags = O_CREAT | O_WRONLY | ((input_.byte() & 1U) != 0 ? O_TRUNC : 0);
    const auto created = view_.create(at_, called, flags, 0644);
    if (!created) return;
    const ByteView bytes{reinterpret_cast<const std::uint8_t*>(written.data()), written.size()};
    static_cast<void>(created->file->write(0, bytes));
    static_cast<void>(created->file->flush());
    created->file->closed();
    view_.forget(created->found.id, 1);
  }
  void rename() {
    const std::string from = name();
    static_cast<void>(view_.rename(at_, from, (input_.byte() & 1U) != 0 ? kRootNode : at_, name(),
                                   (input_.byte() & 1U) != 0));
  }

  View& view_;
  fuzz::Input input_;
  NodeId at_ = kRootNode;
};

/// Looks at all of a view: what is listed can be found, or is told to be damaged, and every
/// document that the view makes is JSON.
class Visitor {
 public:
  Visitor(View& view, Store& store, ViewFormat format)
      : view_(view), store_(store), format_(format) {}

  void visit(NodeId node, const std::string& path, int depth) {
    if (depth > kDeepest) return;
    for (const std::string& name : names_in(node)) {
      if (name == "." || name == "..") continue;
      const auto found = view_.find(node, name);
      // Beside documents of v2, a program may put any bytes into zarr.json, as into other files.
      if (!found && found.error().fault == Fault::kDamaged) continue;
      if (!found || !*found) {
        std::fprintf(stderr, "\"%s\" is listed, but %s\n", name.c_str(),
                     found ? "absent" : found.error().message.c_str());
      }
      require(found.has_value() && found->has_value());
      const std::string child = join_path(path, name);
      S_ISDIR((*found)->status.st_mode) ? visit((*found)->id, child, depth + 1)
                                        : read(**found, child, name);
      view_.forget((*found)->id, 1);
    }
  }

 private:
  std::vector<std::string> names_in(NodeId node) {
    const auto directory = view_.open_directory(node);
    require(directory.has_value());
    std::vector<std::string> names;
    const auto add = [&](const Listed& one) {
      names.emplace_back(one.name);
      return true;
    };
    const auto listed = (*directory)->list(0, add);
    if (!listed) std::fprintf(stderr, "cannot be listed: %s\n", listed.error().message.c_str());
    require(listed.has_value());
    return names;
  }
  void read(const InodeEntry& found, const std::string& path, const std::string& name) {
    const auto file = view_.open_file(found.id);
    if (!file) return;
    const auto plan = (*file)->read(0, static_cast<std::uint64_t>(found.status.st_size));
    if (!plan || !is_made(path, name)) return;
    const std::string shown(plan->bytes.begin(), plan->bytes.end());
    if (!Json::accept(shown)) {
      std::fprintf(stderr, "%s is shown as %s\n", path.c_str(), shown.c_str());
    }
    require(Json::accept(shown));
  }
  /// Whether the view makes it, and does not hand on a file of the store.
  bool is_made(const std::string& path, const std::string& name) {
    if (format_ == ViewFormat::kV3) return name == "zarr.json";
    const bool document = name == ".zarray" || name == ".zgroup" || name == ".zmetadata";
    return document && !*store_.status(path);
  }

  View& view_;
  Store& store_;
  ViewFormat format_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{{data, size}};
  const auto store = std::make_shared<zarrfs::testing::MemoryStore>();
  store->write_file("zarr.json", kTexts[2]);
  ViewOptions options;
  options.format = (input.byte() & 1U) != 0 ? ViewFormat::kV3 : ViewFormat::kV2;
  options.writing = Writing{};
  {
    const auto view = open_view(store, options);
    require(view.has_value());
    Program((**view), input).run();
    static_cast<void>((*view)->close());
    static_cast<void>((*view)->report());
  }
  if (!*store->status("zarr.json")) return 0;  // the program took it away: it may be no store now
  const auto again = open_view(store, options);
  if (!again)
    std::fprintf(stderr, "the store cannot be opened again: %s\n", again.error().message.c_str());
  require(again.has_value());
  Visitor(**again, *store, options.format).visit(kRootNode, "", 0);
  return 0;
}
