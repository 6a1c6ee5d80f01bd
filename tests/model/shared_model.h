// The protocol of core/log/SHARED.md as a machine of states: writers of one directory on machines
// of their own, whose caches lie, whose locks and leases end at any moment, which are paused and
// killed, and whose logs others take. Each call of the file system is one step; a pause is that
// others go on. What is wrong in a state is said by fault_of().
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zarrfs::testing {

inline constexpr int kMostWriters = 3;
inline constexpr int kMostShards = 2;
inline constexpr int kChunksOfShard = 2;
inline constexpr int kMostDrafts = 8;
inline constexpr int kMostGenerations = 8;
inline constexpr int kMostPayloads = 20;
inline constexpr int kLogsOfWriter = 2;
inline constexpr int kMostLogs = kMostWriters * kLogsOfWriter;
inline constexpr std::uint8_t kNoDraft = 0xFF;  ///< A chunk as it was before the epoch.
inline constexpr std::uint8_t kNoChunk = 0xFE;  ///< A chunk that is not there.
inline constexpr std::uint8_t kNoShard = 0;     ///< The payload that stands for an absent shard.

/// What a protocol would be that rests on something false: each is a switch of the model.
enum class Planted : std::uint8_t {
  kNothing,
  kLockIsTrusted,        ///< Who has the lock puts its record by rename, in place of what is there.
  kBaseIsTheName,        ///< The lock was taken, so the shard's name is believed: it is the base.
  kRenameHasACondition,  ///< The tip is not settled before the next generation is put.
  kDeadIsBelieved,       ///< Whose lock is free is dead: its token is neither taken nor asked for.
  kReadTooEarly,         ///< A log is read without the wait for what caches hide.
  kAdoptsAtOnce,         ///< The first commit believes the shard's name without the wait.
  kNotesSpeakForAll,     ///< A note says "all up to this sequence".
  kNotesOfOneSequence,   ///< A note speaks for its own sequence only, and for none before.
  kRecordsAreRemoved,    ///< A record goes when the one after it is settled.
  kTakerCleans,          ///< Who takes a log removes payloads that no record has yet.
  kNotAnnounced,         ///< A record is linked without a look whether its log is read still.
  kNotDecided,           ///< Who takes a log leaves open which record an announced one will be.
  kLoserKeepsItsWay,     ///< A taker leaves the way out of what it has decided against.
  kTakerPutsOver,        ///< Who takes a log puts what is in it over what was put since.
  kLatePutIsNew,         ///< What was put from a log is taken for written when it was put.
  kReaderLooksTwice,     ///< A reader looks the name up for the index, and again for the chunk.
};

/// A program's write of one chunk.
struct Write {
  std::uint8_t writer = 0;
  std::uint8_t shard = 0;
  std::uint8_t chunk = 0;
  /// Another write, whose program has seen its writer die, and goes on with this one.
  int follows = -1;
};

/// What happens, and how often.
struct Scenario {
  int writers = 2;
  int shards = 1;
  std::vector<Write> writes;  ///< Those of one writer are in this order.
  int kills = 0;
  int fences = 0;                   ///< Of writers that live: a lock or a lease that was lost.
  int lost_answers = 0;             ///< Of link and rename.
  int looks = 0;                    ///< Of a machine at a log or a shard's name, into its cache.
  int readers = 0;                  ///< 0 or 1.
  bool closes = false;              ///< Writers leave, and the last one closes the epoch.
  bool commits_after_each = false;  ///< Each write is committed before the next.
  Planted planted = Planted::kNothing;
};

struct Payload {
  std::uint8_t shard = 0;
  std::uint8_t generation = 0;
  std::uint8_t before = 0;
  std::uint8_t notes = 0;  ///< Drafts that it and the generations before it were given: a bit each.
  std::uint8_t taken = 0;  ///< Those of its own that are of logs that were taken.
  std::array<std::uint8_t, kChunksOfShard> chunks{};
  bool way_out = false;  ///< .zarrfs-next-P is there.
  bool kept = false;     ///< .zarrfs-kept-P is there.
  bool linked = false;   ///< A record has it, or had it.
  auto operator<=>(const Payload&) const = default;
};

enum class Token : std::uint8_t { kNone, kAlive, kTaken, kFinished };

struct WritersLog {
  std::uint8_t puts = 0;       ///< Drafts that it has: a bit each.
  std::uint8_t synced = 0;     ///< Those of them that are durable.
  std::uint8_t published = 0;  ///< Shards with a publish that is not done: a bit each.
  std::uint8_t attempt = 0;    ///< The payload of the last one.
  Token token = Token::kNone;
  std::uint8_t taker = 0;
  auto operator<=>(const WritersLog&) const = default;
};

enum class At : std::uint8_t {
  kIdle,
  kSync,
  kMoveToken,
  kAnnounce,
  kComeAgain,
  kFindTip,
  kSettle,
  kRemoveKept,
  kReadBase,
  kLink,
  kLinkAgain,
  kGiveUp,
  kFollow,
  kDone,
  kWait,
  kReadLog,
  kFinish,
  kClosing,
};

enum class Epoch : std::uint8_t { kOpen, kRecordsRemoved, kGone };

struct Machine {
  bool lives = true;
  At at = At::kIdle;
  std::uint8_t written = 0;  ///< Of its writes.
  std::uint8_t log = 0;      ///< Of its logs: how often it has come again.
  std::uint8_t drafts = 0;   ///< In memory: a bit each.
  std::uint8_t taken = 0;    ///< Those of them that are of logs of others.
  std::uint8_t syncing = 0;
  std::uint8_t to_commit = 0;  ///< Shards: a bit each.
  std::uint8_t shard = 0;
  std::uint8_t tip = 0;
  std::uint8_t attempt = 0;
  std::uint8_t taking = 0;  ///< The number of a log, and 1.
  bool announcing = false;  ///< It comes again in the middle of a commit.
  /// What the log that it takes has announced: a payload whose generation is to be decided.
  std::uint8_t deciding = 0;
  // Its cache.
  std::array<std::uint8_t, kMostShards> seen{};      ///< Generations that it has seen.
  std::array<std::uint8_t, kMostShards> absent{};    ///< Generations that it believes absent: bits.
  std::array<std::uint8_t, kMostShards> name{};      ///< A payload, and 1; 0: not cached.
  std::array<std::uint8_t, kMostLogs> log_looked{};  ///< Whether there is an old answer, ...
  std::array<std::uint8_t, kMostLogs> log_puts{};    ///< ... and which.
  auto operator<=>(const Machine&) const = default;
};

struct Reader {
  std::uint8_t step = 0;
  std::uint8_t index_of = 0;
  std::uint8_t chunk_of = 0;
  auto operator<=>(const Reader&) const = default;
};

struct SharedState {
  std::array<Payload, kMostPayloads> payloads{};
  std::uint8_t payload_count = 0;
  std::array<std::array<std::uint8_t, kMostGenerations>, kMostShards> records{};  ///< Payloads.
  std::array<std::uint8_t, kMostShards> tips{};
  std::array<std::uint8_t, kMostShards> names{};  ///< What the shard's name leads to.
  std::array<std::uint8_t, kMostShards> highest_shown{};
  std::array<std::uint8_t, kMostDrafts> seen{};  ///< The tip when each draft was written.
  std::array<WritersLog, kMostLogs> logs{};
  std::array<Machine, kMostWriters> machines{};
  Reader reader;
  std::uint8_t acknowledged = 0;  ///< Drafts whose program was told so: a bit each.
  std::uint8_t kills = 0;
  std::uint8_t fences = 0;
  std::uint8_t lost_answers = 0;
  std::uint8_t looks = 0;
  Epoch epoch = Epoch::kOpen;
  bool went_back = false;
  bool out_of_bounds = false;  ///< The scenario needs more than the model has.
  auto operator<=>(const SharedState&) const = default;
};

class SharedModel {
 public:
  explicit SharedModel(Scenario scenario);

  [[nodiscard]] SharedState first() const;
  /// Calls `next` for each step that is possible, with what it does in words.
  using Next = std::function<void(const SharedState& state, const std::string& what)>;
  void steps(const SharedState& state, const Next& next) const;
  /// What is wrong in a state; empty where nothing is.
  [[nodiscard]] std::string fault_of(const SharedState& state) const;
  /// The same for a state in which nothing can happen any more.
  [[nodiscard]] std::string fault_at_end(const SharedState& state) const;

 private:
  struct Step;
  [[nodiscard]] bool is_planted(Planted fault) const { return scenario_.planted == fault; }
  [[nodiscard]] std::uint8_t drafts_of_shard(int shard) const;
  [[nodiscard]] bool speaks_for(std::uint8_t notes, int draft) const;
  [[nodiscard]] bool truly_speaks_for(std::uint8_t notes, int draft) const;
  [[nodiscard]] std::uint8_t without_older(std::uint8_t drafts) const;
  [[nodiscard]] bool is_same_chunk(int draft, int other) const;
  [[nodiscard]] bool is_contested(int draft) const;
  [[nodiscard]] bool replaces(int later, int draft) const;
  [[nodiscard]] bool is_overtaken(const SharedState& state, int draft, std::uint8_t payload) const;
  [[nodiscard]] bool is_left(const SharedState& state, int draft, std::uint8_t payload) const;
  [[nodiscard]] bool has_to_wait(const SharedState& state, int draft) const;
  [[nodiscard]] std::string fault_of_generation(const SharedState& state,
                                                const Payload& payload) const;
  [[nodiscard]] std::string fault_when_closed(const SharedState& state) const;
  [[nodiscard]] std::string fault_of_draft(const SharedState& state, int draft) const;
  void idle(const Step& step) const;
  void write(const Step& step, int draft) const;
  void leave(const Step& step) const;
  void go_on_closing(const Step& step) const;
  void take(const Step& step) const;
  void go_on(const Step& step) const;
  void move_token(const Step& step) const;
  void announce(const Step& step) const;
  void come_again(const Step& step) const;
  using FoundTip = std::function<void(SharedState after, int tip, const std::string& what)>;
  void look_for_tip(const Step& step, const SharedState& state, int shard,
                    const FoundTip& found) const;
  void find_tip(const Step& step) const;
  [[nodiscard]] bool has_to_decide(const Step& step) const;
  void settle(const Step& step) const;
  void read_base(const Step& step) const;
  void merge(const Step& step, std::uint8_t base, const std::string& what) const;
  void link(const Step& step, bool again) const;
  void give_up(const Step& step) const;
  void finish_commit(const Step& step) const;
  void read_log(const Step& step) const;
  void finish_log(const Step& step) const;
  void disturb(const Step& step) const;
  void read(const SharedState& state, const Next& next) const;

  Scenario scenario_;
};

}  // namespace zarrfs::testing
