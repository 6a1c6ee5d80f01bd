// Files of references, of any bytes: parsed, and read as a mount reads them.
#include "core/formats/references/documents_of_v2.h"
#include "core/formats/references/reference_file.h"
#include "core/formats/virtual_targets.h"
#include "tests/fuzz/input.h"

using zarrfs::fuzz::require;

namespace {

/// What is told of a directory is there.
void walk(const zarrfs::ReferenceTable& table, const std::string& path, int depth) {
  const auto children = table.children(path);
  for (std::size_t i = 0; i < children.size() && i < 16; ++i) {
    const std::string below = path.empty() ? children[i].name : path + "/" + children[i].name;
    require(children[i].directory ? table.any_below(below) : table.find(below).has_value());
    if (children[i].directory && depth < 8) walk(table, below, depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zarrfs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = parse_references(text, "refs.json");
  if (!table) return 0;
  static const auto kTargets = VirtualTargets::make("/nowhere", {});
  walk(**table, "", 0);
  for (const ReferenceTable::Child& child : (*table)->children("")) {
    for (const std::string& key : {child.name, child.name + "/.zarray", child.name + "/0"}) {
      const auto reference = (*table)->find(key);
      if (!reference) continue;
      if (reference->kind != Reference::Kind::kInline) {
        require(!(*kTargets)->find(reference->url));
        continue;
      }
      static_cast<void>(inline_bytes(*reference));
      static_cast<void>(told_array(reference->text, reference->text, child.name));
      static_cast<void>(told_group(reference->text, reference->text, child.name));
    }
  }
  return 0;
}
