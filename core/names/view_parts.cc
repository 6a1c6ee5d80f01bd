#include "core/names/view_parts.h"

#include <utility>

namespace zarrfs {

ViewParts::ViewParts(std::shared_ptr<Store> store, const ViewOptions& options, Profile profile)
    : shared(std::move(store), options, std::move(profile)),
      permissions(shared.store),
      nodes(shared),
      consolidation(shared, nodes, permissions),
      chunks(shared),
      decoded(std::make_shared<DecodedChunks>(options.decoded_kept)),
      staged(shared.store, options.writing ? options.writing->write_buffer / 4 * 3 : 0),
      chunk_writer(shared),
      editor(shared, nodes, consolidation, overlay) {}

bool ViewParts::all_is_stored() const {
  return !writable() || (staged.empty() && shared.writes->clean());
}

Result<void> ViewParts::put_chunk(const NodeState& array, const Coordinates& chunk, ByteView shown,
                                  const struct timespec& modified) {
  ZARRFS_CHECK(chunk_writer.put(array.shown, chunk, shown, modified));
  if (!array.shown.presentation.removed_element) return {};
  removed_chunks.forget(chunk_key(array, shown_place(array.shown, chunk).number));
  return {};
}

std::optional<NameLoans::Offer> ViewParts::offer(const ShownPlace& place) {
  return all_is_stored() ? loans.offer(place) : std::nullopt;
}

std::optional<std::uint64_t> ViewParts::serial_of(const Directory& directory,
                                                  const std::function<bool()>& is_sound) {
  return all_is_stored() ? listings.serial_of(directory, is_sound) : std::nullopt;
}

SharedCreation ViewParts::shared_creation() {
  return writable() ? creation_gate.shared() : SharedCreation();
}

Result<ExclusiveCreation> ViewParts::exclusive_creation(const std::string& path) {
  ZARRFS_TRY(const auto state, nodes.get(path));
  if (state->has_document() && !editor.expects_early(path)) return ExclusiveCreation();
  return creation_gate.exclusive_creation(path);
}

}  // namespace zarrfs
