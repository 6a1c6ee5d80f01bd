// What a client of `zarrfs serve` sends: targets, and the values of fields.
#include "core/base/path.h"
#include "fs/serve/http_values.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto target = parse_target(text)) {
    for (const std::string& name : target->names) require(is_plain_name(name));
    static_cast<void>(target->member("token"));
  }
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{size}, ~std::uint64_t{0}}) {
    const RangeAsked asked = parse_range(text, bytes);
    const bool part = asked.kind == RangeAsked::Kind::kPart;
    require(!part || (asked.part.length > 0 && asked.part.offset < bytes &&
                      asked.part.length <= bytes - asked.part.offset));
  }
  static_cast<void>(names_tag(text, "\"a\"", true));
  static_cast<void>(accepts(text, "gzip"));
  require(html_escape(text).find_first_of("<>\"'") == std::string::npos);
  return 0;
}
