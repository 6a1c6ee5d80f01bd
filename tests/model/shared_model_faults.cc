// What must hold in each state of a SharedModel.
#include "tests/model/shared_model.h"
#include "tests/model/shared_sets.h"

namespace zarrfs::testing {

/// What is wrong with a payload that a record has.
std::string SharedModel::fault_of_generation(const SharedState& state,
                                             const Payload& payload) const {
  const int shard = payload.shard;
  const std::uint8_t number = payload.generation == 1
                                  ? static_cast<std::uint8_t>(shard + 1)
                                  : state.records[shard][payload.generation - 1];
  if (number == 0) return {};  // removed, where that is the planted fault
  const Payload& before = state.payloads[number];
  const std::string name = generation_name(shard, payload.generation);
  const std::uint8_t fresh = without(payload.notes, before.notes);
  if (without(before.notes, payload.notes) != 0) {
    return name + " has lost " + draft_names(without(before.notes, payload.notes));
  }
  for (int chunk = 0; chunk < kChunksOfShard; ++chunk) {
    const std::uint8_t now = payload.chunks[chunk];
    const std::string where = name + ": chunk " + std::to_string(chunk);
    bool given = false;
    for (int draft = 0; draft < static_cast<int>(scenario_.writes.size()); ++draft) {
      given = given || (has(fresh, draft) && scenario_.writes[draft].chunk == chunk);
    }
    if (!given && now != before.chunks[chunk]) {
      return where + " is another than in the generation before, and no draft was given for it";
    }
    if (!given) continue;
    const bool one_of_them = now < kMostDrafts && has(fresh, now);
    if (!one_of_them) return where + " is none of those that were given to it";
    if (truly_speaks_for(before.notes, now)) {
      return where + " has gone back to d" + std::to_string(now) +
             ", which its writer has replaced";
    }
    for (int later = now + 1; later < static_cast<int>(scenario_.writes.size()); ++later) {
      if (has(payload.notes, later) && replaces(later, now)) {
        return where + " has gone back to d" + std::to_string(now) +
               ", which its program has replaced by way of another writer";
      }
    }
  }
  return {};
}

/// What is wrong with a draft that was acknowledged.
std::string SharedModel::fault_of_draft(const SharedState& state, int draft) const {
  const int shard = scenario_.writes[draft].shard;
  const std::uint8_t tip = state.records[shard][state.tips[shard]];
  if (state.tips[shard] > 0 && truly_speaks_for(state.payloads[tip].notes, draft)) return {};
  if (state.tips[shard] > 0 && is_overtaken(state, draft, tip)) return {};
  for (const WritersLog& log : state.logs) {
    const bool read = log.token == Token::kAlive || log.token == Token::kTaken;
    if (read && truly_speaks_for(log.synced, draft)) return {};
  }
  return "d" + std::to_string(draft) +
         " was acknowledged, and is in no generation and in no log that will be read";
}

/// When the epoch is closed, the shards' names alone have what was acknowledged.
std::string SharedModel::fault_when_closed(const SharedState& state) const {
  for (int draft = 0; draft < static_cast<int>(scenario_.writes.size()); ++draft) {
    const std::uint8_t shown = state.names[scenario_.writes[draft].shard];
    if (has(state.acknowledged, draft) && !truly_speaks_for(state.payloads[shown].notes, draft) &&
        !is_overtaken(state, draft, shown)) {
      return "d" + std::to_string(draft) + " was acknowledged, and was not there when the epoch " +
             "was closed";
    }
  }
  return {};
}

std::string SharedModel::fault_of(const SharedState& state) const {
  if (state.went_back) return "the shard's name went back to an earlier generation";
  if (state.reader.step == 2 && state.reader.index_of != state.reader.chunk_of) {
    return "a reader has seen a mixed shard: the index of " + payload_name(state.reader.index_of) +
           ", a chunk of " + payload_name(state.reader.chunk_of);
  }
  if (state.epoch != Epoch::kOpen) return fault_when_closed(state);
  for (int draft = 0; draft < static_cast<int>(scenario_.writes.size()); ++draft) {
    if (!has(state.acknowledged, draft)) continue;
    if (std::string fault = fault_of_draft(state, draft); !fault.empty()) return fault;
  }
  for (int shard = 0; shard < scenario_.shards; ++shard) {
    for (int generation = 1; generation <= state.tips[shard]; ++generation) {
      const std::uint8_t number = state.records[shard][generation];
      if (number == 0) continue;
      std::string fault = fault_of_generation(state, state.payloads[number]);
      if (!fault.empty()) return fault;
      if (generation == state.tips[shard] && !state.payloads[number].kept) {
        return generation_name(shard, generation) + " is the tip, and its payload is gone";
      }
    }
  }
  return {};
}

std::string SharedModel::fault_at_end(const SharedState& state) const {
  if (state.out_of_bounds) return "the scenario needs more than the model has";
  bool alive = false;
  for (const Machine& machine : state.machines) {
    alive = alive || machine.lives;
    if (machine.lives && machine.at != At::kIdle) return "a writer cannot go on";
  }
  if (!alive) return {};  // the next mount takes what they left
  for (int number = 0; number < kMostLogs; ++number) {
    const WritersLog& log = state.logs[number];
    const bool open = log.token == Token::kAlive || log.token == Token::kTaken;
    if (open && (log.puts != 0 || log.published != 0)) {
      return "log " + std::to_string(number) + " has drafts, and nobody takes it";
    }
  }
  for (int shard = 0; shard < scenario_.shards; ++shard) {
    const std::uint8_t tip = state.records[shard][state.tips[shard]];
    if (state.tips[shard] > 0 && state.names[shard] != tip) {
      return "the name of shard " + std::to_string(shard) + " does not lead to its tip";
    }
  }
  return {};
}

}  // namespace zarrfs::testing
