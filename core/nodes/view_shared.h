// What the parts of one view share.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/json_fwd.h"
#include "core/chunks/chunk_context.h"
#include "core/chunks/shard_directory.h"
#include "core/chunks/shard_versions.h"
#include "core/metadata/v2_note.h"
#include "core/nodes/path_changes.h"
#include "core/nodes/refusals.h"
#include "core/nodes/reporter.h"
#include "core/nodes/spellings.h"
#include "core/present/profile.h"
#include "core/view/node_numbers.h"

namespace zarrfs {

struct ViewShared : ChunkContext {
  Profile profile;
  /// For arrays that are made in the mount, where the profile was chosen for the store: programs
  /// read them back as they wrote them.
  std::optional<Profile> profile_of_made;
  /// For arrays outside images that the profile, which was chosen for images, would hide.
  std::optional<Profile> profile_of_others;
  std::string profile_because;  ///< Why the profile was chosen; empty where the user did.
  Reporter reporter;
  NodeNumbers numbers;
  std::shared_ptr<ShardListings> listings;
  std::shared_ptr<IndexCache> indexes;
  std::shared_ptr<ShardVersions> versions = std::make_shared<ShardVersions>();
  Spellings spellings;
  Refusals refusals;
  PathChanges path_changes;

  ViewShared(std::shared_ptr<Store> shown, const ViewOptions& chosen, Profile row)
      : ChunkContext{std::move(shown), chosen, std::make_shared<ReadCounters>(), nullptr},
        profile(std::move(row)),
        reporter(chosen.log),
        listings(std::make_shared<ShardListings>(chosen.immutable)),
        indexes(std::make_shared<IndexCache>(chosen.index_cache)) {}

  /// Whether data sets of netCDF-C are shown as it wrote them: to it, or to every reader.
  [[nodiscard]] bool shows_as_netcdf_wrote() const {
    return profile.name == "netcdf" || !profile_because.empty();
  }
  /// How documents with these attributes are spelled, where `ascii` is what the profile asks for.
  [[nodiscard]] TextStyle style_for(const Json& attributes, bool ascii) const {
    TextStyle style = style_of(attributes, ascii);
    const auto& columns = options.columns;
    const bool asked_for = std::any_of(columns.begin(), columns.end(),
                                       [](const auto& column) { return column.first == "ascii"; });
    if (asked_for) style.ascii = ascii;
    return style;
  }
  [[nodiscard]] const Profile& profile_for(const std::string& array_path) const {
    return profile_of_made && spellings.is(array_path, Spellings::Fact::kMade) ? *profile_of_made
                                                                               : profile;
  }
};

}  // namespace zarrfs
