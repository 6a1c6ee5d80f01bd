// Goes through the states of a SharedModel: all of them, or some by chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/shared_model.h"

namespace zarrfs::testing {

struct Explored {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  std::uint64_t ends = 0;         ///< States in which nothing can happen any more.
  long double interleavings = 0;  ///< Ways from the first state to one of these.
  bool circular = false;          ///< A state can be reached from itself: the ways are no number.
  std::string fault;              ///< The first that was found, with the steps that lead to it.
  bool gave_up = false;           ///< There are more than `most_states`.
};

/// Every state, by the number of steps that lead to it: a fault is told by the fewest.
Explored explore_all(const SharedModel& model, std::uint64_t most_states);

/// One way from the first state to an end, by chance: `visit` is told each state and the step that
/// led to it. Of one seed it is always the same.
void visit_some(const SharedModel& model, std::uint64_t seed, const SharedModel::Next& visit);

/// Some ways from the first state to an end; those of one seed are always the same.
Explored explore_some(const SharedModel& model, std::uint64_t ways, std::uint64_t seed);

}  // namespace zarrfs::testing
