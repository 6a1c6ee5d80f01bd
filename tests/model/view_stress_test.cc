// Everything that a View offers, from six threads at once, on each kind of mount. ThreadSanitizer
// finds what two of them do at a time (CONTRIBUTING.md has the command); without it the values are
// checked: every element of a chunk has the value that one write gave to all of them.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "core/base/json.h"
#include "core/vfs/open_view.h"
#include "core/view/view.h"
#include "core/zarr/tree.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs::test {
namespace {

constexpr int kThreads = 6;
constexpr std::uint64_t kLeastActs = 60;  // also on a machine that has little time for it
constexpr std::size_t kChunkBytes = 8;
constexpr std::uint64_t kEdge = 4;  // chunks along each axis

struct Kind {
  const char* name;
  ViewFormat format;
  char separator;
  const char* index_location;
  bool nested;
};
constexpr Kind kKinds[] = {
    {"FlatIndexAtEnd", ViewFormat::kV2, '.', "end", false},
    {"NestedNamesIndexAtStart", ViewFormat::kV2, '/', "start", false},
    {"V3IndexAtStart", ViewFormat::kV3, '/', "start", false},
    {"V3NestedShards", ViewFormat::kV3, '/', "end", true},
};

double seconds_wanted() {
  const char* wanted = std::getenv("ZARRFS_STRESS_SECONDS");
  return wanted != nullptr ? std::strtod(wanted, nullptr) : 0.5;
}

ViewOptions options_of(const Kind& kind) {
  ViewOptions options;
  options.format = kind.format;
  if (kind.format == ViewFormat::kV2) options.separator = kind.separator;
  options.writing = Writing{};
  options.writing->flush_after = std::chrono::milliseconds(20);
  return options;
}

ArrayPlan plan_of(const Kind& kind) {
  ArrayPlan plan;
  plan.shape = {2 * kEdge, 2 * kEdge};
  plan.index_location = kind.index_location;
  if (kind.nested) {  // each chunk of 4 x 4 elements is itself a shard
    plan.shard_shape = {8, 8};
    plan.chunk_shape = {4, 4};
    plan.chunk_codecs = Json::array({{{"name", "sharding_indexed"},
                                      {"configuration",
                                       {{"chunk_shape", {2, 2}},
                                        {"codecs", ArrayPlan::little_endian_codecs()},
                                        {"index_codecs", ArrayPlan::checked_index_codecs()}}}}});
  }
  return plan;
}

/// One thread's random use of the view.
class User {
 public:
  User(View& view, const Kind& kind, std::uint64_t seed)
      : view_(view), kind_(kind), random_(seed) {}

  void act() {
    switch (random_() % 20) {
      case 0:
      case 1:
      case 2: return write(chunk_name(), O_CREAT | O_TRUNC | O_WRONLY);
      case 3: return write(chunk_name(), O_WRONLY);
      case 4: return write_and_rename();
      case 5: return link();
      case 6:
      case 7: return remove();
      case 8: return list(array());
      case 9: return list("");
      case 10: return sync();
      case 11: return move();
      case 12: return write_attributes();
      case 13: return look_at_reports();
      case 14: return note(view_.publish());
      case 15: return truncate();
      case 16: return attributes();
      case 17: return read(join_path(array(), temporary_name()));
      default: return read(chunk_name());
    }
  }
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  std::string array() { return random_() % 4 != 0 ? "g/a" : "g/moved"; }
  std::string chunk_name() {
    const std::string first = std::to_string(random_() % kEdge);
    const std::string second = std::to_string(random_() % kEdge);
    const std::string start = kind_.format == ViewFormat::kV3 ? "/c/" : "/";
    return array() + start + first + kind_.separator + second;
  }

  template <class T>
  void note(const Result<T>& result) {
    if (!result && result.error().fault == Fault::kDamaged) damage_ = result.error().message;
  }

