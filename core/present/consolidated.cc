#include "core/present/consolidated.h"

namespace zarrfs {

ConsolidatedText::ConsolidatedText(bool ascii)
    : ascii_(ascii), text_("{\n\"zarr_consolidated_format\": 1,\n\"metadata\": {") {}

void ConsolidatedText::add(std::string_view path, std::string_view name, const Json& document) {
  std::string key(path);
  if (!key.empty()) key += '/';
  key += name;
  text_ += first_ ? "\n" : ",\n";
  first_ = false;
  text_ += dump(Json(std::move(key)));
  text_ += ": ";
  text_ += dump(document);
}

std::string ConsolidatedText::dump(const Json& value) const {
  return ascii_ ? dump_ascii(value) : dump_json(value);
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

}  // namespace zarrfs
