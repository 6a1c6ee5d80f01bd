// Sets of small numbers, a bit each, and names of what a SharedState has.
#pragma once

#include <cstdint>
#include <string>

#include "tests/model/shared_model.h"

namespace zarrfs::testing {

constexpr std::uint8_t bit(int number) { return static_cast<std::uint8_t>(1U << number); }

inline bool has(std::uint8_t set, int number) { return (set & bit(number)) != 0; }

inline void add(std::uint8_t& set, std::uint8_t more) {
  set = static_cast<std::uint8_t>(set | more);
}

inline void drop(std::uint8_t& set, std::uint8_t less) {
  set = static_cast<std::uint8_t>(set & static_cast<std::uint8_t>(~less));
}

inline std::uint8_t without(std::uint8_t set, std::uint8_t less) {
  drop(set, less);
  return set;
}

inline int log_of(int machine, const Machine& its) { return machine * kLogsOfWriter + its.log; }

inline std::string payload_name(int payload) { return "P" + std::to_string(payload); }

inline std::string generation_name(int shard, int generation) {
  return "record " + std::to_string(shard) + "." + std::to_string(generation);
}

inline std::string draft_names(std::uint8_t drafts) {
  std::string names;
  for (int draft = 0; draft < kMostDrafts; ++draft) {
    if (has(drafts, draft)) names += (names.empty() ? "d" : " d") + std::to_string(draft);
  }
  return names.empty() ? "nothing" : names;
}

}  // namespace zarrfs::testing