  /// The node at a path; nothing where there is none now.
  std::optional<InodeEntry> find(const std::string& path) {
    InodeEntry at;
    at.id = kRootNode;
    std::istringstream components(path);
    for (std::string name; std::getline(components, name, '/');) {
      const auto next = view_.find(at.id, name);
      note(next);
      if (at.id != kRootNode) view_.forget(at.id, 1);
      if (!next || !*next) return std::nullopt;
      at = **next;
    }
    return at;
  }
  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  /// The directory in which `path` lies, made where it is one of chunks.
  std::optional<InodeEntry> directory_of(const std::string& path) {
    const std::string parent = parent_path(path);
    auto found = find(parent);
    if (found || parent.find('/', 2) == std::string::npos) return found;
    const auto above = directory_of(parent);
    if (!above) return std::nullopt;
    note(view_.make_directory(above->id, name_of(parent), 0755));
    return find(parent);
  }

  Bytes value() { return Bytes(kChunkBytes, static_cast<std::uint8_t>(1 + random_() % 255)); }

  void write_to(OpenFile& file, const Bytes& bytes) {
    note(file.write(0, bytes));
    note(file.flush());
    if (random_() % 8 == 0) note(file.sync());
    file.closed();
  }
  void write(const std::string& path, int flags) {
    if ((flags & O_CREAT) == 0) {
      const auto found = find(path);
      if (!found) return;
      const auto file = view_.open_for_writing(found->id, flags);
      note(file);
      if (file) write_to(**file, value());
      return;
    }
    const auto directory = directory_of(path);
    if (!directory) return;
    const auto created = view_.create(directory->id, name_of(path), flags, 0644);
    note(created);
    if (created) write_to(*created->file, value());
  }

  void write_and_rename() {
    const std::string path = chunk_name();
    const auto directory = directory_of(path);
    if (!directory) return;
    const std::string temporary = temporary_name();
    const auto created = view_.create(directory->id, temporary, O_CREAT | O_WRONLY, 0644);
    note(created);
    if (!created) return;
    const Bytes bytes = value();
    note(created->file->resize(0));
    const bool still_open = random_() % 2 == 0;
    still_open ? note(created->file->write(0, bytes)) : write_to(*created->file, bytes);
    note(view_.rename(directory->id, temporary, directory->id, name_of(path), true));
    if (still_open) write_to(*created->file, bytes);
  }

  std::string temporary_name() { return "t" + std::to_string(random_() % 4) + ".partial"; }

  void link() {
    const std::string path = chunk_name();
    const auto directory = directory_of(path);
    if (!directory) return;
    const auto created = view_.create(directory->id, "l.partial", O_CREAT | O_WRONLY, 0644);
    note(created);
    if (!created) return;
    note(created->file->resize(0));
    write_to(*created->file, value());
    note(view_.link(created->found.id, directory->id, name_of(path)));
    note(view_.remove_file(directory->id, "l.partial"));
  }

  void remove() {
    const std::string path = chunk_name();
    const auto directory = find(parent_path(path));
    if (directory) note(view_.remove_file(directory->id, name_of(path)));
  }

  void read(const std::string& path) {
    const auto found = find(path);
    if (!found) return;
    note(view_.attributes(found->id));
    const auto file = view_.open_file(found->id);
    note(file);
    if (!file) return;
    const auto plan = (*file)->read(0, kChunkBytes);
    note(plan);
    if (plan && plan->descriptor < 0) sum_ += plan->bytes.size();
    (*file)->closed();
  }

  void list(const std::string& path) {
    const auto found = find(path);
    if (!found) return;
    const auto directory = view_.open_directory(found->id);
    note(directory);
    if (!directory) return;
    note((*directory)->list(0, [&](const Listed& one) {
      sum_ += one.name.size();
      return true;
    }));
  }

  void sync() {
    const auto found = find(random_() % 2 == 0 ? array() : "g");
    if (found) note(view_.sync(found->id));
  }

