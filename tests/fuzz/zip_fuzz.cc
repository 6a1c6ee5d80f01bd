// Zip archives of any bytes: every entry lies within the archive.
#include "core/store/zip/zip_directory.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  const ByteView bytes(data, size);
  const auto read = [&](ByteRange range) -> Result<Bytes> {
    require(lies_within(range, size));
    const ByteView part = bytes.subspan(range.offset, range.length);
    return Bytes(part.begin(), part.end());
  };
  const auto entries = read_zip_directory(size, read);
  if (!entries) return 0;
  for (const ZipEntry& entry : *entries) {
    require(lies_within({entry.header_offset, kZipHeader}, size));
    require(!entry.name.empty() && entry.name.front() != '/' && !entry.name.starts_with("../"));
    const auto header = read(zip_header_range(entry, size));
    const auto offset = zip_data_offset(entry, *header, size);
    if (offset) require(lies_within({*offset, entry.stored_size}, size));
  }
  return 0;
}
