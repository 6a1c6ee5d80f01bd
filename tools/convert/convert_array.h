// The conversion of one array's chunks, in pieces that are independent of each other: each can be
// made, made again after an interruption, and checked, in any order and from several threads.
// Source: ZEP 2 ("Binary shard format"): new shards hold their chunks in C order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/present/presentation.h"
#include "tools/convert/convert_plan.h"
#include "tools/shared/console.h"
#include "tools/shared/target.h"

namespace zarrfs::tools {

/// An array whose objects are to be made or copied.
struct ArrayWork {
  SourceArray array;
  ArrayPlan plan;
  std::optional<Presentation> shown;  ///< Of an array that becomes v2.
  bool copied = false;                ///< Its objects stay as they are.
  std::vector<std::uint64_t> cells;   ///< Of the objects of the source, where they were listed.
};

/// The objects and bytes of a piece in the target.
struct Made {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

class Conversion {
 public:
  virtual ~Conversion() = default;
  [[nodiscard]] virtual std::uint64_t pieces() const = 0;
  virtual Result<Made> make(std::uint64_t piece) = 0;
  /// The piece as it is in the target, where it is complete there, as names, sizes and indexes
  /// tell; nothing where it has to be made.
  virtual Result<std::optional<Made>> found(std::uint64_t piece) = 0;
  /// How the piece differs from the source; empty if it does not. Compares presence and
  /// sizes of chunks, and with `bytes` the bytes themselves.
  virtual Result<std::string> check(std::uint64_t piece, bool bytes) = 0;
};

/// The grid whose cells are the pieces of an array: a shard of the result where shards are made, a
/// place for an object of the source where not.
const Grid& grid_of_pieces(const ArrayWork& work);
/// Whether every chunk becomes a file, also one that is missing: then a piece is one chunk.
bool makes_all_chunks(const ArrayWork& work);
/// How many pieces there can be; nothing where 64 bits do not hold it.
std::optional<std::uint64_t> count_pieces(const ArrayWork& work);
/// The pieces, by number, that hold something of the source's objects `cells`, in order.
std::vector<std::uint64_t> pieces_of(const ArrayWork& work, std::vector<std::uint64_t> cells);

/// Makes the pieces `numbers` of an array.
std::unique_ptr<Conversion> array_conversion(const Source& source, const ArrayWork& work,
                                             std::vector<std::uint64_t> numbers, Target& target);

using Conversions = std::vector<std::unique_ptr<Conversion>>;

/// Calls `work` for every piece of `conversions`, from several threads, with a bar named `what`;
/// stops at the first error.
Result<void> for_each_piece(
    const Console& console, const std::string& what, unsigned threads,
    const Conversions& conversions,
    const std::function<Result<void>(Conversion&, std::uint64_t piece)>& work);

/// Copies files that stay as they are. A piece is one file.
std::unique_ptr<Conversion> copy_conversion(const Source& source, std::vector<std::string> files,
                                            Target& target);

}  // namespace zarrfs::tools
