// How a remote store is reached and kept: one table of options, which mounts and commands share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace zarrfs {

struct RemoteOptions {
  std::string endpoint;  ///< URL of a server that speaks S3; empty: AWS_ENDPOINT_URL, or Amazon's.
  std::string region;    ///< Empty: AWS_REGION, the profile's, or us-east-1.
  std::string profile;   ///< Of ~/.aws; empty: AWS_PROFILE, or "default".
  bool anonymous = false;
  bool requester_pays = false;
  std::optional<bool> path_style;  ///< Whether the bucket is part of the path, not of the host.
  std::string ca_file;
  bool absent_403 = false;  ///< "Forbidden" means that there is no such key.
  std::string cache;        ///< Directory of the cache on disk; empty: none.
  std::uint64_t cache_size = std::uint64_t{10} << 30U;
  std::uint64_t memory_cache = std::uint64_t{256} << 20U;
  std::uint64_t connections = 48;
  double deadline = 60;    ///< Seconds until a request that fails again and again is an error.
  double revalidate = 10;  ///< Seconds for which what was seen is taken for what is.
  /// Seconds for which it is shown after that, while the server does not answer.
  double stale_if_error = 3600;
  // Not in the table: mounts have them.
  std::uint64_t bodies = std::uint64_t{256} << 20U;  ///< Bytes of answers that are on their way.
  std::uint64_t table_memory = std::uint64_t{256} << 20U;  ///< What is known of objects.
  bool immutable = false;                                  ///< Nothing in the store changes.
  bool write = false;                                      ///< Buckets are written to.
  std::string spool;             ///< Directory for what is not at the server yet; empty: the usual.
  bool spool_in_memory = false;  ///< It may lie in memory.
  std::function<void(const std::string& line)> tell;  ///< What a user should know; may be empty.
};

struct RemoteOption {
  std::string name;
  std::string argument;       ///< What follows "="; empty: a flag.
  std::string default_value;  ///< As text; empty where there is none to name.
  std::string help;           ///< One phrase, with the unit.
  Result<void> (*set)(RemoteOptions&, const std::string& value);
};

/// In the order in which they are documented.
const std::vector<RemoteOption>& remote_options();

/// Applies "endpoint=http://localhost:9000,anonymous". kInvalid, naming option and value.
Result<void> apply_remote_options(RemoteOptions& options, std::string_view list);

}  // namespace zarrfs
