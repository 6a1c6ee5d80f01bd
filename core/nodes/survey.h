// A look at a store before it is mounted: what kind of programs it was made for. Bounded, and
// breadth-first, so that what lies near the root decides. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/present/dimension_names.h"
#include "core/present/profile.h"
#include "core/present/view_options.h"
#include "core/store/store.h"
#include "core/zarr/tree.h"

namespace zarrfs {

/// Nodes looked at before a mount, so that it begins at once, and for names of dimensions, which
/// are to be right everywhere.
inline constexpr std::size_t kNodesBeforeMount = 1000;
inline constexpr std::size_t kNodesForDimensions = 20000;

struct Survey {
  struct Array {
    std::string path;
    Node node;
    bool in_image = false;  ///< Some group above has OME-Zarr metadata.
  };
  std::vector<Array> arrays;  ///< Outer ones first.
  /// Groups of which OME-Zarr 0.4 cannot say all, and those of whose images it cannot say where
  /// they lie.
  std::vector<std::string> reduced;
  std::vector<std::string> unplaced;
  std::vector<std::string> unreadable;   ///< Nodes whose document is damaged, or cannot be read.
  std::vector<std::string> unsupported;  ///< Nodes of versions and kinds that zarrfs does not know.
  std::optional<std::string> ome;        ///< The first node with OME-Zarr metadata.
  std::optional<std::string> cf;  ///< The first node that follows the CF conventions, or xarray's.
  /// The first node with attributes that netCDF-C 4.9.0 opens only as text.
  std::optional<std::string> lists;
  bool whole = true;                  ///< Whether all of the store was looked at.
  std::optional<std::string> untold;  ///< The first group of whose nodes nothing tells the names.
};

/// Looks at no more than `most` nodes.
Survey survey_store(Store& store, std::size_t most);

/// The profile for a store, and what speaks for it.
struct ProfileChoice {
  std::string profile;
  std::string because;
};
ProfileChoice choose_for(const Survey& survey);
/// Beside images a store may hold what their readers do not know: the profile for arrays outside of
/// them that the chosen one would hide. Nothing where no image was met.
std::optional<Profile> profile_of_others(const Survey& survey, const ProfileChoice& choice);

/// How many arrays were seen, for the user: "3 arrays".
std::string contents_of(const Survey& survey);

/// What is not shown as it might be expected.
struct Shortcomings {
  std::string text;                ///< For the user; empty where there is none.
  std::vector<std::string> paths;  ///< Of the nodes.
};
/// Nodes that cannot be read, arrays that are hidden or not re-chunked, groups of which OME-Zarr
/// 0.4 cannot say all. What `profile` would hide outside images is shown by `of_others`, if there
/// is one.
Shortcomings shortcomings(const Survey& survey, const Profile& profile,
                          const std::optional<Profile>& of_others, const ViewOptions& options);

}  // namespace zarrfs
