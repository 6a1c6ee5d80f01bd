#include "core/metadata/chunk_key.h"

#include <algorithm>
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

std::optional<std::vector<std::uint64_t>> coordinates_below(
    std::string_view key, const std::vector<std::uint64_t>& counts) {
  if (key != "c" && !key.starts_with("c/")) return std::nullopt;
  key.remove_prefix(std::min<std::size_t>(2, key.size()));
  std::vector<std::uint64_t> coordinates;
  while (!key.empty()) {
    if (coordinates.size() == counts.size()) return std::nullopt;
    const std::size_t end = std::min(key.find('/'), key.size());
    const auto number = parse_coordinate(key.substr(0, end), counts[coordinates.size()]);
    if (!number || end + 1 == key.size()) return std::nullopt;
    coordinates.push_back(*number);
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return coordinates;
}

}  // namespace zarrfs
