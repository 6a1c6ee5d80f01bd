// What a user may choose about a view. Plain data, defaults here; fs/options.cc has the table that
// names them for the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zarrfs {

enum class ViewFormat { kV2, kV3 };
enum class Materialise { kOff, kLookup, kList };

struct ViewOptions {
  ViewFormat format = ViewFormat::kV2;
  std::string profile = "generic";  ///< A row of core/view/profile.cc.
  std::optional<char> separator;    ///< Of v2 chunk keys; the profile's or store's where not given.
  std::optional<Materialise> materialise;
  std::vector<std::uint64_t> rechunk;  ///< Empty: not; one number: every axis.
  /// Columns of the profile's row that the user changed: column name -> value.
  std::vector<std::pair<std::string, std::string>> columns;

  bool immutable = false;
  std::size_t index_cache = std::size_t{64} << 20U;    ///< Bytes of shard indexes kept.
  std::uint64_t read_ahead = std::uint64_t{8} << 20U;  ///< Bytes; 0: none.

  /// For presented files: owner and permission bits taken away.
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::uint32_t umask = 022;

  /// Receives one line for each event worth a log line.
  enum class Level { kInfo, kWarning, kError };
  std::function<void(Level, const std::string&)> log = [](Level, const std::string&) {};
};

}  // namespace zarrfs
