#include "core/chunks/chunk_finder.h"

#include <utility>

#include "core/base/hash.h"
#include "core/chunks/rechunk.h"
#include "core/chunks/zstd_frames.h"
#include "core/write/shard_builder.h"

namespace zarrfs {

namespace {
/// A chunk of more bytes is read in the parts that are asked for.
constexpr std::uint64_t kReadInParts = std::uint64_t{32} << 20U;
constexpr std::uint64_t kKeptAtOnce = 2;  // chunks that two programs read

void give_version(ShownChunk& chunk, const ChunkVersion& version) {
  chunk.version = version.version;
  if (!chunk.is_fill) chunk.stored.st_mtim = version.modified;
}

bool is_before(const timespec& a, const timespec& b) {
  return std::pair(a.tv_sec, a.tv_nsec) < std::pair(b.tv_sec, b.tv_nsec);
}

constexpr int kFindRounds = 64;  // each is as short as a look, and comes with a write

bool passes_bytes(ByteRule rule) { return rule == ByteRule::kVerbatim || rule == ByteRule::kTrim; }
}  // namespace

/// A commit of our own, which is no change, gives the shard another ctime at an unknown moment: so
/// that tells files apart only where nothing is written.
ShardState ChunkFinder::state_of(const struct stat& shard) const {
  const bool written = writes() != nullptr;
  return {digest_of(written ? identity_of(shard) : identity_by_ctime(shard)), shard.st_mtim};
}

/// The state of the shard at `path`.
Result<ShardState> ChunkFinder::shard_state(const ArrayView& array, const std::string& path) const {
  ZARRFS_TRY(const auto status, array.reader->status_at(path));
  return status ? state_of(*status) : ShardState{};
}

Result<std::optional<ShownChunk>> ChunkFinder::find_at(const ArrayView& array,
                                                       const Coordinates& chunk,
                                                       const ShownPlace& place) {
  if (array.presentation.rule == ByteRule::kRechunk) {
    return find_rechunked(array, chunk, place.number);
  }
  if (!place.stored) return fail(array.reader->place_of(chunk).error());
  if (array.versions == nullptr) return find_stored(array, chunk, *place.stored);
  const std::uint64_t shard = array.cells->number_of(place.stored->cell);
  const auto writes = [&] { return array.versions->writes_of(shard, place.number); };
  for (int round = 0; round < kFindRounds; ++round) {
    const std::uint32_t before = writes();
    ZARRFS_TRY(auto found, find_stored(array, chunk, *place.stored));
    if (!found) return found;
    ZARRFS_TRY(const ChunkVersion version, version_of(array, place.number, *place.stored, *found));
    if (before != writes()) continue;  // the version may be of other bytes
    give_version(*found, version);
    return found;
  }
  return fail(Fault::kStale, describe(array, chunk) + ": it is written all the time");
}

Result<std::optional<std::optional<ShownChunk>>> ChunkFinder::find_draft(
    const ArrayView& array, const Coordinates& chunk, const ChunkPlace& place) const {
  if (context_.writes == nullptr || context_.writes->clean()) return std::nullopt;
  ZARRFS_TRY(const auto draft, context_.writes->find(*array.reader, place));
  if (!draft) return std::nullopt;
  if (draft->draft.removed) return std::optional(fill_or_absent(array));
  ShownChunk found;
  found.is_draft = true;
  found.is_quarantined = draft->draft.quarantined;
  found.stored = array.status;
  found.stored.st_mtim = draft->draft.written;
  ChunkBytes bytes;
  bytes.file = draft->file;
  bytes.range = draft->draft.range;
  bytes.shard_status = found.stored;
  found.size = bytes.range.length;  // what is quarantined is shown as it was written
  if (!found.is_quarantined) {
    ZARRFS_TRY(found.size, size_shown(array, chunk, bytes.range.length));
  }
  found.bytes = std::move(bytes);
  return std::optional(std::optional(std::move(found)));
}

Result<std::uint64_t> ChunkFinder::size_shown(const ArrayView& array, const Coordinates& chunk,
                                              std::uint64_t stored) {
  if (array.presentation.rule == ByteRule::kDecode) return array.presentation.fixed_size;
  auto size = array.presentation.shown_size(stored);
  if (size) return size;
  return fail(size.error().fault, describe(array, chunk) + ": " + size.error().message);
}

Result<std::optional<ShownChunk>> ChunkFinder::find_stored(const ArrayView& array,
                                                           const Coordinates& chunk,
                                                           const ChunkPlace& place) {
  ZARRFS_TRY(auto draft, find_draft(array, chunk, place));
  if (draft) return std::move(*draft);
  ZARRFS_TRY(auto stored, array.reader->find_at(place));
  if (!stored) return fill_or_absent(array);
  ShownChunk found;
  found.stored = stored->shard_status;
  ZARRFS_TRY(found.size, size_shown(array, chunk, stored->range.length));
  found.bytes = std::move(*stored);
  return found;
}

Result<std::optional<ShownChunk>> ChunkFinder::find_rechunked(const ArrayView& array,
                                                              const Coordinates& chunk,
                                                              std::uint64_t number) {
  ZARRFS_TRY(auto stored, find_overlapped(array, chunk));
  std::optional<ShownChunk> found = fill_or_absent(array);
  if (stored) {
    found.emplace();
    found->stored = stored->shard_status;
    found->size = array.presentation.fixed_size;
  }
  if (!found || array.versions == nullptr) return found;
  ZARRFS_TRY(const ChunkVersion version, version_of_rechunked(array, chunk, number, *found));
  give_version(*found, version);
  return found;
}

std::optional<ShownChunk> ChunkFinder::fill_or_absent(const ArrayView& array) const {
  const Presentation& shown = array.presentation;
  if (shown.materialise == Materialise::kOff || shown.fill_chunk == nullptr) return std::nullopt;
  ShownChunk fill;
  fill.is_fill = true;
  fill.size = shown.fill_chunk->size();
  fill.stored = array.status;
  return fill;
}

Result<ChunkVersion> ChunkFinder::version_of(const ArrayView& array, std::uint64_t number,
                                             const ChunkPlace& place,
                                             const ShownChunk& found) const {
  const std::uint64_t shard = array.cells->number_of(place.cell);
  if (found.is_draft) {
    return array.versions->version_of_draft(shard, number, found.stored.st_mtim);
  }
  if (found.bytes) {
    return array.versions->version_of(shard, number, state_of(found.bytes->shard_status));
  }
  ZARRFS_TRY(const ShardState state, shard_state(array, place.path));
  return array.versions->version_of(shard, number, state);
}

Result<ChunkVersion> ChunkFinder::version_of_rechunked(const ArrayView& array,
                                                       const Coordinates& chunk,
                                                       std::uint64_t number,
                                                       const ShownChunk& found) const {
  ZARRFS_TRY(ShardState all, state_of_overlapped(array, chunk));
  if (is_before(all.modified, found.stored.st_mtim)) all.modified = found.stored.st_mtim;
  return array.versions->version_of(number, number, all);
}

/// Of all shards that the shown chunk is put together of.
Result<ShardState> ChunkFinder::state_of_overlapped(const ArrayView& array,
                                                    const Coordinates& chunk) const {
  ShardState all;
  ZARRFS_CHECK(visit_overlapped_cells(array, chunk, [&](const Coordinates& cell) -> Result<void> {
    ZARRFS_TRY(const ShardState one, shard_state(array, array.reader->shard_path(cell)));
    all.digest = mix_numbers(all.digest, one.digest);
    if (is_before(all.modified, one.modified)) all.modified = one.modified;
    return {};
  }));
  return all;
}

/// One version of each shard: if another one has come while it was read, all is read again.
Result<Bytes> ChunkFinder::read_overlapped(const ArrayView& array, const Coordinates& chunk) const {
  constexpr int kMostRounds = 8;
  if (context_.options.immutable) return read_rechunked(array, chunk);
  for (int round = 0; round < kMostRounds; ++round) {
    ZARRFS_TRY(const ShardState before, state_of_overlapped(array, chunk));
    auto bytes = read_rechunked(array, chunk);
    ZARRFS_TRY(const ShardState after, state_of_overlapped(array, chunk));
    if (before.digest == after.digest) return bytes;
  }
  return fail(Fault::kStale, "its shards are written all the time");
}

bool ChunkFinder::is_listed(const ArrayView& array, const Coordinates& chunk, bool stored_only,
                            ShardInHand* hand) {
  if (!stored_only && array.presentation.materialise == Materialise::kList) return true;
  if (array.presentation.rule == ByteRule::kRechunk) {
    const auto stored = find_overlapped(array, chunk);
    return !stored || *stored;
  }
  const auto place = array.reader->place_of(chunk);
  if (!place) return true;
  const auto draft = find_draft(array, chunk, *place);
  if (!draft) return true;
  if (*draft) return (*draft)->has_value() && !(**draft)->is_fill;
  const auto stored = array.reader->find_at(*place, hand);
  if (!stored) named_untold();
  return !stored || *stored;
}

Result<ChunkContent> ChunkFinder::content_of(const ArrayView& array, const Coordinates& chunk,
                                             const ShownChunk& found) {
  const Presentation& shown = array.presentation;
  if (found.is_quarantined) return ChunkContent{found.bytes->file, found.bytes->range, nullptr};
  const bool passes = found.bytes && passes_bytes(shown.rule);
  const bool has_frame = passes && context_.options.format == ViewFormat::kV2 && !found.is_draft;
  // A chunk that is not near is read as a whole, with one request, if it can be kept: else each
  // read of a part of it would bring all of it.
  const File* const file = found.bytes ? found.bytes->file.get() : nullptr;
  const std::uint64_t most = std::min(kReadInParts, context_.options.decoded_kept / kKeptAtOnce);
  if (passes && file != nullptr && (file->descriptor() >= 0 || found.size > most)) {
    const ChunkBytes& stored = *found.bytes;
    if (has_frame) ZARRFS_CHECK(check_frame(array, chunk, stored));
    return ChunkContent{stored.file, {stored.range.offset + shown.trim_front, found.size}, nullptr};
  }
  ZARRFS_TRY(auto bytes, bytes_of(array, chunk, found));
  if (has_frame) ZARRFS_CHECK(check_frame(array, chunk, *found.bytes));  // it has come with them
  return ChunkContent{nullptr, {}, std::move(bytes)};
}

Result<std::shared_ptr<const Bytes>> ChunkFinder::bytes_of(const ArrayView& array,
                                                           const Coordinates& chunk,
                                                           const ShownChunk& found) {
  if (found.is_fill) return array.presentation.fill_chunk;
  const auto read = [&]() -> Result<Bytes> {
    if (!found.bytes) return read_overlapped(array, chunk);
    ZARRFS_TRY(Bytes stored, found.bytes->read(context_.counters.get()));
    if (found.is_quarantined) return stored;
    return array.presentation.present(stored);
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

Result<void> ChunkFinder::check_frame(const ArrayView& array, const Coordinates& chunk,
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

std::string ChunkFinder::describe(const ArrayView& array, const Coordinates& chunk) {
  const ChunkKeyEncoding dotted{ChunkKeyEncoding::Kind::kV2, '.'};
  return "/" + array.path + " chunk " + dotted.key(chunk);
}

}  // namespace zarrfs
