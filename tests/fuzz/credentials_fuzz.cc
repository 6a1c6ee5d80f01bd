// Files of profiles, and documents with keys, of any bytes.
#include "core/store/http/credentials.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& [section, values] : zarrfs::parse_sections(text)) {
    for (const auto& [name, value] : values) {
      require(value.find('\n') == std::string::npos && name.find('=') == std::string::npos);
    }
  }
  const auto found = zarrfs::parse_credentials(text, "x");
  require(!found || (!found->key.id.empty() && !found->key.secret.empty()));
  return 0;
}
