#include "core/present/consolidated.h"

#include "core/base/json.h"

namespace zarrfs {

ConsolidatedText::ConsolidatedText(bool ascii)
    : ascii_(ascii), text_("{\n\"zarr_consolidated_format\": 1,\n\"metadata\": {") {}

void ConsolidatedText::add(std::string_view path, std::string_view name, std::string_view text) {
  std::string key(path);
  if (!key.empty()) key += '/';
  key += name;
  text_ += first_ ? "\n" : ",\n";
  first_ = false;
  const Json spelled(std::move(key));
  text_ += ascii_ ? dump_ascii(spelled) : dump_json(spelled);
  text_ += ": ";
  text_ += text.substr(0, text.find_last_not_of('\n') + 1);
}

std::string ConsolidatedText::finish() && {
  text_ += "\n}\n}\n";
  return std::move(text_);
}

Json inline_consolidated(std::vector<std::pair<std::string, Json>> nodes) {
  Json metadata = Json::object();
  for (auto& node : nodes) metadata[node.first] = std::move(node.second);
  Json consolidated = Json::object();
  consolidated["kind"] = "inline";
  consolidated["must_understand"] = false;
  consolidated["metadata"] = std::move(metadata);
  return consolidated;
}

std::string consolidated_attributes(const std::string& path) {
  return (Json::json_pointer("/consolidated_metadata/metadata") / path / "attributes").to_string();
}

}  // namespace zarrfs
