// What a conversion makes of one array: pure decisions, as data. No I/O. Immutable; thread-safe.
// Source: ZEP 2 (sharding_indexed).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/present/presentation.h"
#include "core/zarr/shard_form.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {

/// The form that a conversion gives to arrays.
struct Form {
  enum class Kind {
    kSharded,    ///< Plain arrays become sharded.
    kResharded,  ///< Sharded arrays get another shard shape.
    kPlain,      ///< Sharded arrays become plain ones of Zarr v3.
    kPlainV2,    ///< All arrays become plain ones of Zarr v2.
  };
  Kind kind = Kind::kSharded;
  ShardForm shards = {};

  /// "shard", "reshard", "unshard".
  [[nodiscard]] const char* command() const;
  /// Names the form, for recognising an interrupted conversion.
  [[nodiscard]] Json json() const;
  [[nodiscard]] bool sharding() const { return kind == Kind::kSharded || kind == Kind::kResharded; }
};

/// Whether the user has said how large shards are to be.
bool names_shards(const ShardForm& form);

struct ArrayPlan {
  enum class Action {
    kKeep,     ///< Its chunks are copied as they are.
    kShard,    ///< Chunks are gathered in new shards.
    kUnshard,  ///< Each chunk becomes a file.
  };
  Action action = Action::kKeep;
  /// Why it is kept, or what it becomes: for the report.
  std::string reason;
  /// Kept although another form was asked for.
  bool left = false;
  /// The metadata of the result: zarr.json, or .zarray with `attributes`. Null where the
  /// source's documents are copied.
  Json document;
  Json attributes;
  /// The result as v3 metadata, for kShard and, unless v2 is made, kUnshard.
  std::shared_ptr<const ArrayMetadata> metadata;
  std::shared_ptr<const Layout> layout;
};

/// Plans the conversion of an array to `form` (not kPlainV2: see plan_v2).
Result<ArrayPlan> plan_array(const SourceArray& array, const Form& form);

/// Plans the conversion of an array to v2, as `shown` has it.
ArrayPlan plan_v2(const SourceArray& array, const Presentation& shown);

}  // namespace zarrfs::tools
