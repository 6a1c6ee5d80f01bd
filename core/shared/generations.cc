#include "core/shared/generations.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>
#include <utility>

#include "core/base/hash.h"
#include "core/base/path.h"
#include "core/base/random_name.h"
#include "core/log/successor.h"
#include "core/shared/shared_names.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostKnown = 65'536;
constexpr std::size_t kEnd = 4096;  // bytes at either end of a file that are compared
constexpr std::chrono::milliseconds kUntilSeen{20};
constexpr std::chrono::milliseconds kBetweenCalls{500};

/// Two names of different paths are not one; a record tells its path, too.
std::string digest_name(const std::string& path) {
  std::array<char, 33> digits{};
  const std::uint64_t first = digest_of(path);
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(digest_of(path + "/" + std::to_string(first))));
  return digits.data();
}

/// Of the bytes at both ends of a file: a cheap sign that it is the one that was meant.
Result<std::uint32_t> checksum_of_ends(const File& file, std::uint64_t size) {
  const std::uint64_t length = std::min<std::uint64_t>(size, kEnd);
  ZARRFS_TRY(const Bytes first, file.read_range({0, length}));
  ZARRFS_TRY(const Bytes last, file.read_range({size - length, length}));
  return crc32c(last, crc32c(first));
}

std::string way_out(const std::string& path, const std::string& payload) {
  return join_path(parent_path(path), kSuccessorPrefix + payload);
}

Error gone(const Store& store, const std::string& path) {
  return {Fault::kStale, "store " + store.name() + ": " + path +
                             ": all other writers have left while this one was taken for dead"};
}

}  // namespace

std::string Generations::record_path(const std::string& path, std::uint64_t generation) const {
  return join_path(join_path(members_.epoch(), kRecords),
                   digest_name(path) + "." + std::to_string(generation));
}

std::optional<Tip> Generations::known_tip(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(path);
  return found == known_.end() ? std::nullopt : std::optional(found->second.tip);
}

void Generations::note(const std::string& path, const Tip& tip) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(path);
  if (found != known_.end()) {
    if (found->second.tip.generation > tip.generation) return;
    found->second.tip = tip;
    turns_.splice(turns_.end(), turns_, found->second.turn);
    return;
  }
  turns_.push_back(path);
  known_.emplace(path, Known{tip, std::prev(turns_.end())});
  while (known_.size() > kMostKnown) {
    settled_.erase(turns_.front());
    known_.erase(turns_.front());
    turns_.pop_front();
  }
}

Result<std::optional<GenerationRecord>> Generations::record(const std::string& path,
                                                            std::uint64_t generation) {
  const std::string at = record_path(path, generation);
  ZARRFS_TRY(const auto text, read_small(*store_, at));
  if (!text) return std::nullopt;
  ZARRFS_TRY(GenerationRecord record, generation_in(*text, at));
  if (record.path == path && record.generation == generation) return record;
  return fail(Fault::kDamaged, at + ": it is of generation " + std::to_string(record.generation) +
                                   " of " + record.path + ", not of " + std::to_string(generation) +
                                   " of " + path);
}

/// From a record that is there: twice as far each time, then the half between. There are no gaps.
Result<Tip> Generations::newest_tip(const std::string& path) {
  Tip tip = known_tip(path).value_or(Tip{});
  std::uint64_t step = 1;
  for (bool growing = true; step > 0;) {
    ZARRFS_TRY(auto found, record(path, tip.generation + step));
    growing = growing && found.has_value();
    if (found) {
      tip.generation += step;
      tip.record = std::move(*found);
      tip.identity = {};
    }
    step = growing ? step * 2 : step / 2;
  }
  return tip;
}

Result<FileIdentity> Generations::identity_at_name(const std::string& path) {
  ZARRFS_TRY(const auto status, store_->status(path));
  return status ? identity_of(*status) : FileIdentity{};
}

