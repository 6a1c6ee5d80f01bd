// The places at which the chunks of a store lie that lie elsewhere, and which of them it may ask.
// Asks none of them. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/chunks_elsewhere.h"

namespace zarrfs {

struct VirtualPlace {
  std::string name;  ///< For messages: "s3://bucket", or a folder.
  std::uint64_t chunks = 0;
  std::string url;         ///< The first one that lies there.
  std::string allowed_by;  ///< The prefix; empty where nothing may be asked there.
  std::string refusal;     ///< Why not.
};

struct VirtualSurvey {
  std::uint64_t chunks = 0;
  /// Those that may be asked first, then by the number of their chunks. A place of which a part is
  /// allowed is there twice.
  std::vector<VirtualPlace> places;
  std::uint64_t chunks_at_others = 0;  ///< Where there are more places than are told apart.
  std::string left_out;                ///< What was not looked at; empty where nothing was.
  std::optional<Error> error;          ///< Why the rest could not be looked at.
};
inline constexpr std::size_t kMostVirtualPlaces = 1000;

VirtualSurvey survey_places(ChunksElsewhere& elsewhere);

}  // namespace zarrfs
