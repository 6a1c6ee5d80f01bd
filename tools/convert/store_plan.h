// What is to be done to convert a store: its arrays as planned, the documents to write, the files
// to copy. Collected once, then only read.
#pragma once

#include <string>
#include <vector>

#include "tools/convert/convert.h"
#include "tools/convert/convert_array.h"
#include "tools/convert/convert_documents.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {

/// How much of the source is listed to plan.
enum class PlanDepth {
  kListed,  ///< The objects of every array.
  kGrids,   ///< None of them: arrays are known by their grids. For one part of several.
  kRest,    ///< As kGrids, and what no part does: files beside an array's objects.
};

struct StorePlan {
  Source source;
  NewDocuments documents;
  std::vector<ArrayWork> arrays = {};
  std::vector<std::string> files = {};            ///< To copy; no documents of nodes.
  std::vector<std::string> others = {};           ///< The same, of kRest only: no part's.
  std::vector<std::string> documents_below = {};  ///< To copy; not of the root.
  std::vector<std::string> documents_at_root = {};
  std::uint64_t changed_groups = 0;
  std::uint64_t changed_arrays = 0;
  std::uint64_t left = 0;  ///< Nodes that do not get the form asked for.

  /// Where no array can be converted, groups do not change their format alone.
  [[nodiscard]] bool nothing_to_do() const {
    return changed_arrays == 0 && (left > 0 || changed_groups == 0);
  }
};

/// Tells on `console` what becomes of each array. `options` outlives the result.
Result<StorePlan> plan_store(const Console& console, const ConversionOptions& options,
                             Source source, PlanDepth depth);

/// Copies and writes the documents of the root, or all others.
Result<void> write_documents(const StorePlan& planned, bool of_root, Target& target);

/// Copies and writes all documents in the order that archives have them in: `zarr.json` of the root
/// first, then those of the other nodes, the upper ones before those below them, then all others.
Result<void> write_documents_in_order(const StorePlan& planned, Target& target);

/// What a check found to differ, as an error.
Error not_right(const std::string& difference);

}  // namespace zarrfs::tools
