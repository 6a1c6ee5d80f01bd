#include "core/chunks/chunk_writer.h"

#include <algorithm>
#include <ctime>

#include "core/chunks/chunk_finder.h"
#include "core/chunks/chunk_lister.h"
#include "core/present/presentation_fill.h"
#include "core/store/store_users.h"
#include "core/write/shard_builder.h"

namespace zarrfs {

namespace {

/// A compressed chunk is hardly ever longer than this many times its elements.
constexpr std::uint64_t kMostGrowth = 2;
constexpr std::uint64_t kMostOverhead = std::uint64_t{1} << 20U;

bool lies_outside(const Layout& layout, const Coordinates& chunk,
                  const std::vector<std::uint64_t>& shape) {
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    if (chunk[axis] >= divide_up(shape[axis], layout.chunk_shape()[axis])) return true;
  }
  return false;
}

struct timespec now() {
  struct timespec time {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

/// Whether bytes of the right number always are a chunk, whatever they are.
bool takes_any_bytes(const CodecChain& chain) {
  return chain.steps().size() == 1 && chain.steps().front().spec.name == "bytes" &&
         !chain.decoded().type.variable_length();
}

}  // namespace

Result<void> ChunkWriter::check_writable(const ArrayView& array) {
  const Presentation& shown = array.presentation;
  std::string reason = shown.read_only_reason;
  if (shown.rule == ByteRule::kRechunk) reason = "it is shown in other chunks than are stored";
  if (reason.empty()) return {};
  return fail(Fault::kReadOnly, "/" + array.path + " cannot be written: " + reason);
}

std::uint64_t ChunkWriter::most_bytes(const ArrayView& array) {
  const Presentation& shown = array.presentation;
  if (shown.array->type.variable_length()) return 0;
  const auto elements = checked_product(shown.chunk_shape);
  const auto bytes = elements ? checked_multiply(*elements, shown.array->type.size) : std::nullopt;
  const auto most = bytes ? checked_multiply(*bytes, kMostGrowth) : std::nullopt;
  return most ? checked_add(*most, kMostOverhead).value_or(0) : 0;
}

bool ChunkWriter::is_chunk(const ArrayView& array, const ChunkPlace& place, ByteView stored) {
  const auto chain = array.reader->layout().chain_of(place.cell);
  if (!chain) return false;
  if (takes_any_bytes(*chain)) return stored.size() == chain->decoded().bytes();
  const auto elements = chain->decode(stored);
  if (!elements) return false;
  return array.presentation.array->type.variable_length() ||
         elements->size() == chain->decoded().bytes();
}

/// `shown` as it is stored: itself, or what is made of it in `memory`.
Result<ByteView> ChunkWriter::to_store(const ArrayView& array, ByteView shown, Bytes& memory) {
  if (array.presentation.rule == ByteRule::kVerbatim) return shown;
  ZARRFS_TRY(memory, array.presentation.restore(shown));
  return ByteView(memory);
}

std::string ChunkWriter::shard_of(const ArrayView& array, const Coordinates& chunk) {
  return array.reader->shard_path(array.reader->layout().place_of(chunk).cell);
}

Result<void> ChunkWriter::put(const ArrayView& array, const Coordinates& chunk, ByteView shown,
                              const struct timespec& modified) {
  ZARRFS_CHECK(check_writable(array));
  const ChunkPlace place = array.reader->layout().place_of(chunk);
  const bool validate = context_.options.writing->validate;
  Bytes memory;
  const auto stored = to_store(array, shown, memory);
  if (!stored && (!validate || stored.error().fault == Fault::kReadOnly)) {
    return fail(stored.error().fault,
                ChunkFinder::describe(array, chunk) + ": " + stored.error().message);
  }
  // Without validation, too: an entry of no bytes would be damage to who reads the shard.
  const bool quarantined =
      validate ? !(stored && is_chunk(array, place, *stored)) : stored->empty();
  ZARRFS_CHECK(context_.writes->put(array.reader, place.cell, place.number,
                                    quarantined ? shown : *stored, quarantined,
                                    note_of(array, chunk, place, modified)));
  return {};
}

Result<void> ChunkWriter::remove(const ArrayView& array, const Coordinates& chunk) {
  if (!array.presentation.removed_element) return erase(array, chunk);
  ZARRFS_CHECK(check_writable(array));
  const ChunkPlace place = array.reader->layout().place_of(chunk);
  ZARRFS_TRY(const Bytes left, removed_bytes(array, chunk));
  ZARRFS_CHECK(context_.writes->put(array.reader, place.cell, place.number, left, false,
                                    note_of(array, chunk, place, now())));
  return {};
}

Result<void> ChunkWriter::erase(const ArrayView& array, const Coordinates& chunk) {
  ZARRFS_CHECK(check_writable(array));
  const ChunkPlace place = array.reader->layout().place_of(chunk);
  return context_.writes->remove(array.reader, place.cell, place.number,
                                 note_of(array, chunk, place, now()));
}

Result<Bytes> ChunkWriter::removed_bytes(const ArrayView& array, const Coordinates& chunk) {
  const Layout& layout = array.reader->layout();
  ZARRFS_TRY(const CodecChain chain, layout.chain_of(layout.place_of(chunk).cell));
  ZARRFS_TRY(const Bytes elements,
             fill_elements(array.presentation.array->type, *array.presentation.removed_element,
                           chain.decoded().shape));
  return chain.encode(elements);
}

std::function<void()> ChunkWriter::note_of(const ArrayView& array, const Coordinates& chunk,
                                           const ChunkPlace& place,
                                           const struct timespec& modified) {
  return [&array, &chunk, &place, modified] {
    array.versions->written(array.cells->number_of(place.cell),
                            linear_of(chunk, array.names.counts()), modified);
  };
}

Result<void> ChunkWriter::sync(const ArrayView& array, const Coordinates& chunk) {
  const ChunkPlace place = array.reader->layout().place_of(chunk);
  auto synced = context_.writes->sync(array.reader->shard_path(place.cell), place.number);
  if (synced) return synced;
  return fail(synced.error().fault,
              ChunkFinder::describe(array, chunk) + ": " + synced.error().message);
}

Result<void> ChunkWriter::publish(const ArrayView& array, const Coordinates& chunk) {
  const ChunkPlace place = array.reader->layout().place_of(chunk);
  return context_.writes->publish(array.reader->shard_path(place.cell), place.number);
}

Result<void> ChunkWriter::remove_outside(const ArrayView& array,
                                         const std::vector<std::uint64_t>& shape) {
  const Layout& layout = array.reader->layout();
  return remove_where(array,
                      [&](const Coordinates& chunk) { return lies_outside(layout, chunk, shape); });
}

Result<void> ChunkWriter::remove_all(const ArrayView& array) {
  return remove_where(array, [](const Coordinates&) { return true; });
}

Result<void> ChunkWriter::remove_where(const ArrayView& array, const Wanted& wanted) {
  ArrayReader& reader = *array.reader;
  const Layout& layout = reader.layout();
  Result<void> done;
  const auto remove_number = [&](const Coordinates& cell, std::uint64_t number,
                                 const Coordinates& chunk) {
    if (!wanted(chunk)) return true;
    // Who may change the array's document may not therefore change all of its shards.
    done = check_caller_may_write(*context_.store, reader.shard_path(cell));
    if (done) done = context_.writes->remove(array.reader, cell, number);
    return done.has_value();
  };
  ChunkFinder finder(context_);
  ZARRFS_CHECK(
      ChunkLister(array, finder).visit_cells(0, [&](const Coordinates& cell, bool /*written*/) {
        for (const auto& [number, draft] : context_.writes->drafts(reader, cell)) {
          const auto chunk = layout.chunk_at({cell, entries_of(layout, cell, number)});
          if (chunk && !draft.removed && !remove_number(cell, number, *chunk)) return false;
        }
        if (!layout.sharded()) return remove_number(cell, 0, cell);
        const auto visited = reader.visit_shard(cell, 0, [&](const ArrayReader::Visited& one) {
          return remove_number(cell, one.number, one.chunk);
        });
        if (!visited) done = visited;
        return done.has_value();
      }));
  ZARRFS_CHECK(done);
  return context_.writes->commit_below(array.path);
}

}  // namespace zarrfs
