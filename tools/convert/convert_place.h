// Where the result of a conversion is written, and how it takes its place. Local directories only.
// One thread at a time.
//
// In place, the result of converting DIR is made in DIR.zarrfs-new. When it is complete the two
// names are exchanged in one step, and then the old store is removed. The marker .zarrfs-conversion
// lies in the result from the first moment until nothing of the old store is left, so that at any
// time one can tell which of the two is which.
#pragma once

#include <string>

#include "core/base/fd.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/store/own_names.h"

namespace zarrfs::tools {

/// The member of a marker that tells that several machines may make the result, each some parts.
inline constexpr const char* kPlanMember = "plan";
/// A plan in parts names every array.
inline constexpr std::size_t kLargestMarker = std::size_t{64} << 20U;
/// Whether a marker stands for a conversion of `source_path`. A name that is no UTF-8 stands in a
/// marker as JSON can hold it.
bool made_from(const std::string& marker, const std::string& source_path);
/// What stands at `path` is the unfinished result of a conversion that is not asked for: `marker`
/// tells of which, `ours` is that of the one asked for.
tl::unexpected<Error> another_conversion(const std::string& path, const std::string& marker,
                                         const std::string& ours);
/// Whether a marker that a zarrfs before 0.3 wrote stands for the conversion that `description`
/// names: it is gone on with.
bool is_marker_of_0_2(const std::string& marker, const Json& description);
/// The command of a marker's conversion, as users give it, for messages: "zarrfs shard /a
/// --shard-chunks 2x2".
std::string told_by_marker(const std::string& text);

/// Makes the directory of a local TARGET, or lets the one be that is there; none above it.
Result<void> make_target_directory(const std::string& path);

class ConversionPlace {
 public:
  /// Finds nothing where the result is going to be, or what an earlier run of the conversion that
  /// `description` names has left, which is locked then. Writes nothing. kExists where something
  /// else stands there; kBusy where another process is at it.
  static Result<ConversionPlace> find(const std::string& source_path,
                                      const std::string& target_path, bool in_place,
                                      const Json& description);
  /// Makes the result's directory, or goes on in the one that was found.
  Result<void> begin();

  /// Where to write.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether an earlier run may have left pieces here.
  [[nodiscard]] bool resumed() const { return resumed_; }
  /// The result, complete and durable, takes its place; the old store, in place, is removed.
  Result<void> finish();

  /// Where an earlier run in place got as far as exchanging the names, finishes it. kExists where
  /// `source_path` is itself the unfinished result of a conversion, and lacks what is to come.
  static Result<void> finish_earlier(const std::string& source_path, bool in_place);

  /// Removes what an unfinished conversion of `source_path` left; false where nothing was left.
  /// Nothing else is touched: kExists where something else stands there, kBusy where another
  /// process is at it.
  static Result<bool> discard(const std::string& source_path, const std::string& target_path,
                              bool in_place);

 private:
  std::string path_;
  std::string source_path_;
  std::string marker_;  ///< What it says.
  bool in_place_ = false;
  bool resumed_ = false;
  Fd lock_;
};

}  // namespace zarrfs::tools
