#include "core/view/chunk_finder.h"

#include <utility>

#include "core/view/open_files.h"
#include "core/view/rechunk.h"
#include "core/view/zstd_frames.h"

namespace zarrfs {

namespace {
std::uint64_t digest_of(const FileIdentity& identity) {
  return mix_numbers(mix_numbers(identity.device, identity.inode),
                     mix_numbers(identity.size, static_cast<std::uint64_t>(identity.mtime_ns)));
}

/// The state of the stored object at `cell`, as a number; 0 where there is none.
Result<std::uint64_t> cell_state(const NodeState& array, const Coordinates& cell) {
  ZARRFS_TRY(const auto status, array.reader->cell_status(cell));
  return status ? digest_of(identity_of(*status)) : 0;
}

bool passes_bytes(ByteRule rule) { return rule == ByteRule::kVerbatim || rule == ByteRule::kTrim; }
}  // namespace

Result<std::optional<ShownChunk>> ChunkFinder::find(const NodeState& array,
                                                    const Coordinates& chunk) {
  auto found = array.presentation.rule == ByteRule::kRechunk ? find_rechunked(array, chunk)
                                                             : find_stored(array, chunk);
  if (!found || !*found || array.versions == nullptr) return found;
  ZARRFS_TRY((*found)->version, version_of(array, chunk, **found));
  return found;
}

Result<std::optional<ShownChunk>> ChunkFinder::find_stored(const NodeState& array,
                                                           const Coordinates& chunk) {
  ZARRFS_TRY(auto stored, array.reader->find_chunk(chunk));
  if (!stored) return fill_or_absent(array);
  ShownChunk found;
  found.stored = stored->shard_status;
  if (array.presentation.rule == ByteRule::kDecode) {
    found.size = array.presentation.fixed_size;
  } else {
    auto size = array.presentation.shown_size(stored->range.length);
    if (!size) {
      return fail(size.error().fault, describe(array, chunk) + ": " + size.error().message);
    }
    found.size = *size;
  }
  found.bytes = std::move(*stored);
  return found;
}

Result<std::optional<ShownChunk>> ChunkFinder::find_rechunked(const NodeState& array,
                                                              const Coordinates& chunk) {
  ZARRFS_TRY(auto stored, find_overlapped(array, chunk));
  if (!stored) return fill_or_absent(array);
  ShownChunk found;
  found.stored = stored->shard_status;
  found.size = array.presentation.fixed_size;
  return found;
}

std::optional<ShownChunk> ChunkFinder::fill_or_absent(const NodeState& array) {
  const Presentation& shown = array.presentation;
  if (shown.materialise == Materialise::kOff || shown.fill_chunk == nullptr) return std::nullopt;
  ShownChunk fill;
  fill.is_fill = true;
  fill.size = shown.fill_chunk->size();
  fill.stored = array.node.status;
  return fill;
}

Result<std::uint64_t> ChunkFinder::version_of(const NodeState& array, const Coordinates& chunk,
                                              const ShownChunk& found) {
  const Layout& layout = array.reader->layout();
  if (array.presentation.rule == ByteRule::kRechunk) {
    std::uint64_t state = 0;
    ZARRFS_CHECK(visit_overlapped_cells(array, chunk, [&](const Coordinates& cell) -> Result<void> {
      ZARRFS_TRY(const std::uint64_t one, cell_state(array, cell));
      state = mix_numbers(state, one);
      return {};
    }));
    return array.versions->version_of(linear_of(chunk, array.names.counts()), state);
  }
  const Coordinates cell = layout.place_of(chunk).cell;
  const std::uint64_t number = linear_of(cell, layout.grid().counts());
  if (found.bytes) return array.versions->version_of(number, digest_of(found.bytes->shard));
  ZARRFS_TRY(const std::uint64_t state, cell_state(array, cell));
  return array.versions->version_of(number, state);
}

bool ChunkFinder::is_listed(const NodeState& array, const Coordinates& chunk) {
  if (array.presentation.materialise == Materialise::kList) return true;
  if (array.presentation.rule == ByteRule::kRechunk) {
    const auto stored = find_overlapped(array, chunk);
    return !stored || *stored;
  }
  const auto stored = array.reader->find_chunk(chunk);
  return !stored || *stored;
}

Result<std::shared_ptr<OpenFile>> ChunkFinder::open(const NodeState& array,
                                                    const Coordinates& chunk,
                                                    const ShownChunk& found) {
  const Presentation& shown = array.presentation;
  if (found.is_fill) return std::make_shared<BytesFile>(shown.fill_chunk);
  if (found.bytes && passes_bytes(shown.rule)) {
    if (shared_.options.format == ViewFormat::kV2) {
      ZARRFS_CHECK(check_frame(array, chunk, *found.bytes));
    }
    const ChunkBytes& stored = *found.bytes;
    if (stored.file != nullptr && stored.file->descriptor() >= 0) {
      const ByteRange range{stored.range.offset + shown.trim_front, found.size};
      return std::make_shared<SliceFile>(stored.file, range, describe(array, chunk),
                                         shared_.options.immutable);
    }
  }
  ZARRFS_TRY(auto bytes, bytes_of(array, chunk, found));
  return std::make_shared<BytesFile>(std::move(bytes));
}

Result<std::shared_ptr<const Bytes>> ChunkFinder::bytes_of(const NodeState& array,
                                                           const Coordinates& chunk,
                                                           const ShownChunk& found) {
  const auto read = [&]() -> Result<Bytes> {
    if (!found.bytes) return read_rechunked(array, chunk);
    ZARRFS_TRY(const Bytes stored, found.bytes->read(shared_.counters.get()));
    return array.presentation.show(stored);
  };
  auto bytes = read();
  if (!bytes)
    return fail(bytes.error().fault, describe(array, chunk) + ": " + bytes.error().message);
  if (bytes->size() != found.size) {
    return fail(Fault::kDamaged, describe(array, chunk) + ": its stored bytes make " +
                                     std::to_string(bytes->size()) + " bytes, not " +
                                     std::to_string(found.size));
  }
  return std::make_shared<const Bytes>(std::move(*bytes));
}

Result<void> ChunkFinder::check_frame(const NodeState& array, const Coordinates& chunk,
                                      const ChunkBytes& stored) {
  const auto offset = zstd_frame_offset(array.reader->layout().chunk_chain());
  if (!offset || !lies_within({*offset, kZstdFrameStart}, stored.range.length)) return {};
  ChunkBytes start = stored;
  start.range = {stored.range.offset + *offset, kZstdFrameStart};
  ZARRFS_TRY(const Bytes bytes, start.read());
  if (!zstd_lacks_size(bytes)) return {};
  return fail(Fault::kDamaged,
              describe(array, chunk) +
                  ": its zstd frame lacks the content size that readers of Zarr v2 need, unlike "
                  "the frames this array was judged by");
}

std::string ChunkFinder::describe(const NodeState& array, const Coordinates& chunk) {
  const ChunkKeyEncoding dotted{ChunkKeyEncoding::Kind::kV2, '.'};
  return "/" + array.path + " chunk " + dotted.key(chunk);
}

}  // namespace zarrfs
