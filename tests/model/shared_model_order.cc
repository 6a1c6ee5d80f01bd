// Which drafts notes speak for, and which are older than others, in a SharedModel.
#include "tests/model/shared_model.h"
#include "tests/model/shared_sets.h"

namespace zarrfs::testing {

/// Whether these notes say that the draft, or a later one in its place, was put.
bool SharedModel::truly_speaks_for(std::uint8_t notes, int draft) const {
  const Write& write = scenario_.writes[draft];
  for (int other = draft; other < static_cast<int>(scenario_.writes.size()); ++other) {
    const Write& later = scenario_.writes[other];
    const bool same =
        later.writer == write.writer && later.shard == write.shard && later.chunk == write.chunk;
    if (same && has(notes, other)) return true;
  }
  return false;
}

bool SharedModel::speaks_for(std::uint8_t notes, int draft) const {
  if (is_planted(Planted::kNotesOfOneSequence)) return has(notes, draft);
  if (!is_planted(Planted::kNotesSpeakForAll)) return truly_speaks_for(notes, draft);
  const Write& write = scenario_.writes[draft];
  for (int other = draft; other < static_cast<int>(scenario_.writes.size()); ++other) {
    const Write& later = scenario_.writes[other];
    if (later.writer == write.writer && later.shard == write.shard && has(notes, other)) {
      return true;
    }
  }
  return false;
}

/// Of each chunk the latest draft of each writer.
std::uint8_t SharedModel::without_older(std::uint8_t drafts) const {
  std::uint8_t latest = drafts;
  for (int draft = 0; draft < static_cast<int>(scenario_.writes.size()); ++draft) {
    if (truly_speaks_for(without(drafts, bit(draft)), draft)) drop(latest, bit(draft));
  }
  return latest;
}

bool SharedModel::is_same_chunk(int draft, int other) const {
  const Write& one = scenario_.writes[draft];
  const Write& two = scenario_.writes[other];
  return one.shard == two.shard && one.chunk == two.chunk;
}

/// Whether another writer writes the chunk, too.
bool SharedModel::is_contested(int draft) const {
  for (int other = 0; other < static_cast<int>(scenario_.writes.size()); ++other) {
    const bool same_writer = scenario_.writes[other].writer == scenario_.writes[draft].writer;
    if (!same_writer && is_same_chunk(draft, other)) return true;
  }
  return false;
}

/// Whether a program has written `later` after `draft`, when the writer of that was dead.
bool SharedModel::replaces(int later, int draft) const {
  while (later >= 0 && later != draft) later = scenario_.writes[later].follows;
  return later == draft;
}

/// Whether the chain that ends with this payload has a draft of another writer that was put after
/// `draft` was written, and is newer. What was put from a log is newer if clocks say so: they are
/// right where a program has seen one writer die and goes on with the other.
bool SharedModel::is_overtaken(const SharedState& state, int draft, std::uint8_t payload) const {
  for (; state.payloads[payload].generation > state.seen[draft];
       payload = state.payloads[payload].before) {
    const Payload& chain = state.payloads[payload];
    const std::uint8_t fresh = without(chain.notes, state.payloads[chain.before].notes);
    for (int other = 0; other < static_cast<int>(scenario_.writes.size()); ++other) {
      const bool same_writer = scenario_.writes[other].writer == scenario_.writes[draft].writer;
      if (same_writer || !has(fresh, other) || !is_same_chunk(draft, other)) continue;
      const bool later = replaces(other, draft) || (!replaces(draft, other) && other > draft);
      if (!has(chain.taken, other) || later) return true;
    }
  }
  return false;
}

/// The same as a taker finds it.
bool SharedModel::is_left(const SharedState& state, int draft, std::uint8_t payload) const {
  if (is_planted(Planted::kTakerPutsOver)) return false;
  if (!is_planted(Planted::kLatePutIsNew)) return is_overtaken(state, draft, payload);
  SharedState late = state;
  for (Payload& one : late.payloads) one.taken = 0;
  return is_overtaken(late, draft, payload);
}

}  // namespace zarrfs::testing
