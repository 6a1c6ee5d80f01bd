#include "core/store/remote/request_body.h"

#include <algorithm>

#include "core/store/remote/signer.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;

}  // namespace

Result<std::shared_ptr<const RequestBody>> RequestBody::of_file(std::shared_ptr<const File> file) {
  std::shared_ptr<RequestBody> body(new RequestBody());
  body->size_ = file->size();
  Sha256 hash;
  for (std::uint64_t at = 0; at < body->size_; at += kPiece) {
    ZARRFS_TRY(const Bytes piece, file->read_range({at, std::min(kPiece, body->size_ - at)}));
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
  if (file_ != nullptr) return file_->read_at(offset, out);
  const std::size_t begin = std::min<std::size_t>(offset, text_.size());
  const std::size_t length = std::min(out.size(), text_.size() - begin);
  std::copy_n(text_.data() + begin, length, out.data());
  return length;
}

}  // namespace zarrfs
