// Answers of any headers and bytes. Input: one byte of choices, a length, an offset, then the
// headers, an empty line and the body.
#include "core/store/http/object_answer.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  fuzz::Input input{{data, size}};
  const std::uint8_t choices = input.byte();
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60U;
  AskedPart asked;
  asked.kind = static_cast<AskedPart::Kind>(choices % 3);
  asked.range = {input.number() % kMost, input.number() % kMost + 1};
  HttpResponse response;
  response.status = (choices & 4U) != 0 ? 206 : 200;
  std::string_view text(reinterpret_cast<const char*>(input.rest.data()), input.rest.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) break;
    response.headers.add_line(line);
  }
  response.body.assign(text.begin(), text.end());
  const std::size_t received = response.body.size();
  static_cast<void>(read_head(response, "x"));
  const auto part = read_part(std::move(response), asked, "x");
  if (!part) return 0;
  require(part->bytes.size() == received);
  require(lies_within({part->offset, part->bytes.size()}, part->info.size));
  return 0;
}
