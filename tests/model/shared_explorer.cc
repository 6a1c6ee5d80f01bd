#include "tests/model/shared_explorer.h"

#include <deque>
#include <random>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace zarrfs::testing {
namespace {

static_assert(std::has_unique_object_representations_v<SharedState>);

struct HashOfState {
  std::size_t operator()(const SharedState& state) const {
    const std::string_view bytes(reinterpret_cast<const char*>(&state), sizeof state);
    return std::hash<std::string_view>()(bytes);
  }
};

class Walk {
 public:
  Walk(const SharedModel& model, std::uint64_t most_states)
      : model_(model), most_states_(most_states) {}

  Explored run() {
    enter(model_.first(), 0);
    for (std::size_t at = 0; at < states_.size() && found_.fault.empty(); ++at) {
      if (states_.size() > most_states_) {
        found_.gave_up = true;
        break;
      }
      look_at(at);
    }
    found_.states = states_.size();
    if (found_.fault.empty() && !found_.gave_up) count_ways();
    return found_;
  }

 private:
  std::uint32_t enter(const SharedState& state, std::uint32_t from) {
    const auto next = static_cast<std::uint32_t>(states_.size());
    const auto [place, fresh] = numbers_.try_emplace(state, next);
    if (!fresh) return place->second;
    states_.push_back(&place->first);
    from_.push_back(from);
    onward_.emplace_back();
    return next;
  }

  void look_at(std::size_t at) {
    const SharedState& state = *states_[at];
    std::string fault = model_.fault_of(state);
    if (fault.empty()) {
      model_.steps(state, [&](const SharedState& after, const std::string&) {
        const std::uint32_t next = enter(after, static_cast<std::uint32_t>(at));
        onward_[at].push_back(next);
      });
      found_.steps += onward_[at].size();
      if (onward_[at].empty()) {
        ++found_.ends;
        fault = model_.fault_at_end(state);
      }
    }
    if (!fault.empty()) found_.fault = fault + "\n" + way_to(static_cast<std::uint32_t>(at));
  }

  /// The steps that lead to a state, a line each.
  std::string way_to(std::uint32_t at) {
    std::deque<std::uint32_t> way = {at};
    while (way.front() != 0) way.push_front(from_[way.front()]);
    std::string lines;
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
      std::string line;
      model_.steps(*states_[way[i]], [&](const SharedState& after, const std::string& what) {
        if (line.empty() && after == *states_[way[i + 1]]) line = what;
      });
      lines += "  " + std::to_string(i + 1) + ". " + line + "\n";
    }
    return lines;
  }

  void count_ways() {
    std::vector<std::uint32_t> coming(states_.size(), 0);
    for (const auto& onward : onward_) {
      for (const std::uint32_t next : onward) ++coming[next];
    }
    std::vector<long double> ways(states_.size(), 0);
    ways[0] = 1;
    std::deque<std::uint32_t> ready = {0};
    std::uint64_t counted = 0;
    for (; !ready.empty(); ready.pop_front(), ++counted) {
      const std::uint32_t at = ready.front();
      if (onward_[at].empty()) found_.interleavings += ways[at];
      for (const std::uint32_t next : onward_[at]) {
        ways[next] += ways[at];
        if (--coming[next] == 0) ready.push_back(next);
      }
    }
    found_.circular = counted != states_.size();
  }

  const SharedModel& model_;
  std::uint64_t most_states_;
  Explored found_;
  std::unordered_map<SharedState, std::uint32_t, HashOfState> numbers_;
  std::vector<const SharedState*> states_;
  std::vector<std::uint32_t> from_;
  std::vector<std::vector<std::uint32_t>> onward_;
};

struct Onward {
  SharedState state;
  std::string what;
};

int disturbances(const SharedState& state) {
  return state.kills + state.fences + state.lost_answers + state.looks;
}

/// What happens next. Disturbances are few: they would all come at the beginning.
const Onward& choose(const SharedState& state, const std::vector<Onward>& onward,
                     std::mt19937_64& random) {
  constexpr int kTries = 4;
  const Onward* chosen = nullptr;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    chosen = &onward[random() % onward.size()];
    if (disturbances(chosen->state) == disturbances(state)) break;
  }
  return *chosen;
}

}  // namespace

Explored explore_all(const SharedModel& model, std::uint64_t most_states) {
  return Walk(model, most_states).run();
}

void visit_some(const SharedModel& model, std::uint64_t seed, const SharedModel::Next& visit) {
  std::mt19937_64 random(seed);
  SharedState state = model.first();
  for (;;) {
    std::vector<Onward> onward;
    model.steps(state, [&](const SharedState& after, const std::string& what) {
      onward.push_back({after, what});
    });
    if (onward.empty()) return;
    const Onward& chosen = choose(state, onward, random);
    visit(chosen.state, chosen.what);
    state = chosen.state;
  }
}

Explored explore_some(const SharedModel& model, std::uint64_t ways, std::uint64_t seed) {
  Explored found;
  for (std::uint64_t way = seed; way < seed + ways && found.fault.empty(); ++way) {
    SharedState last = model.first();
    std::string lines;
    std::string fault;
    visit_some(model, way, [&](const SharedState& state, const std::string& what) {
      if (!fault.empty()) return;
      ++found.steps;
      lines += "  " + what + "\n";
      fault = model.fault_of(state);
      last = state;
    });
    if (fault.empty()) fault = model.fault_at_end(last);
    ++found.ends;
    if (!fault.empty()) {
      found.fault = "seed " + std::to_string(way) + ": " + fault + "\n" + lines;
    }
  }
  found.interleavings = static_cast<long double>(found.ends);
  return found;
}

}  // namespace zarrfs::testing
