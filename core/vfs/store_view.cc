#include "core/vfs/store_view.h"

#include <utility>

namespace zarrfs {

StoreView::~StoreView() { parts_.shared.writes.reset(); }  // its thread calls what goes next

Result<std::optional<InodeEntry>> StoreView::find(NodeId parent, std::string_view name) {
  return reported(
      parts_.shared.path_changes.look([&] { return second_looks_.find(parent, name); }));
}

Result<InodeEntry> StoreView::attributes(NodeId node) {
  return reported(parts_.shared.path_changes.look([&] { return attributes_.get(node); }));
}

Result<std::shared_ptr<OpenFile>> StoreView::open_file(NodeId node) {
  return reported(parts_.shared.path_changes.look([&] { return second_looks_.open_file(node); }));
}

Result<std::shared_ptr<OpenDirectory>> StoreView::open_directory(NodeId node) {
  return reported(parts_.shared.path_changes.look([&] { return opening_.open_directory(node); }));
}

void StoreView::forget(NodeId node, std::uint64_t lookups) {
  if (node < kFirstChunkNode) parts_.table.forget(node, lookups);
}

Result<std::vector<std::string>> StoreView::attribute_names(NodeId node) {
  return attributes_.extended_names(node);
}

Result<std::string> StoreView::attribute(NodeId node, const std::string& name) {
  return attributes_.extended(node, name);
}

void StoreView::set_front_statistics(std::function<std::string()> render_json_object) {
  control_.set_front_statistics(std::move(render_json_object));
}

Result<Created> StoreView::create(NodeId parent, std::string_view name, int flags, mode_t mode) {
  return reported_unless_waiting(creation_.create(parent, name, flags, mode), parent, name);
}

Result<std::shared_ptr<OpenFile>> StoreView::open_for_writing(NodeId node, int flags) {
  return reported(
      parts_.shared.path_changes.look([&] { return second_looks_.open_for_writing(node, flags); }));
}

Result<InodeEntry> StoreView::change(NodeId node, const AttributeChange& change, OpenFile* file) {
  return reported(attributes_.change(node, change, file));
}

Result<InodeEntry> StoreView::make_directory(NodeId parent, std::string_view name, mode_t mode) {
  return reported(creation_.make_directory(parent, name, mode));
}

Result<bool> StoreView::remove_file(NodeId parent, std::string_view name) {
  return reported(removal_.remove_file(parent, name));
}

Result<bool> StoreView::remove_directory(NodeId parent, std::string_view name) {
  return reported(removal_.remove_directory(parent, name));
}

Result<bool> StoreView::rename(NodeId parent, std::string_view name, NodeId new_parent,
                               std::string_view new_name, bool replace) {
  return reported_unless_waiting(moves_.rename(parent, name, new_parent, new_name, replace),
                                 new_parent, new_name);
}

Result<InodeEntry> StoreView::link(NodeId node, NodeId new_parent, std::string_view new_name) {
  return reported_unless_waiting(moves_.link(node, new_parent, new_name), new_parent, new_name);
}

Result<void> StoreView::sync(NodeId node) { return reported(publishing_.sync(node)); }

bool StoreView::must_wait(NodeId parent, std::string_view name) {
  const auto directory = names_.directory_of(parent);
  if (!directory) return false;
  return parts_.creation_gate.node_waits(directory->state->path) ||
         parts_.creation_gate.node_waits_around(join_path(directory->path(), std::string(name)));
}

}  // namespace zarrfs
