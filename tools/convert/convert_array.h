// The conversion of one array's chunks, in pieces that are independent of each other: each can be
// made, made again after an interruption, and checked, in any order and from several threads.
// Source: ZEP 2 ("Binary shard format"): new shards hold their chunks in C order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/present/presentation.h"
#include "tools/convert/convert_plan.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {

class Conversion {
 public:
  virtual ~Conversion() = default;
  [[nodiscard]] virtual std::uint64_t pieces() const = 0;
  /// Makes piece `piece`. Returns the bytes written.
  virtual Result<std::uint64_t> make(std::uint64_t piece) = 0;
  /// What of the piece differs from the source; empty where nothing does. Compares presence and
  /// sizes of chunks, and with `bytes` the bytes themselves.
  virtual Result<std::string> check(std::uint64_t piece, bool bytes) = 0;
};

/// Gathers chunks in the shards of `plan.layout`. A piece is one new shard. `cells` are those of
/// the shards of the source.
std::unique_ptr<Conversion> shard_conversion(const Source& source, const SourceArray& array,
                                             const ArrayPlan& plan,
                                             const std::vector<std::uint64_t>& cells,
                                             Target& target);

/// Writes each chunk as a file of `plan`'s v3 array. A piece is one shard of the source.
std::unique_ptr<Conversion> unshard_conversion(const Source& source, const SourceArray& array,
                                               const ArrayPlan& plan,
                                               std::vector<std::uint64_t> cells, Target& target);

/// Writes each chunk as `shown` shows it. A piece is one place for a shard of the source.
std::unique_ptr<Conversion> shown_conversion(const Source& source, const SourceArray& array,
                                             Presentation shown, std::vector<std::uint64_t> cells,
                                             Target& target);

/// Copies files that stay as they are. A piece is one file.
std::unique_ptr<Conversion> copy_conversion(const Source& source, std::vector<std::string> files,
                                            Target& target);

}  // namespace zarrfs::tools