/// Consumes the way out of a record, and lets go of the file of the one before it.
Result<void> Generations::settle(const GenerationRecord& record, const std::string& before) {
  const std::string& path = record.path;
  if (!record.payload.empty()) {
    ZARRFS_CHECK(move_name(*store_, way_out(path, record.payload), path));
    ZARRFS_CHECK(store_->sync_directory(parent_path(path)));
  }
  if (!before.empty()) ZARRFS_CHECK(store_->remove(kept_path(path, before)));
  const std::lock_guard lock(mutex_);
  settled_[path] = record.generation;
  return {};
}

Result<void> Generations::settle_found(const Tip& tip) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = settled_.find(tip.record.path);
    if (found != settled_.end() && found->second >= tip.generation) return {};
  }
  std::string before;
  if (tip.generation > 1) {
    ZARRFS_TRY(const auto earlier, record(tip.record.path, tip.generation - 1));
    if (earlier) before = earlier->payload;
  }
  return settle(tip.record, before);
}

Result<Tip> Generations::settled_tip(const std::string& path) {
  const auto until = Clock::now() + members_.patience();
  for (;;) {
    ZARRFS_TRY(Tip tip, newest_tip(path));
    if (tip.generation == 0) {
      if (Clock::now() < members_.adopts_from()) {
        // What caches say may be of an earlier epoch until then.
        std::this_thread::sleep_until(members_.adopts_from());
        continue;
      }
      ZARRFS_TRY(tip.identity, identity_at_name(path));
      return tip;
    }
    ZARRFS_CHECK(settle_found(tip));
    if (tip.record.payload.empty()) {
      note(path, tip);
      return tip;
    }
    ZARRFS_TRY(const auto file, store_->open(kept_path(path, tip.record.payload)));
    if (file != nullptr && file->size() == tip.record.size) {
      ZARRFS_TRY(const std::uint32_t ends, checksum_of_ends(*file, tip.record.size));
      if (ends == tip.record.ends) {
        tip.identity = file->identity();
        note(path, tip);
        return tip;
      }
    }
    if (Clock::now() > until) {
      return fail(Fault::kDamaged, path + ": generation " + std::to_string(tip.generation) +
                                       " of it cannot be read: its file " +
                                       kept_path(path, tip.record.payload) +
                                       (file == nullptr ? " is gone" : " is another one"));
    }
    // A later record, or the file, cannot be seen from here yet.
    std::this_thread::sleep_for(kUntilSeen);
  }
}

Result<std::shared_ptr<File>> Generations::open_newest(const std::string& path,
                                                       const OpenHint& hint) {
  constexpr int kMostRounds = 8;  // each is one that was replaced meanwhile
  for (int round = 0; round < kMostRounds; ++round) {
    ZARRFS_TRY(Tip tip, newest_tip(path));
    if (tip.generation == 0 || tip.record.payload.empty()) return nullptr;
    ZARRFS_TRY(auto file, store_->open_for(kept_path(path, tip.record.payload), hint));
    if (file == nullptr || file->size() != tip.record.size) {
      std::this_thread::sleep_for(kUntilSeen);
      continue;
    }
    tip.identity = file->identity();
    note(path, tip);
    return file;
  }
  return fail(Fault::kStale, path + ": what another machine has put there cannot be seen yet");
}

/// The record at `path`, which is there: that it cannot be seen yet says nothing.
Result<GenerationRecord> Generations::await_record(const std::string& path) {
  ZARRFS_TRY(const std::string text, await_small(*store_, path, members_.patience()));
  return generation_in(text, path);
}

/// Whose record stands where ours was to be.
Result<Generations::Put> Generations::whose(const GenerationRecord& record,
                                            const std::string& path) {
  ZARRFS_TRY(const GenerationRecord there, await_record(path));
  return there.id == record.id ? Put::kDone : Put::kLost;
}

