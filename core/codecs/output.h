// Where decompressors write: bytes that grow as far as a limit, so that what a store claims never
// decides how much memory is used. One thread at a time.
#pragma once

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace zarrfs {

class Output {
 public:
  /// At most `limit` bytes; `input` is the size of the compressed bytes, from which the first guess
  /// is made.
  Output(std::uint64_t limit, std::size_t input);

  /// Free space, at least one byte: one more than the limit allows where the limit is reached, so
  /// that a decompressor can show whether there is more.
  MutableByteView space();
  /// `size` bytes of the space were filled.
  void filled(std::size_t size);
  [[nodiscard]] bool over_limit() const { return used_ > limit_; }
  /// The bytes written; kDamaged where they are more than the limit. `codec` is for the message.
  Result<Bytes> take(const char* codec);

 private:
  std::uint64_t limit_;
  Bytes buffer_;
  std::size_t used_ = 0;
};

/// The error of a decompressor that produced more than it may.
tl::unexpected<Error> over_limit_error(const char* codec, std::uint64_t limit);

}  // namespace zarrfs
