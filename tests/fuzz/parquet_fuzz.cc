// Files of references in Parquet, of any bytes: each reference that is told can be found.
#include "core/formats/references/reference_records.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  constexpr std::size_t kRows = 100;
  const auto table = parse_record({data, size}, {3, 2}, 0, kRows);
  if (!table) return 0;
  require((*table)->size() <= 6);
  for (const ReferenceTable::Child& child : (*table)->children("")) {
    const auto found = (*table)->find(child.name);
    require(found.has_value());
    if (found->kind == Reference::Kind::kInline) static_cast<void>(inline_bytes(*found));
  }
  return 0;
}
