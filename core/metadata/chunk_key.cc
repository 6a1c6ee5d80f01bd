#include "core/metadata/chunk_key.h"

#include <charconv>
#include <string>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/metadata/json_fields.h"

namespace zarrfs {

Result<ChunkKeyEncoding> parse_chunk_key_encoding(const Json& spelled) {
  ZARRFS_TRY(const Extension extension, parse_extension(spelled, "chunk_key_encoding"));
  ChunkKeyEncoding encoding;
  if (extension.name == "v2") {
    encoding = {ChunkKeyEncoding::Kind::kV2, '.'};
  } else if (extension.name != "default") {
    return fail(Fault::kUnsupported, "the chunk key encoding \"" + printable(extension.name) +
                                         "\" is not one that zarrfs knows (default, v2)");
  }
  const Json* separator = find_member(extension.configuration, "separator");
  if (separator == nullptr) return encoding;
  if (*separator != "/" && *separator != ".") {
    return fail(Fault::kDamaged, "chunk_key_encoding.configuration.separator is " +
                                     brief(*separator) + ", neither \"/\" nor \".\"");
  }
  encoding.separator = separator->get_ref<const std::string&>()[0];
  return encoding;
}

Json render_chunk_key_encoding(const ChunkKeyEncoding& encoding) {
  Json rendered = Json::object();
  rendered["name"] = encoding.kind == ChunkKeyEncoding::Kind::kV2 ? "v2" : "default";
  rendered["configuration"]["separator"] = std::string(1, encoding.separator);
  return rendered;
}

std::string ChunkKeyEncoding::key(std::span<const std::uint64_t> coordinates) const {
  std::string text = kind == Kind::kDefault ? "c" : "";
  if (coordinates.empty() && kind == Kind::kV2) return "0";
  for (const std::uint64_t coordinate : coordinates) {
    if (!text.empty()) text += separator;
    text += std::to_string(coordinate);
  }
  return text;
}

std::optional<std::uint64_t> parse_coordinate(std::string_view text, std::uint64_t limit) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number >= limit) return std::nullopt;
  return number;
}

}  // namespace zarrfs
