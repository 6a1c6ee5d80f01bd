#include "tests/model/shared_model.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tests/model/shared_sets.h"

namespace zarrfs::testing {
namespace {

/// The payload takes the shard's name, if its way out is there still.
std::string take_name(SharedState& state, std::uint8_t number) {
  Payload& payload = state.payloads[number];
  const std::string call = "renames " + payload_name(number) + " to the shard's name: ";
  if (!payload.way_out) return call + "ENOENT";
  payload.way_out = false;
  state.names[payload.shard] = number;
  std::uint8_t& shown = state.highest_shown[payload.shard];
  if (state.epoch != Epoch::kOpen) {
    state.went_back = state.went_back || shown != number;
    return call + "done";
  }
  if (payload.generation < shown) state.went_back = true;
  shown = std::max(shown, payload.generation);
  return call + "done";
}

}  // namespace

/// One machine's turn in a state.
struct SharedModel::Step {
  const SharedState& before;
  int machine;
  const Next& next;

  [[nodiscard]] const Machine& mine() const { return before.machines[machine]; }
  static Machine& mine(SharedState& state, int number) { return state.machines[number]; }
  void tell(SharedState after, const std::string& what) const {
    next(after, "writer " + std::to_string(machine) + " " + what);
  }
};

SharedModel::SharedModel(Scenario scenario) : scenario_(std::move(scenario)) {}

SharedState SharedModel::first() const {
  SharedState state;
  state.payloads[kNoShard].chunks.fill(kNoChunk);
  state.payload_count = 1;
  for (int shard = 0; shard < scenario_.shards; ++shard) {
    Payload& old = state.payloads[state.payload_count];
    old.shard = static_cast<std::uint8_t>(shard);
    old.chunks.fill(kNoDraft);
    state.names[shard] = state.payload_count++;
  }
  for (int machine = 0; machine < kMostWriters; ++machine) {
    Machine& one = state.machines[machine];
    one.lives = machine < scenario_.writers;
    if (!one.lives) continue;
    state.logs[log_of(machine, one)].token = Token::kAlive;
    // Before the wait: of the time when there was no shard yet.
    if (is_planted(Planted::kAdoptsAtOnce)) one.name.fill(kNoShard + 1);
  }
  return state;
}

std::uint8_t SharedModel::drafts_of_shard(int shard) const {
  std::uint8_t drafts = 0;
  for (std::size_t draft = 0; draft < scenario_.writes.size(); ++draft) {
    if (scenario_.writes[draft].shard == shard) add(drafts, bit(static_cast<int>(draft)));
  }
  return drafts;
}

void SharedModel::steps(const SharedState& state, const Next& next) const {
  if (state.out_of_bounds) return;
  for (int machine = 0; machine < scenario_.writers; ++machine) {
    if (!state.machines[machine].lives) continue;
    const Step step{state, machine, next};
    go_on(step);
    disturb(step);
  }
  if (scenario_.readers > 0) read(state, next);
}

void SharedModel::go_on(const Step& step) const {
  const SharedState& before = step.before;
  const Machine& mine = step.mine();
  SharedState after = before;
  Machine& its = Step::mine(after, step.machine);
  const bool asks_for_records = mine.at >= At::kFindTip && mine.at <= At::kReadBase;
  const bool asks_for_anything = mine.at == At::kComeAgain || mine.at == At::kLink;
  if ((before.epoch != Epoch::kOpen && (asks_for_records || mine.at == At::kComeAgain)) ||
      (before.epoch == Epoch::kGone && asks_for_anything)) {
    its = Machine{.lives = false, .log = mine.log};
    return step.tell(after, "finds the epoch closed, and puts nothing more");
  }
  switch (mine.at) {
    case At::kIdle: return idle(step);
    case At::kSync: {
      WritersLog& log = after.logs[log_of(step.machine, mine)];
      log.synced = log.puts;
      its.syncing = log.puts;
      its.at = At::kMoveToken;
      return step.tell(after, "syncs its log: " + draft_names(log.puts));
    }
    case At::kMoveToken: return move_token(step);
    case At::kAnnounce: return announce(step);
    case At::kComeAgain: return come_again(step);
    case At::kFindTip: return find_tip(step);
    case At::kSettle: return settle(step);
    case At::kRemoveKept: {
      const int tip = before.records[mine.shard][mine.tip];
      after.payloads[before.payloads[tip].before].kept = false;
      if (is_planted(Planted::kRecordsAreRemoved)) after.records[mine.shard][mine.tip - 1] = 0;
      its.at = At::kReadBase;
      return step.tell(after, "removes what is kept of the generation before");
    }
    case At::kReadBase: return read_base(step);
    case At::kLink: return link(step, false);
    case At::kLinkAgain: return link(step, true);
    case At::kGiveUp: return give_up(step);
    case At::kFollow: {
      const std::string what = take_name(after, mine.attempt);
      its.seen[mine.shard] = static_cast<std::uint8_t>(mine.tip + 1);
      its.at = At::kDone;
      return step.tell(after, what);
    }
    case At::kDone: return finish_commit(step);
    case At::kWait:
      its.absent.fill(0);
      its.name.fill(0);
      its.log_looked.fill(0);
      its.log_puts.fill(0);
      its.at = At::kReadLog;
      return step.tell(after, "waits until its caches know the present");
    case At::kReadLog: return read_log(step);
    case At::kFinish: return finish_log(step);
    case At::kClosing: return go_on_closing(step);
  }
}

void SharedModel::idle(const Step& step) const {
  const Machine& mine = step.mine();
  const int own = log_of(step.machine, mine);
  const WritersLog& log = step.before.logs[own];
  std::uint8_t mine_written = 0;
  int next_write = -1;
  for (int draft = 0; draft < static_cast<int>(scenario_.writes.size()); ++draft) {
    if (scenario_.writes[draft].writer != step.machine) continue;
    if (mine_written == mine.written && next_write < 0) next_write = draft;
    if (next_write < 0) ++mine_written;
  }
  if (next_write >= 0 && has_to_wait(step.before, next_write)) next_write = -1;
  if (next_write >= 0 && (!scenario_.commits_after_each || mine.drafts == 0)) {
    write(step, next_write);
  }
  if (log.puts != log.synced) {
    SharedState after = step.before;
    Step::mine(after, step.machine).at = At::kSync;
    go_on({after, step.machine, step.next});
  } else if (mine.drafts != 0 && (next_write < 0 || scenario_.commits_after_each)) {
    SharedState after = step.before;
    Machine& its = Step::mine(after, step.machine);
    for (int shard = 0; shard < scenario_.shards; ++shard) {
      if ((mine.drafts & drafts_of_shard(shard)) != 0) add(its.to_commit, bit(shard));
    }
    its.shard = static_cast<std::uint8_t>(std::countr_zero(its.to_commit));
    its.at = At::kFindTip;
    go_on({after, step.machine, step.next});
  }
  if (mine.drafts == 0) take(step);
  if (scenario_.closes && next_write < 0 && mine.drafts == 0) leave(step);
}

/// Whether the program that is going to write it is still at the writer before.
bool SharedModel::has_to_wait(const SharedState& state, int draft) const {
  const int before = scenario_.writes[draft].follows;
  if (before < 0) return false;
  return !has(state.acknowledged, before) || state.machines[scenario_.writes[before].writer].lives;
}

void SharedModel::write(const Step& step, int draft) const {
  const int shard = scenario_.writes[draft].shard;
  SharedState written = step.before;
  Machine& its = Step::mine(written, step.machine);
  add(its.drafts, bit(draft));
  its.drafts = without_older(its.drafts);
  add(written.logs[log_of(step.machine, its)].puts, bit(draft));
  ++its.written;
  if (!is_contested(draft)) return step.tell(written, "writes d" + std::to_string(draft));
  look_for_tip(step, written, shard, [&](SharedState after, int tip, const std::string& what) {
    after.seen[draft] = static_cast<std::uint8_t>(tip);
    step.tell(after, "writes d" + std::to_string(draft) + ", and " + what);
  });
}

/// Leaves; the last one closes.
void SharedModel::leave(const Step& step) const {
  const int own = log_of(step.machine, step.mine());
  bool last = step.before.epoch == Epoch::kOpen && step.before.logs[own].token == Token::kAlive;
  for (int number = 0; number < kMostLogs; ++number) {
    const Token token = step.before.logs[number].token;
    last = last && (number == own || token == Token::kNone || token == Token::kFinished);
  }
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  if (after.logs[own].token == Token::kAlive) after.logs[own].token = Token::kFinished;
  if (!last) {
    its = Machine{.lives = false, .log = its.log};
    return step.tell(after, "leaves");
  }
  for (int shard = 0; shard < scenario_.shards; ++shard) {
    const std::uint8_t tip = after.records[shard][after.tips[shard]];
    if (after.tips[shard] > 0 && after.names[shard] != tip) after.went_back = true;
    // What the name has to lead to from now on.
    after.highest_shown[shard] = after.names[shard];
    after.records[shard].fill(0);
  }
  after.epoch = Epoch::kRecordsRemoved;
  its.at = At::kClosing;
  step.tell(after, "closes the epoch, and removes its records");
}

void SharedModel::go_on_closing(const Step& step) const {
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  for (auto& records : after.records) records.fill(0);
  if (after.records != step.before.records) {
    return step.tell(after, "finds the directory of records not empty, and removes what came");
  }
  after.epoch = Epoch::kGone;
  for (Payload& payload : after.payloads) payload.kept = false;
  its = Machine{.lives = false, .log = its.log};
  step.tell(after, "removes the directory of records, and what was kept");
}

/// The logs of writers that are dead, or are taken for it.
void SharedModel::take(const Step& step) const {
  for (int number = 0; number < scenario_.writers * kLogsOfWriter; ++number) {
    const WritersLog& log = step.before.logs[number];
    const int owner = number / kLogsOfWriter;
    const bool taken = log.token == Token::kTaken;
    const int holder = taken ? log.taker : owner;
    if ((!taken && log.token != Token::kAlive) || holder == step.machine) {
      // Its own one, of before it came again, is nobody else's business.
      const bool left = owner == step.machine && log.token == Token::kAlive &&
                        number != log_of(step.machine, step.mine());
      if (!left) continue;
    }
    const Machine& other = step.before.machines[holder];
    const bool in_use = other.lives && (taken || number == log_of(owner, other));
    if (in_use && step.before.fences >= scenario_.fences) continue;
    if (!in_use && log.puts == 0 && log.published == 0 && !scenario_.closes) continue;
    SharedState after = step.before;
    Machine& its = Step::mine(after, step.machine);
    if (in_use) ++after.fences;
    after.logs[number].token = Token::kTaken;
    after.logs[number].taker = static_cast<std::uint8_t>(step.machine);
    its.taking = static_cast<std::uint8_t>(number + 1);
    its.at = is_planted(Planted::kReadTooEarly) ? At::kReadLog : At::kWait;
    step.tell(after, "takes log " + std::to_string(number) +
                         (in_use ? ", whose writer it takes for dead" : ""));
  }
}

void SharedModel::move_token(const Step& step) const {
  const int own = log_of(step.machine, step.mine());
  const auto answer = [&](bool moved, bool lost) {
    SharedState after = step.before;
    Machine& its = Step::mine(after, step.machine);
    its.at = moved ? At::kIdle : At::kComeAgain;
    if (moved) add(after.acknowledged, its.syncing);
    its.syncing = 0;
    if (lost) ++after.lost_answers;
    step.tell(after, moved ? "moves its token, and acknowledges " + draft_names(step.mine().syncing)
                     : lost ? "moves its token; the answer is lost, and then ENOENT"
                            : "finds its token gone");
  };
  const bool there = step.before.logs[own].token == Token::kAlive;
  answer(there || is_planted(Planted::kDeadIsBelieved), false);
  if (there && step.before.lost_answers < scenario_.lost_answers) answer(false, true);
}

/// Between publish and link: only a log that will be read has announced it.
void SharedModel::announce(const Step& step) const {
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  const Token token = step.before.logs[log_of(step.machine, step.mine())].token;
  const bool there = token == Token::kAlive || is_planted(Planted::kNotAnnounced);
  its.at = there ? At::kLink : At::kComeAgain;
  its.announcing = !there;
  step.tell(after, there ? "moves its token" : "finds its token gone, in its commit");
}

void SharedModel::come_again(const Step& step) const {
  const Machine& mine = step.mine();
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  if (its.log + 1 == kLogsOfWriter) {
    its = Machine{.lives = false, .log = its.log};
    return step.tell(after, "gives up: it was taken for dead too often for this model");
  }
  ++its.log;
  WritersLog& log = after.logs[log_of(step.machine, its)];
  log.puts = log.synced = its.syncing = without(its.drafts, its.taken);
  log.token = Token::kAlive;
  its.at = At::kMoveToken;
  if (mine.announcing) {
    add(log.published, bit(mine.shard));
    log.attempt = mine.attempt;
    its.at = At::kAnnounce;
    its.syncing = 0;
  }
  step.tell(after, "comes again, with " + draft_names(log.puts) + " in a new log");
}

/// Each tip that the machine may find, with what its cache knows then.
void SharedModel::look_for_tip(const Step& step, const SharedState& state, int shard,
                               const FoundTip& found) const {
  const Machine& mine = state.machines[step.machine];
  for (int tip = mine.seen[shard]; tip <= state.tips[shard]; ++tip) {
    const bool lie = tip < state.tips[shard];
    if (lie && !has(mine.absent[shard], tip + 1)) continue;
    if (tip + 1 >= kMostGenerations) continue;
    SharedState after = state;
    Machine& its = Step::mine(after, step.machine);
    its.seen[shard] = static_cast<std::uint8_t>(tip);
    its.absent[shard] = static_cast<std::uint8_t>(its.absent[shard] | bit(tip + 1));
    drop(its.absent[shard], static_cast<std::uint8_t>(bit(tip + 1) - 1));
    found(after, tip,
          "finds " + generation_name(shard, tip) + " as the tip" +
              (lie ? ", by an absence that is old" : ""));
  }
}

void SharedModel::find_tip(const Step& step) const {
  look_for_tip(step, step.before, step.mine().shard,
               [&](SharedState after, int tip, const std::string& what) {
                 Machine& its = Step::mine(after, step.machine);
                 its.tip = static_cast<std::uint8_t>(tip);
                 const bool settles = tip > 0 && !is_planted(Planted::kRenameHasACondition);
                 its.at = settles ? At::kSettle : At::kReadBase;
                 step.tell(after, what);
               });
}

void SharedModel::settle(const Step& step) const {
  const Machine& mine = step.mine();
  const std::uint8_t tip = step.before.records[mine.shard][mine.tip];
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  const std::string what = take_name(after, tip);
  const bool before_kept = after.payloads[after.payloads[tip].before].kept;
  its.at = before_kept ? At::kRemoveKept : At::kReadBase;
  step.tell(after, "settles: " + what);
}

void SharedModel::read_base(const Step& step) const {
  const Machine& mine = step.mine();
  const std::uint8_t tip = step.before.records[mine.shard][mine.tip];
  const bool by_name = mine.tip == 0 || is_planted(Planted::kBaseIsTheName);
  if (!by_name && !step.before.payloads[tip].kept) {
    SharedState after = step.before;
    Machine& its = Step::mine(after, step.machine);
    its.absent[mine.shard] = 0;
    its.at = At::kFindTip;
    return step.tell(after, "finds the tip's payload gone, and looks for later ones");
  }
  if (!by_name) return merge(step, tip, "of the tip");
  merge(step, step.before.names[mine.shard], "at the shard's name");
  const std::uint8_t cached = mine.name[mine.shard];
  if (cached != 0 && cached - 1 != step.before.names[mine.shard]) {
    merge(step, static_cast<std::uint8_t>(cached - 1), "at the shard's name, by an old entry");
  }
}

/// Whether the log that is being taken has announced a record of a generation that there is not:
/// its writer may live, and link it later. So there has to be one.
bool SharedModel::has_to_decide(const Step& step) const {
  const Machine& mine = step.mine();
  const Payload& announced = step.before.payloads[mine.deciding];
  return mine.deciding != 0 && announced.shard == mine.shard && announced.generation > mine.tip &&
         !is_planted(Planted::kNotDecided);
}

void SharedModel::merge(const Step& step, std::uint8_t base, const std::string& which) const {
  const Machine& mine = step.mine();
  const std::uint8_t tip = step.before.records[mine.shard][mine.tip];
  const std::uint8_t notes = mine.tip == 0 ? std::uint8_t{0} : step.before.payloads[tip].notes;
  std::uint8_t fresh = 0;
  std::uint8_t left = 0;
  for (int draft = 0; draft < static_cast<int>(scenario_.writes.size()); ++draft) {
    if (!has(mine.drafts & drafts_of_shard(mine.shard), draft) || speaks_for(notes, draft)) {
      continue;
    }
    const bool is_old = has(mine.taken, draft) && is_left(step.before, draft, tip);
    add(is_old ? left : fresh, bit(draft));
  }
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  if (fresh == 0 && !has_to_decide(step)) {
    its.at = At::kDone;
    return step.tell(after, left == 0 ? "finds nothing that is not in the shard"
                                      : "finds newer chunks than " + draft_names(left));
  }
  const std::uint8_t number = after.payload_count;
  if (number == kMostPayloads) {
    after.out_of_bounds = true;
    return step.tell(after, "needs more payloads than the model has");
  }
  ++after.payload_count;
  Payload& payload = after.payloads[number];
  payload = {.shard = mine.shard,
             .generation = static_cast<std::uint8_t>(mine.tip + 1),
             .before = base,
             .notes = static_cast<std::uint8_t>(notes | fresh),
             .taken = static_cast<std::uint8_t>(fresh & mine.taken),
             .chunks = after.payloads[base].chunks,
             .way_out = true,
             .kept = true};
  for (const std::uint8_t drafts :
       {static_cast<std::uint8_t>(fresh & mine.taken), without(fresh, mine.taken)}) {
    for (int draft = 0; draft < static_cast<int>(scenario_.writes.size()); ++draft) {
      if (has(drafts, draft)) {
        payload.chunks[scenario_.writes[draft].chunk] = static_cast<std::uint8_t>(draft);
      }
    }
  }
  WritersLog& log = after.logs[log_of(step.machine, mine)];
  add(log.published, bit(mine.shard));
  log.attempt = its.attempt = number;
  its.at = At::kAnnounce;
  step.tell(after, "makes " + payload_name(number) + " of " + payload_name(base) + " " + which +
                       " and " + draft_names(fresh));
}

void SharedModel::link(const Step& step, bool again) const {
  const Machine& mine = step.mine();
  const int generation = mine.tip + 1;
  const std::string call = std::string(again ? "again " : "") + "links " +
                           payload_name(mine.attempt) + " as " +
                           generation_name(mine.shard, generation) + ": ";
  SharedState linked = step.before;
  std::uint8_t& record = linked.records[mine.shard][generation];
  const bool free = record == 0 || is_planted(Planted::kLockIsTrusted);
  const bool own = record == mine.attempt;
  if (free) {
    record = mine.attempt;
    linked.payloads[mine.attempt].linked = true;
    std::uint8_t& tip = linked.tips[mine.shard];
    tip = std::max(tip, static_cast<std::uint8_t>(generation));
  }
  const auto answer = [&](SharedState after, At at, const std::string& what, bool lost) {
    Step::mine(after, step.machine).at = at;
    if (lost) ++after.lost_answers;
    step.tell(after, call + what);
  };
  const bool won = free || own;
  answer(linked, won ? At::kFollow : At::kGiveUp,
         free  ? "done"
         : own ? "EEXIST, it is its own"
               : "EEXIST",
         false);
  if (step.before.lost_answers >= scenario_.lost_answers) return;
  answer(linked, At::kLinkAgain, "the answer is lost", true);
  if (free) answer(step.before, At::kLinkAgain, "neither call nor answer arrives", true);
}

void SharedModel::give_up(const Step& step) const {
  const Machine& mine = step.mine();
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  after.payloads[mine.attempt].way_out = after.payloads[mine.attempt].kept = false;
  its.attempt = 0;
  its.seen[mine.shard] = static_cast<std::uint8_t>(mine.tip + 1);
  drop(its.absent[mine.shard], bit(mine.tip + 1));
  its.at = At::kFindTip;
  step.tell(after, "removes its payload, and waits until it sees the record that was first");
}

void SharedModel::finish_commit(const Step& step) const {
  const Machine& mine = step.mine();
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  const std::uint8_t done = drafts_of_shard(mine.shard);
  Payload& announced = after.payloads[mine.deciding];
  const std::uint8_t decided = after.records[mine.shard][announced.generation];
  if (mine.deciding != 0 && announced.shard == mine.shard && decided != 0 &&
      decided != mine.deciding && !is_planted(Planted::kLoserKeepsItsWay)) {
    announced.way_out = announced.kept = false;
  }
  WritersLog& log = after.logs[log_of(step.machine, mine)];
  drop(log.puts, done);
  drop(log.synced, done);
  drop(log.published, bit(mine.shard));
  drop(its.drafts, done);
  drop(its.taken, done);
  drop(its.to_commit, bit(mine.shard));
  its.tip = its.attempt = its.shard = 0;
  its.at = its.taking != 0 ? At::kFinish : At::kIdle;
  if (its.to_commit != 0) {
    its.shard = static_cast<std::uint8_t>(std::countr_zero(its.to_commit));
    its.at = At::kFindTip;
  }
  step.tell(after, "is done with shard " + std::to_string(mine.shard));
}

void SharedModel::read_log(const Step& step) const {
  const Machine& mine = step.mine();
  const int number = mine.taking - 1;
  const WritersLog& log = step.before.logs[number];
  const auto go_on_with = [&](std::uint8_t drafts, const std::string& how) {
    SharedState after = step.before;
    Machine& its = Step::mine(after, step.machine);
    its.drafts = its.taken = without_older(drafts);
    its.to_commit = log.published;
    its.deciding = log.published == 0 ? std::uint8_t{0} : log.attempt;
    for (int shard = 0; shard < scenario_.shards; ++shard) {
      if ((drafts & drafts_of_shard(shard)) != 0) add(its.to_commit, bit(shard));
    }
    Payload& attempt = after.payloads[log.attempt];
    if (is_planted(Planted::kTakerCleans) && !attempt.linked) {
      attempt.way_out = attempt.kept = false;
    }
    its.at = its.to_commit == 0 ? At::kFinish : At::kFindTip;
    its.shard = static_cast<std::uint8_t>(its.to_commit == 0 ? 0 : std::countr_zero(its.to_commit));
    step.tell(after, "reads log " + std::to_string(number) + how + ": " + draft_names(drafts));
  };
  const std::uint8_t unsynced = without(log.puts, log.synced);
  // What was not synced may be there or not, each for itself.
  for (std::uint8_t some = unsynced;; some = static_cast<std::uint8_t>((some - 1) & unsynced)) {
    go_on_with(static_cast<std::uint8_t>(log.synced | some), "");
    if (some == 0) break;
  }
  if (mine.log_looked[number] != 0 && mine.log_puts[number] != log.synced) {
    go_on_with(mine.log_puts[number], ", as its cache has it");
  }
}

void SharedModel::finish_log(const Step& step) const {
  const int number = step.mine().taking - 1;
  SharedState after = step.before;
  Machine& its = Step::mine(after, step.machine);
  WritersLog& log = after.logs[number];
  const bool mine_still = log.token == Token::kTaken && log.taker == step.machine;
  if (mine_still) log.token = Token::kFinished;
  its.taking = its.deciding = 0;
  its.at = At::kIdle;
  step.tell(after, "finishes log " + std::to_string(number) +
                       (mine_still ? "" : ", which another has taken from it"));
}

/// What happens to a machine at any time.
void SharedModel::disturb(const Step& step) const {
  const Machine& mine = step.mine();
  if (step.before.kills < scenario_.kills) {
    SharedState after = step.before;
    ++after.kills;
    Step::mine(after, step.machine) = Machine{.lives = false, .log = mine.log};
    step.tell(after, "is killed");
  }
  if (mine.at != At::kIdle || step.before.looks >= scenario_.looks) return;
  for (int number = 0; number < scenario_.writers * kLogsOfWriter; ++number) {
    if (number / kLogsOfWriter == step.machine || step.before.logs[number].token == Token::kNone)
      continue;
    SharedState after = step.before;
    Machine& its = Step::mine(after, step.machine);
    ++after.looks;
    its.log_looked[number] = 1;
    its.log_puts[number] = after.logs[number].synced;
    step.tell(after, "looks at log " + std::to_string(number));
  }
  for (int shard = 0; shard < scenario_.shards; ++shard) {
    SharedState after = step.before;
    ++after.looks;
    Step::mine(after, step.machine).name[shard] = static_cast<std::uint8_t>(after.names[shard] + 1);
    step.tell(after, "looks at the name of shard " + std::to_string(shard));
  }
}

void SharedModel::read(const SharedState& state, const Next& next) const {
  if (state.reader.step == 2) return;
  SharedState after = state;
  ++after.reader.step;
  const std::uint8_t found = state.names[0];
  if (state.reader.step == 0) {
    after.reader.index_of = found;
    return next(after, "a reader opens the shard, and reads its index");
  }
  const bool again = is_planted(Planted::kReaderLooksTwice);
  after.reader.chunk_of = again ? found : state.reader.index_of;
  next(after, "the reader reads a chunk");
}

}  // namespace zarrfs::testing
