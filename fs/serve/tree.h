// Paths in a View: what the kernel does for a mount. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/view/view.h"

namespace zarrfs {

/// A node that counts as known as long as this lives.
class HeldNode {
 public:
  HeldNode(View& view, const InodeEntry& found, std::shared_ptr<OpenFile> file = nullptr)
      : view_(&view), found_(found), file_(std::move(file)) {}
  HeldNode(HeldNode&& other) noexcept;
  HeldNode& operator=(HeldNode&& other) noexcept;
  HeldNode(const HeldNode&) = delete;
  HeldNode& operator=(const HeldNode&) = delete;
  ~HeldNode();

  [[nodiscard]] const InodeEntry& found() const { return found_; }
  /// Null of what was not opened.
  [[nodiscard]] const std::shared_ptr<OpenFile>& file() const { return file_; }
  [[nodiscard]] NodeId id() const { return found_.id; }
  [[nodiscard]] bool is_directory() const { return S_ISDIR(found_.status.st_mode); }

 private:
  View* view_ = nullptr;
  InodeEntry found_;
  std::shared_ptr<OpenFile> file_;
};

class ServedTree {
 public:
  /// `statistics`: whether `.zarrfs/stats.json` is there, too.
  ServedTree(View& view, bool statistics) : view_(view), statistics_(statistics) {}

  /// Nothing where it is proven absent. Symbolic links are followed; kDenied where one leads out of
  /// the tree, kLoop where they never end. Of `.zarrfs` only the report is there.
  Result<std::optional<HeldNode>> find(std::vector<std::string> names) {
    return walk(std::move(names), false);
  }
  /// The same, and opens it where it is a file: as one look at its name.
  Result<std::optional<HeldNode>> find_and_open(std::vector<std::string> names) {
    return walk(std::move(names), true);
  }
  [[nodiscard]] View& view() const { return view_; }

 private:
  Result<std::optional<HeldNode>> walk(std::vector<std::string> names, bool open);
  Result<std::optional<HeldNode>> child(const HeldNode& parent, const std::string& name, bool open);
  [[nodiscard]] Result<HeldNode> root(bool passed);
  [[nodiscard]] bool is_kept_back(std::span<const std::string> names) const;

  View& view_;
  const bool statistics_;
};

/// Whether a name of the root belongs to zarrfs itself.
bool is_own_name_of_root(std::string_view name);

}  // namespace zarrfs
