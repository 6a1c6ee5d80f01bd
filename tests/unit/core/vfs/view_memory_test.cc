// What a view keeps in memory of all that was looked at, on a store that is made up: it has any
// number of arrays and shards, and takes no room itself.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/memory.h"
#include "core/metadata/chunk_key.h"
#include "core/vfs/open_view.h"
#include "tests/support/allocated.h"
#include "tests/support/shard_bytes.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kChunks = 4;  // of a shard

class MadeUpFile final : public File {
 public:
  MadeUpFile(const std::string& text, const struct stat& status) : text_(text), status_(status) {}
  [[nodiscard]] const struct stat& status() const override { return status_; }
  [[nodiscard]] Result<struct stat> current_status() const override { return status_; }
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset,
                                            MutableByteView out) const override {
    if (offset >= text_.size()) return std::size_t{0};
    const std::size_t length = std::min<std::size_t>(out.size(), text_.size() - offset);
    std::memcpy(out.data(), text_.data() + offset, length);
    return length;
  }

 private:
  const std::string& text_;
  const struct stat status_;
};

/// Groups "0", "1", ... of 1,000 arrays "0", "1", ... each, each of shards of four chunks of a
/// byte.
class MadeUpStore final : public Store {
 public:
  explicit MadeUpStore(std::uint64_t shards) {
    ShardBytes shard(kChunks);
    for (std::size_t entry = 0; entry < kChunks; ++entry) shard.add(entry, "x");
    shard_ = shard.text();
    group_ = R"({"zarr_format":3,"node_type":"group","attributes":{}})";
    array_ = R"({"zarr_format":3,"node_type":"array","shape":[)" +
             std::to_string(kChunks * shards) +
             R"(],"data_type":"uint8","fill_value":0,"attributes":{},"chunk_grid":{"name":"regular",
      "configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"codecs":[
      {"name":"sharding_indexed","configuration":{"chunk_shape":[1],"codecs":[{"name":"bytes"}],
      "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]})";
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] StoreTraits traits() const override { return {}; }
  Result<std::optional<struct stat>> status(const std::string& path) override {
    if (path.starts_with('.') || path.find("/.") != std::string::npos) return std::nullopt;
    struct stat status {};
    status.st_ino = std::hash<std::string>()(path);
    status.st_nlink = 1;
    const std::string* const text = text_at(path);
    status.st_mode = text == nullptr ? S_IFDIR | 0755 : S_IFREG | 0644;
    if (text != nullptr) status.st_size = static_cast<off_t>(text->size());
    return std::optional(status);
  }
  Result<std::shared_ptr<File>> open(const std::string& path) override {
    const std::string* const text = text_at(path);
    if (text == nullptr) return fail(Fault::kInvalid, path + " is a directory");
    ZARRFS_TRY(const auto found, status(path));
    return std::make_shared<MadeUpFile>(*text, *found);
  }
  Result<std::optional<std::vector<Entry>>> list(const std::string& /*path*/) override {
    return std::optional(std::vector<Entry>{});
  }

 private:
  [[nodiscard]] const std::string* text_at(const std::string& path) const {
    const auto depth = std::count(path.begin(), path.end(), '/');
    if (path.ends_with("zarr.json")) return depth == 2 ? &array_ : &group_;
    return path.find("/c/") == std::string::npos ? nullptr : &shard_;
  }
  const std::string name_ = "made up";
  std::string shard_;
  std::string group_;
  std::string array_;
};

class ViewMemory : public ::testing::Test {
 protected:
  void show(std::uint64_t shards) {
    ViewOptions options;
    options.index_cache = kMiB;
    options.node_memory = node_memory;
    view_ = *open_view(std::make_shared<MadeUpStore>(shards), options);
  }
  NodeId look_up(NodeId parent, std::uint64_t name) {
    const auto found = view_->find(parent, std::to_string(name));
    EXPECT_TRUE(found && *found) << (found ? "absent" : found.error().message);
    return found && *found ? (*found)->id : 0;
  }

  std::uint64_t node_memory = 64 * kMiB;
  std::unique_ptr<View> view_;
};

/// ZARRFS_SHARDS=N: of that many.
TEST_F(ViewMemory, IsTheSameAfterAnyNumberOfShards) {
  constexpr int kSteps = 20;
  const char* const asked = std::getenv("ZARRFS_SHARDS");
  const std::uint64_t arrays = asked == nullptr ? 100 : 1000;
  const std::uint64_t shards =
      (asked == nullptr ? 100'000 : std::strtoull(asked, nullptr, 10)) / arrays;
  show(shards);
  std::vector<NodeId> directories;
  const NodeId group = look_up(kRootNode, 0);
  for (std::uint64_t array = 0; array < arrays; ++array)
    directories.push_back(look_up(group, array));
  std::uint64_t early = 0;
  for (int step = 0; step < kSteps; ++step) {
    const std::uint64_t end = (step + 1) * shards / kSteps;
    for (std::uint64_t shard = step * shards / kSteps; shard < end; ++shard) {
      for (const NodeId array : directories) {
        ASSERT_GE(look_up(array, kChunks * shard), kFirstChunkNode);
      }
    }
    std::printf("shards %llu resident %llu\n", static_cast<unsigned long long>(end * arrays),
                static_cast<unsigned long long>(resident_memory().now));
    std::fflush(stdout);
    if (step == 1) early = allocated();
  }
  EXPECT_LT(allocated(), early + kMiB);
}

TEST_F(ViewMemory, IsTheSameAfterAnyNumberOfArraysThatTheKernelForgot) {
  node_memory = 2 * kMiB;
  show(10);
  std::uint64_t early = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    const NodeId group = look_up(kRootNode, number);
    for (std::uint64_t array = 0; array < 1000; ++array) {
      const NodeId directory = look_up(group, array);
      look_up(directory, 0);
      view_->forget(directory, 1);
    }
    view_->forget(group, 1);
    if (number == 10) early = allocated();  // by then the report has all the lines that it keeps
  }
  EXPECT_LT(allocated(), early + kMiB);
}

}  // namespace
}  // namespace zarrfs
