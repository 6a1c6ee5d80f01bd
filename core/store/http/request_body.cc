#include "core/store/http/request_body.h"

#include <algorithm>

#include "core/store/http/signer.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;

}  // namespace

Result<std::shared_ptr<const RequestBody>> RequestBody::of_file(std::shared_ptr<const File> file,
                                                                ByteRange range) {
  std::shared_ptr<RequestBody> body(new RequestBody());
  body->begin_ = range.offset;
  body->size_ = range.length;
  Sha256 hash;
  for (std::uint64_t at = 0; at < range.length; at += kPiece) {
    ZARRFS_TRY(const Bytes piece,
               file->read_range({range.offset + at, std::min(kPiece, range.length - at)}));
    hash.add(piece);
  }
  body->hash_ = hash.finish();
  body->file_ = std::move(file);
  return body;
}

std::shared_ptr<const RequestBody> RequestBody::of_text(std::string text) {
  std::shared_ptr<RequestBody> body(new RequestBody());
  body->size_ = text.size();
  body->hash_ = sha256_hex(text);
  body->text_ = std::move(text);
  return body;
}

Result<std::size_t> RequestBody::read_at(std::uint64_t offset, MutableByteView out) const {
  const std::size_t begin = std::min<std::size_t>(offset, size_);
  const std::size_t length = std::min<std::size_t>(out.size(), size_ - begin);
  if (file_ != nullptr) return file_->read_at(begin_ + begin, out.first(length));
  std::copy_n(text_.data() + begin, length, out.data());
  return length;
}

}  // namespace zarrfs
