#include "core/nodes/kept_notes.h"

#include <string_view>
#include <utility>

#include "core/base/json.h"
#include "core/metadata/v2_note.h"

namespace zarrfs {

namespace {
constexpr const char* kZarrJson = "zarr.json";
}  // namespace

Json spelled_attributes(const NodeState& state, const std::string& name) {
  const ShownDocument* const document = state.document(name);
  if (document == nullptr) return Json::object();
  const std::string_view text(reinterpret_cast<const char*>(document->text->data()),
                              document->text->size());
  auto json = parse_first_json(text, name);
  if (!json) return Json::object();
  const bool v3 = name == kZarrJson;
  Json attributes = v3 ? json->value(kAttributeMember, Json::object()) : std::move(*json);
  note_spelling(text, attributes, v3 ? kAttributesPointer : "");
  return attributes;
}

void keep_note(const Json& shown, const Json& stored, Json& document) {
  const Json written = document.value(kAttributeMember, Json::object());
  Json attributes = without_note(written);
  copy_note(stored, attributes);
  take_spelling(shown, written, attributes);
  if (!attributes.empty() || document.contains(kAttributeMember)) {
    document[kAttributeMember] = std::move(attributes);
  }
}

Json group_of(Json attributes) {
  if (!attributes.is_object()) attributes = Json::object();
  return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", std::move(attributes)}};
}

}  // namespace zarrfs
