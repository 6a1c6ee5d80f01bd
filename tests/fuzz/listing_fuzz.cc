// Listings of a bucket, error documents and what is said of parts, of any bytes.
#include "core/store/http/listing.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto page = zarrfs::parse_listing(text);
  if (page) require(!page->truncated || !page->continuation.empty());
  const auto error = zarrfs::parse_service_error(text);
  require(error.code.size() <= 100 && error.message.size() <= 300);
  for (const auto& parse :
       {zarrfs::parse_upload_id, zarrfs::parse_copied_tag, zarrfs::parse_completed_tag}) {
    require(parse(text).size() <= 2048);
  }
  return 0;
}
