#include "core/vfs/view_parts.h"

#include <utility>

namespace zarrfs {

ViewParts::ViewParts(std::shared_ptr<Store> store, const ViewOptions& options, Profile profile)
    : shared(std::move(store), options, std::move(profile)),
      permissions(shared.store),
      nodes(shared),
      consolidation(shared, nodes, permissions),
      chunks(shared),
      staged(shared.store, options.writing ? options.writing->write_buffer : 0),
      chunk_writer(shared),
      editor(shared, nodes, consolidation, session) {}

NameMaking ViewParts::not_while_nodes_are_made() {
  return writable() ? plain_writers.making() : NameMaking();
}

Result<NodeMaking> ViewParts::making_node(const std::string& path) {
  ZARRFS_TRY(const auto state, nodes.get(path));
  if (state->has_document()) return NodeMaking();
  return plain_writers.making_node(path);
}

}  // namespace zarrfs