  void move() {
    if (random_() % 4 != 0) return;
    const auto group = find("g");
    if (!group) return;
    if (!view_.rename(group->id, "a", group->id, "moved", true)) return;
    note(view_.rename(group->id, "moved", group->id, "a", true));
  }

  void write_attributes() {
    if (kind_.format == ViewFormat::kV3) return read(array() + "/zarr.json");
    const std::string text = R"({"n":)" + std::to_string(random_() % 9) + "}";
    const auto directory = find(array());
    if (!directory) return;
    const auto created = view_.create(directory->id, ".zattrs", O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (created) write_to(*created->file, Bytes(text.begin(), text.end()));
  }

  void look_at_reports() {
    sum_ += view_.report().size() + view_.unpublished().size();
    read(".zarrfs/stats.json");
    const auto root = find("");
    const auto names = view_.attribute_names(root->id);
    note(names);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
      note(view_.attribute(root->id, name));
    }
    note(view_.space());
  }

  void truncate() {
    const auto found = find(chunk_name());
    if (!found) return;
    AttributeChange change;
    change.size = kChunkBytes;
    note(view_.change(found->id, change, nullptr));
  }

  void attributes() {
    const auto found = find(array());
    if (!found) return;
    note(view_.attributes(found->id));
    const auto names = view_.attribute_names(found->id);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
      note(view_.attribute(found->id, name));
    }
  }

  View& view_;
  const Kind& kind_;
  std::mt19937_64 random_;
  std::string damage_;
  std::size_t sum_ = 0;
};

/// Every chunk's elements are those of one write.
void check_values(const std::string& root, const Kind& kind) {
  ViewOptions options = options_of(kind);
  options.writing.reset();
  ShownStore shown(root, options);
  for (std::uint64_t i = 0; i < kEdge * kEdge; ++i) {
    for (const std::string array : {"g/a", "g/moved"}) {
      const std::string path = array + (kind.format == ViewFormat::kV3 ? "/c/" : "/") +
                               std::to_string(i / kEdge) + kind.separator +
                               std::to_string(i % kEdge);
      if (shown.absent(path)) continue;
      const auto text = shown.read(path);
      ASSERT_TRUE(text) << path << ": " << text.error().message;
      ASSERT_EQ(text->size(), kChunkBytes) << path;
      ASSERT_EQ(*text, std::string(kChunkBytes, text->front())) << path;
    }
  }
}

class ViewStress : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(All, ViewStress, ::testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ViewStress, SixThreadsUseEverythingAtOnce) {
  const Kind kind = GetParam();
  StoreMaker maker;
  maker.group("").group("g").array("g/a", plan_of(kind)).text("g/notes.txt", "plain");
  auto store = open_store(maker.root(), LinkPolicy::kInside);
  auto view = open_view(std::move(*store), options_of(kind));
  ASSERT_TRUE(view) << view.error().message;
  std::atomic<bool> stopped{false};
  std::atomic<std::uint64_t> acts{0};
  std::mutex mutex;
  std::string damage;
  std::vector<std::thread> threads;
  const std::uint64_t seed = std::random_device{}();
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      User user(**view, kind, seed + static_cast<std::uint64_t>(number));
      for (; !stopped; ++acts) user.act();
      const std::lock_guard lock(mutex);
      if (!user.damage().empty()) damage = user.damage();
    });
  }
  // So long they act.
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds_wanted()));
  while (acts < kLeastActs) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  stopped = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damage, "") << "seed " << seed;
  const auto closed = (*view)->close();
  EXPECT_TRUE(closed) << closed.error().message;
  EXPECT_TRUE((*view)->unpublished().empty());
  view->reset();
  check_values(maker.root(), kind);
  std::printf("%s: %llu calls from %d threads, seed %llu\n", kind.name,
              static_cast<unsigned long long>(acts.load()), kThreads,
              static_cast<unsigned long long>(seed));
}

}  // namespace
}  // namespace zarrfs::test
