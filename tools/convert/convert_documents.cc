#include "tools/convert/convert_documents.h"

#include <utility>

#include "core/base/json.h"
#include "core/present/consolidated.h"

namespace zarrfs::tools {
namespace {

/// Where the attributes are in a document, as a JSON pointer.
const char* attributes_in(const std::string& path) {
  return path.ends_with("zarr.json") ? kAttributesPointer : "";
}

bool lies_below(const std::string& path, const std::string& group) {
  return group.empty() ? !path.empty()
                       : path.size() > group.size() + 1 && path.starts_with(group + "/");
}

std::string relative(const std::string& path, const std::string& group) {
  return group.empty() ? path : path.substr(group.size() + 1);
}

}  // namespace

void NewDocuments::add_v2(std::string path, Json contents, TextStyle style) {
  new_.push_back({std::move(path), std::move(contents), std::move(style)});
}

bool NewDocuments::add_v3(const std::string& path, Json contents, Origin origin, bool bare) {
  Document document{
      .path = join_path(path, "zarr.json"), .contents = std::move(contents), .style = {}};
  if (document.contents.contains("attributes")) {
    Json& attributes = document.contents["attributes"];
    const bool plain = form_.kind == Form::Kind::kPlain;
    if (plain || bare) add_bare(attributes, "", document.style);
    if (bare) note("bare", Json(), attributes);
    const bool has_note = attributes.contains(kNoteAttribute);
    if (plain && has_note && origin == Origin::kCopied) origin = Origin::kMade;
    if (plain) attributes = without_note(std::move(attributes));
  }
  if (origin == Origin::kMade) new_.push_back(document);
  if (origin == Origin::kConsolidated) consolidated_.push_back(path);
  nodes_[path] = std::move(document);
  return origin != Origin::kCopied;
}

std::vector<std::string> NewDocuments::paths() const {
  std::vector<std::string> paths;
  for (const Document& document : new_) paths.push_back(document.path);
  for (const std::string& group : consolidated_) paths.push_back(consolidated_path(group));
  return paths;
}

Result<void> NewDocuments::write_one(Target& target, std::size_t which) const {
  if (which < new_.size()) return write_new(target, new_[which]);
  return write_consolidating(target, consolidated_[which - new_.size()]);
}

Result<void> NewDocuments::write(Target& target, bool of_root) const {
  for (const Document& document : new_) {
    if (parent_path(document.path).empty() != of_root) continue;
    ZARRFS_CHECK(write_new(target, document));
  }
  for (const std::string& group : consolidated_) {
    if (group.empty() != of_root) continue;
    ZARRFS_CHECK(write_consolidating(target, group));
  }
  return {};
}

std::string NewDocuments::consolidated_path(const std::string& group) const {
  return join_path(group, form_.kind == Form::Kind::kPlainV2 ? ".zmetadata" : "zarr.json");
}

Result<void> NewDocuments::write_new(Target& target, const Document& document) const {
  return target.write_document(
      document.path, styled_text(document.contents, document.style, attributes_in(document.path)));
}

Result<void> NewDocuments::write_consolidating(Target& target, const std::string& group) const {
  const bool v2 = form_.kind == Form::Kind::kPlainV2;
  return v2 ? write_zmetadata(target, group) : write_consolidated(target, group);
}

Result<void> NewDocuments::write_consolidated(Target& target, const std::string& group) const {
  Document document = nodes_.at(group);
  for (std::string& bare : document.style.bare) bare.insert(0, kAttributesPointer);
  std::vector<std::pair<std::string, Json>> below;
  for (const auto& [path, node] : nodes_) {
    if (!lies_below(path, group)) continue;
    below.emplace_back(relative(path, group), node.contents);
    const std::string attributes = consolidated_attributes(relative(path, group));
    for (const std::string& bare : node.style.bare) {
      document.style.bare.push_back(attributes + bare);
    }
  }
  document.contents["consolidated_metadata"] = inline_consolidated(std::move(below));
  return target.write_document(document.path, styled_text(document.contents, document.style));
}

Result<void> NewDocuments::write_zmetadata(Target& target, const std::string& group) const {
  ConsolidatedText text;
  for (const Document& document : new_) {
    const std::string directory = parent_path(document.path);
    if (directory != group && !lies_below(directory, group)) continue;
    const std::string name = last_name(document.path);
    text.add(directory == group ? "" : relative(directory, group), name,
             styled_line(document.contents, document.style));
  }
  return target.write_document(consolidated_path(group), std::move(text).finish());
}

}  // namespace zarrfs::tools
