#include "core/names/documents.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/json.h"
#include "core/metadata/v2_note.h"
#include "core/present/v2_types.h"

namespace zarrfs {

namespace {
constexpr std::array<const char*, 4> kV2Documents = {".zgroup", ".zarray", ".zattrs", ".zmetadata"};
constexpr const char* kV3Document = "zarr.json";
constexpr const char* kGroupDocument = ".zgroup";
constexpr const char* kAttributes = ".zattrs";
constexpr const char* kConsolidated = ".zmetadata";
/// Whether a group is shown with `.zmetadata`. netCDF-C writes none, and by those that are there
/// other readers (GDAL, xarray) do not look for its own documents.
bool is_consolidated(const NodeState& group) {
  return !group.as_netcdf_wrote || group.node.group == nullptr || group.node.group->consolidated ||
         noted(group.node.group->attributes, kNotedConsolidated).has_value();
}
}  // namespace

bool is_v2_document(std::string_view name) {
  return std::find(kV2Documents.begin(), kV2Documents.end(), name) != kV2Documents.end();
}

bool Documents::is_document(std::string_view name) const {
  return parts_.shared.options.format == ViewFormat::kV2 ? is_v2_document(name)
                                                         : name == kV3Document;
}

std::vector<std::string> Documents::names(const NodeState& state) const {
  const bool v2 = parts_.shared.options.format == ViewFormat::kV2;
  std::vector<std::string> names;
  if (state.kind == NodeState::Kind::kDamaged) {
    names =
        v2 ? std::vector<std::string>{".zarray", ".zattrs"} : std::vector<std::string>{kV3Document};
  }
  for (const ShownDocument& document : state.documents) names.push_back(document.name);
  if (v2 && state.kind == NodeState::Kind::kGroup && is_consolidated(state)) {
    names.emplace_back(kConsolidated);
  }
  if (parts_.writable()) {
    std::erase_if(names, [&](const std::string& name) {
      return parts_.overlay.hides(state.path, name, is_synthesized(state, name));
    });
  }
  return names;
}

bool Documents::shows(const NodeState& state, std::string_view name) const {
  if (!is_document(name)) return false;
  const auto shown = names(state);
  return std::find(shown.begin(), shown.end(), name) != shown.end();
}

bool Documents::is_synthesized(const NodeState& state, const std::string& name) const {
  // Attributes may have come first, and have made a group of the directory.
  if (name == kConsolidated || name == kGroupDocument) return true;
  if (state.kind == NodeState::Kind::kImplicitGroup) return true;
  if (name != kAttributes) return false;
  const Node& node = state.node;
  if (node.group != nullptr) return without_note(node.group->attributes).empty();
  if (node.array == nullptr) return false;
  Json attributes = without_note(node.array->attributes);
  // The mark that a fill value was given here is none that a program has written.
  if (parts_.shared.written.is(state.path, WrittenDocuments::Fact::kMarked)) {
    attributes.erase(kFillAttribute);
  }
  return attributes.empty() && !node.array->document->contains("dimension_names");
}

Result<DocumentText> Documents::text(const NodeState& state, const std::string& name) {
  if (state.kind == NodeState::Kind::kDamaged) return fail(state.error);
  const bool v3_consolidated = parts_.shared.options.format == ViewFormat::kV3 &&
                               state.node.group != nullptr && state.node.group->consolidated;
  if (state.kind == NodeState::Kind::kGroup && (name == kConsolidated || v3_consolidated)) {
    return parts_.consolidation.text(state);
  }
  const ShownDocument* document = state.document(name);
  if (document == nullptr) return DocumentText{};
  return DocumentText{document->text, state.node.status.st_mtim};
}

Result<void> Documents::remove(const NodeState& state, const std::string& name) {
  parts_.overlay.remove_document(state.path, name);
  if (parts_.overlay.is_pending_delete(state.path) || name != kAttributes) return {};
  return parts_.editor.clear_attributes(state.path);
}

}  // namespace zarrfs
