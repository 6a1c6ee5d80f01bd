// The documents that a conversion makes, and how they are spelled (core/metadata/v2_note.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/metadata/v2_note.h"
#include "tools/convert/convert_plan.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {

/// Collects documents, then writes them. One thread at a time.
class NewDocuments {
 public:
  explicit NewDocuments(const Form& form) : form_(form) {}

  /// A document of Zarr v2; `style` is of its attributes.
  void add_v2(std::string path, Json contents, TextStyle style = {});
  /// Where `zarr.json` of the result is from.
  enum class Origin {
    kCopied,       ///< The source has it so: only consolidated metadata need it.
    kMade,         ///< It is made here.
    kConsolidated  ///< It is made here, with what was and will be added below it.
  };
  /// `zarr.json` of the node at `path`. Without sharding its attributes are spelled as their note
  /// says, and have none. `bare`: its bare numbers are stored so. False if it is to be copied.
  bool add_v3(const std::string& path, Json contents, Origin origin, bool bare);
  /// The group at `path` has `.zmetadata` of all that was and will be added below it.
  void add_zmetadata(const std::string& path) { consolidated_.push_back(path); }

  /// The paths of all of them.
  [[nodiscard]] std::vector<std::string> paths() const;
  /// Writes the one at `paths()[which]`.
  Result<void> write_one(Target& target, std::size_t which) const;
  /// Writes those of the root if `of_root`, all others if not.
  Result<void> write(Target& target, bool of_root) const;

 private:
  struct Document {
    std::string path;
    Json contents;
    TextStyle style;
  };

  [[nodiscard]] std::string consolidated_path(const std::string& group) const;
  Result<void> write_new(Target& target, const Document& document) const;
  Result<void> write_consolidating(Target& target, const std::string& group) const;
  Result<void> write_zmetadata(Target& target, const std::string& group) const;
  Result<void> write_consolidated(Target& target, const std::string& group) const;

  const Form& form_;
  std::vector<Document> new_;
  std::map<std::string, Document> nodes_;  // every `zarr.json` of the result, by its node's path
  std::vector<std::string> consolidated_;
};

}  // namespace zarrfs::tools
