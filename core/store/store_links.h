// Symbolic links of a store that are shown as links: the kernel follows them, not zarrfs. And the
// two calls on names of which the file system itself decides, in one place and for all machines,
// whether they are done. Thread-safe, as Store is.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/store/store.h"

namespace zarrfs {

/// A symbolic link itself.
struct Link {
  std::string target;  ///< As it is written.
  struct stat status {};
};

/// Whether a symbolic link at `path` stays within the store, whatever other such links there are:
/// it is relative, goes up no further than to the root, and only before it goes down.
bool leads_within(std::string_view path, std::string_view target);

/// What became of a call whose condition the file system decides.
enum class NameStep {
  kDone,
  kTaken,  ///< There is such a name already.
  kGone,   ///< What it was made of is not there, or the directory is not.
};

/// The part of a Store that knows links. All other functions of a Store take links for what they
/// lead to.
class StoreLinks {
 public:
  virtual ~StoreLinks() = default;
  /// The link that stands at `path`; nothing where there is none that leads_within the store, or
  /// where links may lead out of it.
  virtual Result<std::optional<Link>> link_at(const std::string& path) = 0;
  /// kForbidden where link_at would not tell of it.
  virtual Result<void> make_link(const std::string& path, const std::string& target) = 0;
  /// Changes owner and times of the link itself, with the `times` of utimensat(2).
  virtual Result<void> change_link(const std::string& path, uid_t owner, gid_t group,
                                   const struct timespec (&times)[2]) = 0;
  /// Gives the file `from` another name (link(2)): one of all callers is told kDone.
  virtual Result<NameStep> add_name(const std::string& from, const std::string& to) = 0;
  /// Gives the file `from` the name `to` instead of its own (rename(2)), whatever stands there: one
  /// of all callers is told kDone, and kGone the others.
  virtual Result<NameStep> move_name(const std::string& from, const std::string& to) = 0;
};

/// The links' part of a store; null where it has none.
inline StoreLinks* links_of(Store& store) { return store.links(); }

/// As StoreLinks::link_at; nothing in a store without links.
Result<std::optional<Link>> link_at(Store& store, const std::string& path);

}  // namespace zarrfs
