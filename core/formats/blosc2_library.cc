#include "core/formats/blosc2_library.h"

#ifdef ZARRFS_BLOSC2
#include <blosc2.h>

#include <memory>
#include <string>
#endif

namespace zarrfs {

#ifdef ZARRFS_BLOSC2

bool has_blosc2() { return true; }

Result<Bytes> decode_blosc2(ByteView chunk, std::uint64_t size) {
  static const bool ready = (::blosc2_init(), true);
  std::int32_t decoded = 0;
  std::int32_t stored = 0;
  const auto length = static_cast<std::int32_t>(std::min<std::size_t>(chunk.size(), INT32_MAX));
  const bool readable = ready && length >= BLOSC_MIN_HEADER_LENGTH &&
                        ::blosc2_cbuffer_sizes(chunk.data(), &decoded, &stored, nullptr) >= 0 &&
                        stored <= length;
  if (!readable || decoded < 0 || static_cast<std::uint64_t>(decoded) != size) {
    return fail(Fault::kDamaged, "a Blosc2 chunk of " + std::to_string(chunk.size()) +
                                     " bytes says that it has " + std::to_string(stored) +
                                     " and decodes to " + std::to_string(decoded) + ", not " +
                                     std::to_string(size));
  }
  blosc2_dparams settings = BLOSC2_DPARAMS_DEFAULTS;
  settings.nthreads = 1;
  const std::unique_ptr<blosc2_context, decltype(&::blosc2_free_ctx)> context(
      ::blosc2_create_dctx(settings), &::blosc2_free_ctx);
  if (context == nullptr) return fail(Fault::kNoMemory, "libblosc2 has no memory");
  Bytes out(static_cast<std::size_t>(size));
  const int made =
      ::blosc2_decompress_ctx(context.get(), chunk.data(), length, out.data(), decoded);
  if (made == decoded) return out;
  return fail(Fault::kDamaged, "a Blosc2 chunk of " + std::to_string(chunk.size()) +
                                   " bytes does not decode (libblosc2: " + std::to_string(made) +
                                   ")");
}

#else

bool has_blosc2() { return false; }

Result<Bytes> decode_blosc2(ByteView /*chunk*/, std::uint64_t /*size*/) {
  return fail(Fault::kUnsupported, "zarrfs was built without libblosc2");
}

#endif

}  // namespace zarrfs
