// Arrays of Blosc2 (b2nd, before that caterva): a file, each chunk of which is decoded. Where
// zarrfs was built without libblosc2 the array is told with a codec that is not known, and so
// hidden.
#include <algorithm>
#include <utility>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/formats/blosc2_frame.h"
#include "core/formats/blosc2_library.h"
#include "core/formats/format.h"
#include "core/formats/made_documents.h"
#include "core/store/part_file.h"
#include "core/types/data_type.h"
#include "core/zarr/shard_index.h"

namespace zarrfs {
namespace {

using Kind = Blosc2Index::Place::Kind;

/// The array that a file holds; nothing where it holds none.
Result<std::optional<Blosc2Frame>> frame_of(const File& file) {
  if (file.size() < kBlosc2FixedHeader) return std::nullopt;
  ZARRFS_TRY(const Bytes start, file.read_range({0, kBlosc2FixedHeader}));
  const auto length = blosc2_header_bytes(start);
  if (!length) return std::nullopt;
  if (*length > file.size()) {
    return fail(Fault::kDamaged, std::to_string(file.size()) +
                                     " bytes cannot hold the frame's header of " +
                                     std::to_string(*length));
  }
  ZARRFS_TRY(const Bytes header, file.read_range({0, *length}));
  return parse_blosc2_frame(header);
}

/// The bytes of the chunk that begins at `offset`; they end before `end`.
Result<Bytes> read_chunk(const File& file, std::uint64_t offset, std::uint64_t end) {
  // At a server, in one request.
  if (file.descriptor() < 0) file.fetch({offset, end - offset});
  ZARRFS_TRY(const Bytes header, file.read_range({offset, kBlosc2ChunkHeader}));
  const std::uint64_t length = load_little<std::uint32_t>(ByteView(header).subspan(12));
  if (length < kBlosc2ChunkHeader || length > end - offset) {
    return fail(Fault::kDamaged, "the chunk at " + std::to_string(offset) + " has " +
                                     std::to_string(length) + " bytes, and its place ends at " +
                                     std::to_string(end));
  }
  return file.read_range({offset, length});
}

class B2ndChunks final : public ChunkSource {
 public:
  B2ndChunks(VolumeContext context, Blosc2Frame frame)
      : context_(std::move(context)), frame_(std::move(frame)), counts_(frame_.counts()) {}

  [[nodiscard]] Result<std::shared_ptr<File>> find(
      std::span<const std::uint64_t> chunk) const override {
    ZARRFS_TRY(const std::shared_ptr<const File> file, context_.store->open(context_.top));
    if (file == nullptr) return nullptr;
    std::uint64_t number = 0;
    for (std::size_t axis = 0; axis < counts_.size(); ++axis) {
      number = number * counts_[axis] + chunk[axis];
    }
    auto found = find_in(file, number);
    if (found) return found;
    return fail(found.error().fault, context_.top + ": " + found.error().message);
  }

  [[nodiscard]] Asked asked_for(std::span<const std::uint64_t> /*chunk*/) const override {
    return {context_.top, {}};
  }

 private:
  [[nodiscard]] Result<std::shared_ptr<File>> find_in(const std::shared_ptr<const File>& file,
                                                      std::uint64_t number) const {
    ZARRFS_TRY(const auto index, index_of(*file));
    ZARRFS_TRY(const Blosc2Index::Place place, index->find(number));
    const bool stored = place.kind == Kind::kStored;
    // What is not stored has no place: a number behind the file stands for it.
    const std::uint64_t offset = stored ? place.offset : file->size() + number;
    const std::uint64_t room = stored ? index->room_at(offset) : 0;
    const FilePlace origin{file, context_.top, {offset, room}};
    return std::make_shared<MadeFile>(
        origin, frame_.blocks.chunk_bytes(),
        [file, index, place, room, name = context_.top]() -> Result<Bytes> {
          auto made = made_of(*file, index->frame(), place, room);
          if (made) return made;
          return fail(made.error().fault, name + ": " + made.error().message);
        });
  }

