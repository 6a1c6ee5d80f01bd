#include "core/nodes/consolidation.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/document_text.h"
#include "core/base/json.h"
#include "core/present/consolidated.h"

namespace zarrfs {

namespace {
constexpr std::size_t kMaxKept = 256;
constexpr const char* kStoredDocument = "zarr.json";
constexpr mode_t kReadable = 0444;
constexpr int kRestPerWork = 10;  // a text is kept this many times as long as it took to render

bool is_before(const timespec& a, const timespec& b) {
  return std::pair(a.tv_sec, a.tv_nsec) < std::pair(b.tv_sec, b.tv_nsec);
}

std::string_view characters_of(const ShownDocument& document) {
  return {reinterpret_cast<const char*>(document.text->data()), document.text->size()};
}

Json attributes_of(const NodeState& state) {
  if (state.node.array != nullptr) return state.node.array->attributes;
  return state.node.group == nullptr ? Json() : *state.node.group->attributes;
}

Json parsed(const ShownDocument& document) {
  auto json = parse_json(characters_of(document), document.name);
  return json ? std::move(*json) : Json::object();
}

/// The path from `base`, as programs call it.
std::string relative(const NodeState& node, const std::string& base) {
  if (node.path == base) return {};
  std::string path = base.empty() ? node.path : node.path.substr(base.size() + 1);
  const std::string& shown = node.shown.presentation.shown_name;
  if (shown.empty()) return path;
  const std::string parent = parent_path(path);
  return join_path(parent, shown);
}
}  // namespace

Result<DocumentText> Consolidation::text(const NodeState& group) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(group.path);
    if (found != kept_.end() && found->second.document == group.node.document &&
        (shared_.options.immutable || Clock::now() < found->second.until)) {
      return found->second.text;
    }
  }
  const std::uint64_t epoch = epoch_.load();
  const auto begun = Clock::now();
  timespec modified{};
  ZARRFS_TRY(const std::string rendered, render(group, modified));
  const DocumentText text{std::make_shared<const Bytes>(rendered.begin(), rendered.end()),
                          modified};
  const auto done = Clock::now();
  const Clock::duration rest = std::max<Clock::duration>(kValidity, (done - begun) * kRestPerWork);
  const std::lock_guard lock(mutex_);
  if (epoch_.load() != epoch) return text;  // documents were changed meanwhile
  if (kept_.size() >= kMaxKept) kept_.clear();
  kept_[group.path] = {text, group.node.document, done + rest};
  return text;
}

void Consolidation::forget() {
  ++epoch_;
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

Result<std::string> Consolidation::render(const NodeState& group, timespec& modified) {
  return shared_.options.format == ViewFormat::kV2 ? render_v2(group, modified)
                                                   : render_v3(group, modified);
}

/// Whether everybody who may read the group's document may read the node's: the text is one for
/// all of them.
Result<bool> Consolidation::may_be_told(const NodeState& group, const NodeState& node) {
  const StoredPermissions& stored = permissions_;
  if (!stored.wanted() || node.path == group.path || !node.has_document()) return true;
  ZARRFS_TRY(const auto readers, stored.of(join_path(group.path, kStoredDocument), group.path));
  ZARRFS_TRY(const auto of_node, stored.of(join_path(node.path, kStoredDocument), group.path));
  if (!readers || !of_node) return false;
  return (readers->bits & ~both(*readers, *of_node).bits & kReadable) == 0;
}

Result<void> Consolidation::visit_shown(const NodeState& group, timespec& modified,
                                        const std::function<void(const NodeState&)>& visit) {
  Result<void> failed;
  const auto visit_node = [&](const std::string& path, const Node& node) {
    if (!failed) return false;
    const auto state = nodes_.get(path);
    if (!state) {
      failed = fail(state.error());
      return false;
    }
    if ((*state)->kind == NodeState::Kind::kHidden) return false;
    if ((*state)->kind == NodeState::Kind::kGroup && node.kind == Node::Kind::kUnsupported) {
      failed = fail(node.error);  // nothing tells what is below: a text would say that nothing is
      return false;
    }
    const auto told = may_be_told(group, **state);
    if (!told) {
      failed = fail(told.error());
      return false;
    }
    if (!*told) return true;
    const timespec& changed = (*state)->node.status.st_mtim;
    if (is_before(modified, changed)) modified = changed;
    visit(**state);
    return true;
  };
  ZARRFS_CHECK(walk_nodes(*shared_.store, group.path, visit_node));
  return failed;
}

Result<std::string> Consolidation::render_v2(const NodeState& group, timespec& modified) {
  ConsolidatedText text(!group.as_netcdf_wrote && shared_.profile.ascii);
  ZARRFS_CHECK(visit_shown(group, modified, [&](const NodeState& node) {
    for (const ShownDocument& document : node.documents) {
      text.add(relative(node, group.path), document.name, characters_of(document));
    }
  }));
  return std::move(text).finish();
}

Result<std::string> Consolidation::render_v3(const NodeState& group, timespec& modified) {
  std::vector<std::pair<std::string, Json>> nodes;
  TextStyle style{.ascii = shared_.profile.ascii, .bare = {}};
  add_bare(attributes_of(group), kAttributesPointer, style);
  ZARRFS_CHECK(visit_shown(group, modified, [&](const NodeState& node) {
    if (node.path == group.path || node.documents.empty()) return;
    std::string path = relative(node, group.path);
    add_bare(attributes_of(node), consolidated_attributes(path), style);
    nodes.emplace_back(std::move(path), parsed(node.documents.front()));
  }));
  Json document = group_document(group.node.group.get(), ViewFormat::kV3);
  document["consolidated_metadata"] = inline_consolidated(std::move(nodes));
  return styled_text(std::move(document), style);
}

}  // namespace zarrfs
