// A View of a few nodes that tests arrange, with the faults they want. Counts the kernel's lookups.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/view/view.h"

namespace zarrfs {

struct FakeNode {
  std::string name;
  bool directory = false;
  std::string bytes;    ///< Contents, where there is no descriptor.
  int descriptor = -1;  ///< Contents: `slice` of it.
  ByteRange slice;
  std::optional<Error> find_fails;
  std::optional<Error> open_fails;
  std::optional<Error> confirm_fails;
  bool throws = false;  ///< Every question about it throws.
  bool immutable = false;
  bool replaced = false;  ///< Its node stands for the version before.
};

class FakeFile : public OpenFile {
 public:
  FakeFile(const FakeNode& node, std::atomic<int>& open_files)
      : node_(node), open_files_(open_files) {
    ++open_files_;
  }
  ~FakeFile() override { --open_files_; }
  [[nodiscard]] Result<void> confirm() const override {
    return node_.confirm_fails ? fail(*node_.confirm_fails) : Result<void>{};
  }
  Result<ReadPlan> read(std::uint64_t offset, std::uint64_t length) override {
    if (node_.throws) throw std::runtime_error("a read that throws");
    ReadPlan plan;
    const std::uint64_t size = node_.descriptor >= 0 ? node_.slice.length : node_.bytes.size();
    const std::uint64_t from = std::min(offset, size);
    const std::uint64_t count = std::min(length, size - from);
    if (node_.descriptor >= 0) {
      plan.descriptor = node_.descriptor;
      plan.range = {node_.slice.offset + from, count};
    } else {
      plan.bytes =
          ByteView(reinterpret_cast<const std::uint8_t*>(node_.bytes.data()) + from, count);
    }
    return plan;
  }
  [[nodiscard]] bool keep_cache() const override { return true; }

 private:
  FakeNode node_;
  std::atomic<int>& open_files_;
};

class FakeView : public View {
 public:
  /// Its node id: 2 for the first, and so on.
  NodeId add(FakeNode node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() + kRootNode;
  }
  std::int64_t lookups(NodeId node) {
    const std::lock_guard lock(mutex_);
    return lookups_[node];
  }
  int open_files() const { return open_files_; }
  int opened() const { return opened_; }
  /// Of each listing from now on.
  void set_serial(std::optional<std::uint64_t> serial) { serial_ = serial; }
  std::string front_statistics() const { return front_statistics_(); }

  Result<std::optional<InodeEntry>> find(NodeId parent, std::string_view name) override {
    if (parent != kRootNode) return std::nullopt;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].name != name) continue;
      if (nodes_[i].throws) throw std::runtime_error("a find that throws");
      if (nodes_[i].find_fails) return fail(*nodes_[i].find_fails);
      const NodeId id = i + 1 + kRootNode;
      const std::lock_guard lock(mutex_);
      ++lookups_[id];
      return found(id);
    }
    return std::nullopt;
  }
  Result<InodeEntry> attributes(NodeId node) override {
    if (node != kRootNode && node > nodes_.size() + kRootNode)
      return fail(Fault::kStale, "an old node");
    if (node != kRootNode && nodes_[node - 1 - kRootNode].replaced)
      return fail(Fault::kStale, "a node that was replaced");
    return found(node);
  }
  Result<InodeEntry> attributes_by_now(NodeId node) override {
    if (node != kRootNode && node > nodes_.size() + kRootNode)
      return fail(Fault::kStale, "an old node");
    return found(node);
  }
  Result<std::shared_ptr<OpenFile>> open_file(NodeId node) override {
    const FakeNode& wanted = nodes_.at(node - 1 - kRootNode);
    if (wanted.open_fails) return fail(*wanted.open_fails);
    ++opened_;
    return std::make_shared<FakeFile>(wanted, open_files_);
  }
  Result<std::optional<FoundAndOpened>> find_and_open(NodeId, std::string_view) override {
    return fail(Fault::kUnsupported, "mounts do not ask for that");
  }
  Result<std::shared_ptr<OpenDirectory>> open_directory(NodeId) override {
    return std::make_shared<Listing>(*this);
  }
  void forget(NodeId node, std::uint64_t lookups) override {
    const std::lock_guard lock(mutex_);
    lookups_[node] -= static_cast<std::int64_t>(lookups);
  }
  Result<std::vector<std::string>> attribute_names(NodeId) override {
    return std::vector<std::string>{"user.a", "user.b"};
  }
  Result<void> lend_names(std::shared_ptr<StoreWatch>, std::function<void(NodeId)>) override {
    return {};
  }
  Result<std::string> attribute(NodeId, const std::string& name) override {
    if (name == "user.a") return std::string("value");
    return fail(Fault::kNoData, "no attribute " + name);
  }
  Result<struct statvfs> space() override {
    struct statvfs space {};
    space.f_blocks = 42;
    return space;
  }
  std::string report() override { return "{}"; }
  void set_front_statistics(std::function<std::string()> render_json_object) override {
    front_statistics_ = std::move(render_json_object);
  }

 private:
  class Listing : public OpenDirectory {
   public:
    explicit Listing(FakeView& view) : view_(view) {}
    Result<void> list(std::uint64_t offset,
                      const std::function<bool(const Listed&)>& sink) override {
      for (std::size_t i = offset; i < view_.nodes_.size(); ++i) {
        const FakeNode& node = view_.nodes_[i];
        const mode_t type = node.directory ? S_IFDIR : S_IFREG;
        if (!sink({node.name, type, i + 100, i + 1})) return {};
      }
      return {};
    }

    std::optional<std::uint64_t> serial() override { return view_.serial_; }

   private:
    FakeView& view_;
  };

  InodeEntry found(NodeId node) const {
    InodeEntry answer;
    answer.id = node;
    answer.status.st_ino = node + 98;
    answer.status.st_mode = S_IFDIR | 0755;
    if (node == kRootNode) return answer;
    const FakeNode& wanted = nodes_[node - 1 - kRootNode];
    answer.immutable = wanted.immutable;
    if (wanted.directory) return answer;
    answer.status.st_mode = S_IFREG | 0444;
    answer.status.st_size =
        static_cast<off_t>(wanted.descriptor >= 0 ? wanted.slice.length : wanted.bytes.size());
    return answer;
  }

  std::vector<FakeNode> nodes_;
  std::mutex mutex_;
  std::map<NodeId, std::int64_t> lookups_;
  std::atomic<int> open_files_{0};
  std::atomic<int> opened_{0};
  std::function<std::string()> front_statistics_;
  std::optional<std::uint64_t> serial_;
};

}  // namespace zarrfs