  static Result<Bytes> made_of(const File& file, const Blosc2Frame& frame,
                               const Blosc2Index::Place& place, std::uint64_t room) {
    const std::uint64_t bytes = frame.blocks.chunk_bytes();
    if (place.kind == Kind::kZeros) return Bytes(static_cast<std::size_t>(bytes));
    if (place.kind == Kind::kNans) return blosc2_nans(bytes, frame.blocks.item);
    ZARRFS_TRY(const Bytes stored, read_chunk(file, place.offset, place.offset + room));
    ZARRFS_TRY(const Bytes decoded, decode_blosc2(stored, frame.blocks.stored_bytes().value_or(0)));
    return joined_blocks(frame.blocks, decoded);
  }

  [[nodiscard]] Result<std::shared_ptr<const Blosc2Index>> index_of(const File& file) const {
    if (auto kept = std::dynamic_pointer_cast<const Blosc2Index>(
            context_.indexes->find(context_.top, file.identity()))) {
      return kept;
    }
    ZARRFS_TRY(const auto frame, frame_of(file));
    if (!frame || !frame->same_array(frame_)) {
      return fail(Fault::kStale, "another array has been written here");
    }
    if (frame->frame_bytes > file.size()) {
      return fail(Fault::kDamaged, "the frame has " + std::to_string(frame->frame_bytes) +
                                       " bytes, and the file " + std::to_string(file.size()));
    }
    const std::uint64_t bytes = checked_product(counts_).value_or(0) * sizeof(std::uint64_t);
    if (bytes > kMaxIndexBytes) {
      return fail(Fault::kUnsupported, "its index has " + std::to_string(bytes) +
                                           " bytes, more than " + std::to_string(kMaxIndexBytes));
    }
    ZARRFS_TRY(const Bytes stored,
               read_chunk(file, frame->header_bytes + frame->chunk_area, frame->frame_bytes));
    ZARRFS_TRY(const Bytes offsets, decode_blosc2(stored, bytes));
    auto index = std::make_shared<const Blosc2Index>(*frame, offsets, file.identity());
    context_.indexes->insert(context_.top, index);
    return index;
  }

  VolumeContext context_;
  Blosc2Frame frame_;
  std::vector<std::uint64_t> counts_;
};

/// The array's document. A type that numpy's words say and Zarr's do not is told by numpy's, and so
/// not known; as is the codec where there is no libblosc2.
Result<Json> document_of(const Blosc2Frame& frame) {
  ToldArray told;
  told.shape = frame.shape;
  for (const std::uint64_t length : frame.blocks.chunk) {
    told.chunk_shape.push_back(std::max<std::uint64_t>(length, 1));
  }
  Json endian = {{"endian", "little"}};
  const auto numpy = parse_numpy_type(frame.dtype);
  if (numpy) {
    told.data_type = numpy->type.spelled;
    told.fill_value = render_fill_value(numpy->type, Bytes(numpy->type.size), numpy->big_endian);
    if (numpy->big_endian) endian["endian"] = "big";
  } else {
    told.data_type = frame.dtype;
  }
  if (numpy && numpy->type.size != frame.blocks.item) {
    return fail(Fault::kDamaged, "the frame's header: b2nd.dtype is " + printable(frame.dtype) +
                                     ", and type_size " + std::to_string(frame.blocks.item));
  }
  told.codecs.push_back(codec_named("bytes", std::move(endian)));
  if (!has_blosc2()) told.codecs.push_back(codec_named("blosc2"));
  return array_document_of(told);
}

}  // namespace

Result<std::shared_ptr<const Volume>> open_b2nd(const VolumeContext& context,
                                                const Document& /*marker*/) {
  ZARRFS_TRY(const auto file, context.store->open(context.top));
  if (file == nullptr) return nullptr;
  auto frame = frame_of(*file);
  if (!frame) return fail(frame.error().fault, context.top + ": " + frame.error().message);
  if (!*frame) return nullptr;
  auto document = document_of(**frame);
  if (!document) return fail(document.error().fault, context.top + ": " + document.error().message);
  VolumeNode node;
  node.document = std::move(*document);
  node.counts = (*frame)->counts();
  node.chunks = std::make_shared<B2ndChunks>(context, std::move(**frame));
  auto volume = std::make_shared<Volume>();
  volume->emplace("", std::move(node));
  return volume;
}

}  // namespace zarrfs
