#include "core/codecs/output.h"

#include <algorithm>
#include <string>
#include <utility>

namespace zarrfs {
namespace {

constexpr std::uint64_t kSmallest = std::uint64_t{64} << 10U;

/// The space to begin with: most chunks expand less than 32 times, and their limit is their size.
std::size_t first_guess(std::uint64_t limit, std::size_t input) {
  const std::uint64_t likely = checked_multiply(input, 32).value_or(limit);
  return std::min(limit, std::max(kSmallest, likely));
}

}  // namespace

Output::Output(std::uint64_t limit, std::size_t input)
    : limit_(limit), buffer_(first_guess(limit, input)) {}

MutableByteView Output::space() {
  if (used_ == buffer_.size()) {
    const std::uint64_t doubled = std::max<std::uint64_t>(buffer_.size(), 1) * 2;
    buffer_.resize(used_ < limit_ ? std::min(doubled, limit_) : used_ + 1);
  }
  return MutableByteView(buffer_).subspan(used_);
}

void Output::filled(std::size_t size) { used_ += size; }

Result<Bytes> Output::take(const char* codec) {
  if (over_limit()) return over_limit_error(codec, limit_);
  buffer_.resize(used_);
  return std::move(buffer_);
}

tl::unexpected<Error> over_limit_error(const char* codec, std::uint64_t limit) {
  return fail(Fault::kDamaged,
              std::string(codec) + ": it decodes to more than " + std::to_string(limit) + " bytes");
}

}  // namespace zarrfs
