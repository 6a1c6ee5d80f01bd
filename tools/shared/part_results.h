// Parts of a work that has no target: each writes what it found to a file, and those are added up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/held_json.h"
#include "core/base/result.h"
#include "tools/shared/part.h"

namespace CLI {
class App;
}

namespace zarrfs::tools {

struct PartOptions {
  std::string part;              ///< "3/64"; empty: all.
  std::string result;            ///< The file that what was found is written to, too.
  std::vector<std::string> sum;  ///< Files to add up, instead of looking.

  [[nodiscard]] Part chosen() const { return parse_part(part).value_or(Part{}); }
  [[nodiscard]] NumberRange range_of(std::uint64_t total) const {
    return range_of_part(total, chosen());
  }
  /// Whether this part is the one that tells of what is no chunk.
  [[nodiscard]] bool tells_of_nodes() const { return chosen().part == 1; }
};

void declare_parts(CLI::App& app, PartOptions& options);
/// What is wrong with them, or that what `needed` names was not given; nothing where all is right.
std::optional<std::string> wrong_parts(const PartOptions& options, bool given,
                                       const std::string& needed);

/// Removes the file that an earlier run of the part has written: one that fails leaves none.
Result<void> forget_part_result(const PartOptions& options);
/// Writes `result` of the part of `command`; the file is whole, or as it was.
Result<void> write_part_result(const PartOptions& options, const std::string& command, Json result);

struct PartResult {
  std::string file;
  HeldJson json;
  [[nodiscard]] Result<std::uint64_t> number(const char* member) const;
  [[nodiscard]] Result<bool> flag(const char* member) const;
  /// Adds what the list `member` has to `list`.
  Result<void> append(const char* member, Json& list) const;
};

/// Results of all parts of one work, by part; kInvalid where one is missing or twice there.
Result<std::vector<PartResult>> read_part_results(const std::vector<std::string>& files,
                                                  const std::string& command);

}  // namespace zarrfs::tools
