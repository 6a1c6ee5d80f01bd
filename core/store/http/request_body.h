// The body of a request: read as it is sent, and again where it is sent again. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace zarrfs {

class RequestBody {
 public:
  /// A part of `file`, which does not change any more. Reads it, for its hash.
  static Result<std::shared_ptr<const RequestBody>> of_file(std::shared_ptr<const File> file,
                                                            ByteRange range);
  static std::shared_ptr<const RequestBody> of_text(std::string text);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// SHA-256, in hexadecimal.
  [[nodiscard]] const std::string& hash() const { return hash_; }
  /// As File::read_at.
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const;

 private:
  RequestBody() = default;
  std::shared_ptr<const File> file_;  ///< Null: `text_`.
  std::uint64_t begin_ = 0;           ///< In `file_`.
  std::string text_;
  std::uint64_t size_ = 0;
  std::string hash_;
};

}  // namespace zarrfs
