// What a user may choose about a view. Plain data, defaults here; fs/options/options.cc has the
// table that names them for the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/zarr/shard_form.h"

namespace zarrfs {

enum class ViewFormat { kV2, kV3 };
enum class Materialise { kOff, kLookup, kList };

/// How a view writes.
struct Writing {
  std::chrono::milliseconds flush_after{5000};  ///< A shard quiet this long is rewritten.
  std::uint64_t write_buffer = std::uint64_t{256} << 20U;  ///< Bytes of memory.
  bool flush_at_close = false;                             ///< Every close rewrites the shard.
  bool validate = true;  ///< Bytes that cannot be a chunk are kept out of shards.
  bool may_delete = true;
  bool drop_foreign = false;    ///< Shards that are HDF5 or TIFF files too become shards only.
  bool commit_at_sync = false;  ///< Every fsync rewrites the shard.
  bool hold_conflicts = false;  ///< At a server, a chunk that another writer wrote stays his.
  std::uint64_t most_unpublished = 0;  ///< Bytes in shards that are not committed; 0: any.
  bool may_begin = false;              ///< A store in a directory that holds other things.
  ShardForm shards;                    ///< Of new arrays.
};

struct ViewOptions {
  ViewFormat format = ViewFormat::kV2;
  std::string profile = "generic";  ///< A row of core/present/profile.cc.
  std::optional<char> separator;    ///< Of v2 chunk keys; the profile's or store's if not given.
  std::optional<Materialise> materialise;
  std::vector<std::uint64_t> rechunk;  ///< Empty: not; one number: every axis.
  /// Columns of the profile's row that the user changed: column name -> value.
  std::vector<std::pair<std::string, std::string>> columns;

  std::optional<Writing> writing;  ///< Nothing: the view only reads.

  bool immutable = false;
  std::size_t index_cache = std::size_t{64} << 20U;       ///< Bytes of shard indexes kept.
  std::uint64_t node_memory = std::uint64_t{128} << 20U;  ///< Bytes of nodes kept.
  std::uint64_t name_memory = std::uint64_t{256} << 20U;  ///< Bytes of what the kernel knows.
  std::uint64_t decoded_kept = std::uint64_t{64} << 20U;  ///< Bytes of decoded chunks kept.
  /// What `memory=` allows each part, for statistics: name -> bytes.
  std::vector<std::pair<std::string, std::uint64_t>> memory_bounds;
  std::uint64_t read_ahead = std::uint64_t{8} << 20U;  ///< Bytes; 0: none.
  bool direct_io = false;  ///< Large chunks of a local file are read past the kernel's cache.

  /// For presented files: owner and permission bits taken away.
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::uint32_t umask = 022;

  /// Receives one line for each event worth a log line.
  enum class Level { kInfo, kWarning, kError };
  std::function<void(Level, const std::string&)> log = [](Level, const std::string&) {};
};

}  // namespace zarrfs