/// Links the record: the moment that counts. Where the answer says nothing, the same again: the
/// call may have been done, and must not be done later.
Result<Generations::Put> Generations::link(const GenerationRecord& record) {
  const std::string own = join_path(members_.place().path, "record-" + record.id);
  const std::string path = record_path(record.path, record.generation);
  ZARRFS_CHECK(write_small(*store_, own, sealed_text(record)));
  const auto until = Clock::now() + members_.patience();
  for (;;) {
    const auto step = add_name(*store_, own, path);
    if (step && *step != NameStep::kGone) {
      auto put = *step == NameStep::kDone ? Result<Put>(Put::kDone) : whose(record, path);
      if (put) static_cast<void>(store_->remove(own));  // goes with the epoch, if not now
      return put;
    }
    const auto open = store_->status(members_.epoch());
    if (step && open && !*open) return fail(gone(*store_, record.path));
    if (Clock::now() > until) {
      return fail(step ? gone(*store_, record.path) : step.error());
    }
    std::this_thread::sleep_for(kBetweenCalls);
  }
}

Result<Generations::Put> Generations::put(const std::string& from, const std::string& path,
                                          const Tip& tip, const std::string& notes) {
  GenerationRecord record;
  record.path = path;
  record.generation = tip.generation + 1;
  record.id = random_digits();
  record.before = tip.record.id;
  record.notes = notes;
  std::string kept;
  if (!from.empty()) {
    ZARRFS_TRY(const auto file, store_->open(from));
    if (file == nullptr) return fail(Fault::kStale, from + " is gone");
    record.payload = from.substr(from.rfind('-') + 1);
    record.size = file->size();
    ZARRFS_TRY(record.ends, checksum_of_ends(*file, record.size));
    kept = kept_path(path, record.payload);
    ZARRFS_TRY(const NameStep step, add_name(*store_, from, kept));
    if (step != NameStep::kDone) return fail(Fault::kStale, from + ": " + kept + " was not made");
    ZARRFS_CHECK(store_->sync_directory(parent_path(path)));
  }
  const auto give_up = [&](Put put) -> Result<Put> {
    if (!kept.empty()) ZARRFS_CHECK(store_->remove(kept));
    return put;
  };
  const Announcement announcement{path, record.generation, record.payload, false};
  auto announced = members_.announce(announcement);
  if (!announced) {
    static_cast<void>(give_up(Put::kFenced));  // the first error is the one to tell
    return fail(announced.error());
  }
  if (!*announced) return give_up(Put::kFenced);
  ZARRFS_TRY(const Put put, link(record));
  if (put == Put::kLost) {
    ZARRFS_CHECK(members_.decided(announcement));
    return give_up(put);
  }
  ZARRFS_CHECK(store_->sync_directory(join_path(members_.epoch(), kRecords)));
  ZARRFS_CHECK(settle(record, tip.record.payload));
  Tip made{record.generation, record, {}};
  if (!from.empty()) {
    ZARRFS_TRY(const auto file, store_->open(kept));
    if (file != nullptr) made.identity = file->identity();  // else there is a later one already
  }
  note(path, made);
  ZARRFS_CHECK(members_.decided(announcement));
  return put;
}

/// The same once more, as the generation after `tip`. False: another was put there.
Result<bool> Generations::copy(const std::string& path, const Tip& tip) {
  std::string from;
  if (tip.identity != FileIdentity{}) {
    const std::string present = tip.generation == 0 ? path : kept_path(path, tip.record.payload);
    ZARRFS_TRY(const auto file, store_->open(present));
    if (file == nullptr || file->identity() != tip.identity) return false;
    from = new_successor_path(path);
    ZARRFS_TRY(const auto made, store_->create(from, 0666));
    ZARRFS_CHECK(made->copy_range(*file, {0, file->size()}, 0));
    ZARRFS_CHECK(made->sync());
  }
  ZARRFS_TRY(const Put done, put(from, path, tip, tip.record.notes));
  if (done != Put::kDone && !from.empty()) ZARRFS_CHECK(store_->remove(from));
  return done == Put::kDone;
}

Result<void> Generations::decide(const std::string& path, std::uint64_t generation) {
  for (;;) {
    ZARRFS_TRY(const Tip tip, settled_tip(path));
    if (tip.generation >= generation) return {};
    ZARRFS_CHECK(copy(path, tip));
  }
}

Result<bool> Generations::has_won(const Announcement& announcement) {
  ZARRFS_TRY(const GenerationRecord there,
             await_record(record_path(announcement.path, announcement.generation)));
  return there.payload == announcement.payload;
}

}  // namespace zarrfs
