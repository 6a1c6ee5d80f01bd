// A repository of versions as users name it: "icechunk:SOURCE?branch=NAME". Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

/// Which snapshot of a repository is wanted.
struct Revision {
  enum class Kind { kBranch, kTag, kSnapshot };
  Kind kind = Kind::kBranch;
  std::string name = "main";
};
/// For messages: "branch main".
std::string spell_revision(const Revision& revision);

/// A SOURCE taken apart: where the repository lies, as other sources are written, and which
/// revisions are asked for. Of any other source, `place` is all of it.
struct VersionedSource {
  std::string place;
  bool icechunk = false;
  std::vector<Revision> revisions;
};
VersionedSource versioned_source(const std::string& source);

/// The revision that `source` asks for, branch main where it says none; nothing where it is not
/// written "icechunk:". kInvalid where it asks for several, or for an empty name.
Result<std::optional<Revision>> revision_of(const std::string& source);

}  // namespace zarrfs
