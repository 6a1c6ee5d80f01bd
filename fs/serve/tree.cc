#include "fs/serve/tree.h"

#include <algorithm>
#include <utility>

#include "core/base/path.h"
#include "core/base/printable.h"
#include "core/names/control_files.h"

namespace zarrfs {
namespace {

constexpr unsigned kMostLinks = 40;  // as Linux has it
constexpr const char* kReport = "report.json";
constexpr const char* kStatistics = "stats.json";

std::string joined(std::span<const std::string> names) {
  std::string path;
  for (const std::string& name : names) path += "/" + name;
  return path;
}

/// What `target`, read in the directory of `before`, leads to, with `rest` behind it.
Result<std::vector<std::string>> led_to(std::span<const std::string> before,
                                        const std::string& target,
                                        std::span<const std::string> rest) {
  const auto leads_out = [&] {
    return fail(Fault::kDenied, "a symbolic link in " + printable(joined(before)) +
                                    "/ leads out of what is served");
  };
  if (target.starts_with('/')) return leads_out();
  std::vector<std::string> names(before.begin(), before.end());
  for (std::string& name : path_names(target)) {
    if (name == ".") continue;
    if (name != "..") {
      names.push_back(std::move(name));
    } else if (names.empty()) {
      return leads_out();
    } else {
      names.pop_back();
    }
  }
  names.insert(names.end(), rest.begin(), rest.end());
  return names;
}

}  // namespace

HeldNode::HeldNode(HeldNode&& other) noexcept { *this = std::move(other); }

HeldNode& HeldNode::operator=(HeldNode&& other) noexcept {
  std::swap(view_, other.view_);
  std::swap(found_, other.found_);
  std::swap(file_, other.file_);
  return *this;
}

HeldNode::~HeldNode() {
  if (view_ != nullptr && found_.id != kRootNode) view_->forget(found_.id, 1);
}

bool is_own_name_of_root(std::string_view name) { return name.starts_with(kOwnFolder); }

bool ServedTree::is_kept_back(std::span<const std::string> names) const {
  if (names.empty() || !is_own_name_of_root(names.front())) return false;
  const bool own = names.size() == 2 && names[0] == kOwnFolder;
  return !own || !(names[1] == kReport || (statistics_ && names[1] == kStatistics));
}

/// What is known of the root anyway is enough on the way to what lies below.
Result<HeldNode> ServedTree::root(bool passed) {
  InodeEntry found;
  found.id = kRootNode;
  found.status.st_mode = S_IFDIR;
  if (!passed) {
    ZARRFS_TRY(found, view_.attributes(kRootNode));
  }
  return HeldNode(view_, found);
}

Result<std::optional<HeldNode>> ServedTree::child(const HeldNode& parent, const std::string& name,
                                                  bool open) {
  if (open) {
    ZARRFS_TRY(auto found, view_.find_and_open(parent.id(), name));
    if (!found) return std::nullopt;
    return HeldNode(view_, found->found, std::move(found->file));
  }
  ZARRFS_TRY(const auto found, view_.find(parent.id(), name));
  if (!found) return std::nullopt;
  return HeldNode(view_, *found);
}

Result<std::optional<HeldNode>> ServedTree::walk(std::vector<std::string> names, bool open) {
  for (unsigned links = 0; links <= kMostLinks; ++links) {
    if (is_kept_back(names)) return std::nullopt;
    ZARRFS_TRY(HeldNode node, root(!names.empty()));
    std::optional<std::vector<std::string>> elsewhere;
    for (std::size_t i = 0; i < names.size() && !elsewhere; ++i) {
      if (!node.is_directory()) return std::nullopt;
      ZARRFS_TRY(auto next, child(node, names[i], open && i + 1 == names.size()));
      if (!next) return std::nullopt;
      node = std::move(*next);
      if (!S_ISLNK(node.found().status.st_mode)) continue;
      ZARRFS_TRY(const std::string target, view_.read_link(node.id()));
      const std::span<const std::string> all(names);
      ZARRFS_TRY(elsewhere, led_to(all.first(i), target, all.subspan(i + 1)));
    }
    if (!elsewhere) return node;
    names = std::move(*elsewhere);
  }
  return fail(Fault::kLoop, printable(joined(names)) + ": too many symbolic links");
}

}  // namespace zarrfs
