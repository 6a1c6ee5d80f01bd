// A view used by path, as programs use a mount: for tests of the view without a kernel.
// One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/present/view_options.h"
#include "core/view/view.h"

namespace zarrfs::test {

class ShownStore {
 public:
  /// Opens `root`; aborts the test program where that fails.
  explicit ShownStore(const std::string& root, ViewOptions options = {});
  explicit ShownStore(std::unique_ptr<View> view) : view_(std::move(view)) {}

  [[nodiscard]] View& view() { return *view_; }
  /// Walks from the root; nothing where a component is absent.
  Result<std::optional<InodeEntry>> find(const std::string& path);
  /// Whether the path is proven absent. Faults count as present.
  bool absent(const std::string& path);
  /// The fault of looking `path` up; nothing where that works.
  std::optional<Fault> fault(const std::string& path);
  /// The whole file.
  Result<std::string> read(const std::string& path);
  Result<Json> json(const std::string& path);
  /// Writes the file `name` anew, as a program that closes it; its node.
  Result<NodeId> write(NodeId directory, const std::string& name, const std::string& text);
  /// All names of a directory, listed `at_once` at a time with a new offset each.
  Result<std::vector<std::string>> list(const std::string& path, std::size_t at_once = 1000);
  /// What was logged.
  std::vector<std::string> log;

 private:
  std::unique_ptr<View> view_;
};

/// All bytes of an opened file, read in pieces of `piece`.
Result<std::string> read_all(OpenFile& file, std::uint64_t piece = 4096);

}  // namespace zarrfs::test
