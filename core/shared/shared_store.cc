#include "core/shared/shared_store.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "core/base/coordinates.h"
#include "core/base/iso_time.h"
#include "core/base/json.h"
#include "core/log/cluster_file_systems.h"
#include "core/log/successor.h"
#include "core/shared/closing.h"
#include "core/shared/generations.h"
#include "core/shared/shared_names.h"
#include "core/store/own_names.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kBetweenLooks{5};
constexpr int kMostLooks = 20;
constexpr std::chrono::milliseconds kBetweenTries{50};

bool is_in_log_directory(std::string_view path) { return path.starts_with(".zarrfs/"); }

/// Whether other writers may rely on a file of this name.
bool is_of_a_node(const std::string& path) {
  const std::string name = last_name(path);
  return name == "zarr.json" || looks_like_chunk(name);
}

/// The log: what was synced counts once the token has moved.
class LogFile final : public NewFile {
 public:
  LogFile(std::unique_ptr<NewFile> file, Membership& members, std::uint64_t count)
      : file_(std::move(file)), members_(members), count_(count) {}

  Result<void> write_at(std::uint64_t offset, ByteView bytes) override {
    return file_->write_at(offset, bytes);
  }
  Result<void> copy_range(const File& from, ByteRange range, std::uint64_t offset) override {
    return file_->copy_range(from, range, offset);
  }
  Result<void> truncate(std::uint64_t size) override { return file_->truncate(size); }
  void begin_sync() override { file_->begin_sync(); }
  Result<void> sync() override {
    ZARRFS_CHECK(file_->sync());
    ZARRFS_TRY(const bool confirmed, members_.confirm(count_));
    return confirmed ? Result<void>{}
                     : fail(Fault::kStale, "the log was taken, and is written anew");
  }
  Result<std::size_t> read_at(std::uint64_t offset, MutableByteView out) const override {
    return file_->read_at(offset, out);
  }
  [[nodiscard]] Result<struct stat> status() const override { return file_->status(); }
  [[nodiscard]] int descriptor() const override { return file_->descriptor(); }
  [[nodiscard]] bool has_name() const override { return file_->has_name(); }

 private:
  const std::unique_ptr<NewFile> file_;
  Membership& members_;
  const std::uint64_t count_;
};

std::string version_text(const Tip& tip) { return "g" + std::to_string(tip.generation); }

/// Where another machine is replacing the file, a file system of `several` may say for a moment
/// that what was opened is gone: it is looked at again.
template <class Look>
auto look_again(bool several, Look look) {
  for (int round = 1;; ++round) {
    auto found = look();
    const bool passing =
        !found && (found.error().fault == Fault::kIo || found.error().fault == Fault::kStale);
    if (!passing || round == kMostLooks || !several) return found;
    std::this_thread::sleep_for(kBetweenTries);  // nothing tells when it has been replaced
  }
}

class SharedDirectory final : public SharedStore {
 public:
  SharedDirectory(std::shared_ptr<Store> store, SharedOptions options)
      : SharedStore(std::move(store)),
        members_(shared_below(), std::move(options)),
        generations_(shared_below(), members_) {}

  ConditionalWriter* conditional_writer() override { return this; }

  [[nodiscard]] StoreTraits traits() const override {
    StoreTraits traits = below().traits();
    traits.watchable = false;  // no machine tells of what another does
    return traits;
  }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    if (is_own_path(path)) return below().status(placed(path));
    if (!generations_.known_tip(path)) {
      auto found = look_again(several(), [&] { return below().status(path); });
      if (!found || *found || !may_be_hidden(path)) return found;
    }
    const auto file = open(path);
    if (!file) return directory_or(file.error(), path);
    if (*file == nullptr) return std::nullopt;
    return (*file)->status();
  }

  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    if (is_own_path(path)) return below().open_for(placed(path), hint);
    ZARRFS_TRY(auto file, look_again(several(), [&] { return below().open_for(path, hint); }));
    const auto tip = generations_.known_tip(path);
    const bool hidden = file == nullptr && may_be_hidden(path);
    if (!tip && !hidden) return file;
    const FileIdentity there = file == nullptr ? FileIdentity{} : file->identity();
    if (tip && there == tip->identity) return file;
    // An older one, by a cache, or a later one: this mount has seen its own, at least.
    auto newest = generations_.open_newest(path, hint);
    const bool unseen = !newest && newest.error().fault == Fault::kStale;
    if (!newest && (!unseen || file == nullptr)) return newest;  // absence is the fill value
    return unseen || *newest == nullptr ? file : *newest;
  }

  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    auto entries = below().list(path == kLogDirectory ? members_.place().path : placed(path));
    if (!entries || !*entries || is_own_path(path)) return entries;
    std::erase_if(**entries,
                  [](const Entry& entry) { return entry.name.starts_with(kKeptPrefix); });
    return entries;
  }

  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    const Membership::Place place = members_.place();
    ZARRFS_TRY(auto file, below().create(placed(path, place), mode));
    if (!is_log(path)) return file;
    return std::make_unique<LogFile>(std::move(file), members_, place.count);
  }
  Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                         mode_t mode) override {
    return below().clone(from, placed(path), mode);
  }
  Result<std::unique_ptr<NewFile>> reopen(const std::string& path) override {
    return below().reopen(placed(path));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (is_in_log_directory(from) && is_in_log_directory(to)) {
      const Membership::Place place = members_.place();
      return below().rename(placed(from, place), placed(to, place));
    }
    if (is_successor_name(last_name(from)) && is_of_a_node(to)) {
      ZARRFS_TRY(const auto standing, look(to));
      ZARRFS_CHECK(put(from, to, standing ? standing->identity : FileIdentity{},
                       standing ? standing->note : ""));
      return {};
    }
    ZARRFS_CHECK(check_movable(from, "moved"));
    ZARRFS_CHECK(check_movable(to, "replaced"));
    return below().rename(placed(from), to);
  }

  Result<void> remove(const std::string& path) override {
    if (is_own_path(path))
      return is_undecided(path) ? Result<void>{} : below().remove(placed(path));
    if (is_of_a_node(path) || generations_.known_tip(path)) return refused(path, "removed");
    return below().remove(path);
  }
  Result<void> make_directory(const std::string& path, mode_t mode) override {
    return below().make_directory(placed(path), mode);
  }
  Result<void> remove_directory(const std::string& path) override {
    return below().remove_directory(placed(path));
  }
  Result<void> sync_directory(const std::string& path) override {
    return below().sync_directory(path == kLogDirectory ? members_.place().path : placed(path));
  }
  Result<Fd> open_plain(const std::string& path, int flags, mode_t mode) override {
    return below().open_plain(placed(path), flags, mode);
  }

  // As at a server.

  Result<void> begin(Say /*say*/) override {
    return members_.join([this] { log_is_lost(); });
  }
  [[nodiscard]] std::string mount_id() const override { return members_.mount(); }
  SharedStore* shared() override { return this; }

  Result<std::optional<Standing>> look(const std::string& path) override {
    ZARRFS_TRY(const Tip tip,
               look_again(several(), [&] { return generations_.settled_tip(path); }));
    if (tip.identity == FileIdentity{} && tip.generation == 0) return std::nullopt;
    return Standing{tip.identity, version_text(tip), tip.record.notes};
  }
  Result<std::string> shown_version(const std::string& path) override {
    ZARRFS_TRY(const Tip tip, generations_.newest_tip(path));
    return version_text(tip);
  }
  bool away() override { return false; }
  std::vector<std::string> waiting() override { return {}; }

  Result<FileIdentity> put(const std::string& from, const std::string& path,
                           const FileIdentity& expected, const std::string& note) override {
    ZARRFS_CHECK(below().check_changeable(path));
    ZARRFS_TRY(const Tip tip,
               look_again(several(), [&] { return generations_.settled_tip(path); }));
    if (tip.identity != expected) return stale(path);
    ZARRFS_TRY(const std::string beside, bring_beside(from, path));
    {
      const std::lock_guard lock(mutex_);
      undecided_.insert(beside);
    }
    ZARRFS_TRY(const auto put, generations_.put(beside, path, tip, note));
    {
      const std::lock_guard lock(mutex_);
      undecided_.erase(beside);
    }
    if (put == Generations::Put::kFenced) log_is_lost();
    if (put != Generations::Put::kDone) {
      if (beside != from) ZARRFS_CHECK(below().remove(beside));
      return stale(path);
    }
    const auto made = generations_.known_tip(path);
    return made ? made->identity : FileIdentity{};
  }
  Result<void> remove_object(const std::string& path, const FileIdentity& /*expected*/) override {
    return refused(path, "removed");
  }

  Result<std::uint64_t> newest_generation(const std::string& path) override {
    ZARRFS_TRY(const Tip tip, generations_.newest_tip(path));
    return tip.generation;
  }

  // What others left.

  Result<std::vector<OtherWriter>> others() override { return members_.others(); }

  Result<std::vector<OtherWriter>> take(const std::vector<OtherWriter>& suspects) override {
    std::vector<OtherWriter> taken;
    bool looked_anew = false;
    for (const OtherWriter& suspect : suspects) {
      ZARRFS_TRY(const bool done, members_.take(suspect));
      if (!done) continue;
      taken.push_back(suspect);
      if (suspect.has_kept()) continue;  // it was read once, after the caches
      looked_anew = true;
      members_.options().say(false, "store " + name() + ": took the log of " +
                                        described(suspect.record) + ", which gave no sign of life" +
                                        told_wait());
    }
    if (looked_anew && !members_.outlast_caches()) {
      return fail(Fault::kBusy, "this mount ends; whoever comes next takes the logs");
    }
    return taken;
  }

  Result<TakenLog> read(const OtherWriter& taken) override {
    ZARRFS_TRY(auto contents, log_in(shared_below(), folder_of(taken.record)));
    const std::string& writer = taken.record.writer;
    return TakenLog{taken, writer.substr(0, writer.rfind('-')),
                    contents ? std::move(*contents) : LogContents{}};
  }

  Result<void> finish(const OtherWriter& other, bool kept) override {
    ZARRFS_TRY(const auto announced, announced_by(*shared_below(), folder_of(other.record)));
    for (const Announcement& one : announced) {
      ZARRFS_CHECK(generations_.decide(one.path, one.generation));
      ZARRFS_TRY(const bool won, generations_.has_won(one));
      if (won || one.payload.empty()) continue;
      // It must not come to the shard's name when the epoch is closed.
      ZARRFS_CHECK(
          below().remove(join_path(parent_path(one.path), kSuccessorPrefix + one.payload)));
      ZARRFS_CHECK(below().remove(kept_path(one.path, one.payload)));
    }
    ZARRFS_CHECK(members_.finish(other, kept));
    return remove_temporary_files(folder_of(other.record));
  }

  Result<void> leave(bool kept,
                     const std::function<Result<void>(const TakenLog&)>& put_rest) override {
    if (!kept) ZARRFS_CHECK(close_if_last(put_rest));
    if (closed_) return {};
    ZARRFS_CHECK(members_.leave(kept));
    // Two that leave at the same moment would both see the other; where a log was taken, whoever
    // comes next reads it to its end.
    const auto nothing_to_put = [](const TakenLog&) -> Result<void> {
      return fail(Fault::kBusy, "somebody has to put the rest of a log");
    };
    if (!kept) static_cast<void>(close_if_last(nothing_to_put));
    return {};
  }

  std::string sharing() override {
    Json others = Json::array();
    const auto all = members_.others();
    const auto arrivals = members_.arrivals();
    for (const OtherWriter& other : all ? *all : std::vector<OtherWriter>{}) {
      Json told = {{"writer", other.record.writer},
                   {"host", other.record.host},
                   {"pid", other.record.process},
                   {"state", state_of(other)}};
      const auto came = arrivals ? arrivals->find(other.record.writer) : Arrivals::const_iterator();
      if (arrivals && came != arrivals->end()) told["since"] = iso_time(came->second);
      if (!other.has_ended()) told["silent_seconds"] = seconds_since(other.moved);
      others.push_back(std::move(told));
    }
    return dump_json({{"writer", members_.writer()},
                      {"epoch", last_name(members_.epoch())},
                      {"others", std::move(others)}});
  }

  void when_log_is_lost(std::function<void()> write_anew) override {
    const std::lock_guard lock(mutex_);
    write_anew_ = std::move(write_anew);
  }
  [[nodiscard]] std::chrono::milliseconds between_looks() const override {
    return std::min<std::chrono::milliseconds>(members_.options().lease / 3, kBetweenLooks);
  }
  void stop() override { members_.stop(); }

 private:
  /// Whether a name may be absent only for a moment, while another machine replaces its file:
  /// absence is the fill value to readers.
  [[nodiscard]] bool may_be_hidden(const std::string& path) const {
    return several() && is_of_a_node(path) && !members_.epoch().empty();
  }
  /// What was absent may be a directory that another machine has made since: no file to open.
  Result<std::optional<struct stat>> directory_or(const Error& error, const std::string& path) {
    auto found = below().status(path);
    if (found && *found && S_ISDIR((*found)->st_mode)) return found;
    return fail(error);
  }
  [[nodiscard]] bool several() const { return members_.options().caches.count() > 0; }
  void log_is_lost() {
    std::function<void()> write_anew;
    {
      const std::lock_guard lock(mutex_);
      write_anew = write_anew_;
    }
    if (write_anew) write_anew();
  }
  static bool is_log(const std::string& path) {
    return path == kLogPath || path == std::string(kLogPath) + ".next";
  }
  using Arrivals = std::map<std::string, std::int64_t>;
  static std::int64_t seconds_since(std::chrono::steady_clock::time_point time) {
    const auto passed = std::chrono::steady_clock::now() - time;
    return std::chrono::duration_cast<std::chrono::seconds>(passed).count();
  }
  static std::string state_of(const OtherWriter& other) {
    if (other.suspect) return "no sign of life";
    if (other.token == kLeft || other.token == kFinished) return "left";
    if (other.token == kKept) return "left, with chunks that were not put";
    return "writes";
  }
  static std::string described(const MemberRecord& record) {
    return "process " + std::to_string(record.process) + " on " + record.host;
  }

  [[nodiscard]] std::string told_wait() const {
    const auto caches = members_.options().caches;
    if (caches.count() == 0) return "";
    return "; it is read in " + std::to_string(caches.count() / 1000) +
           " s, when what this machine has seen of it before is forgotten (shared_caches)";
  }

  /// Where a file of zarrfs's own is: in this writer's directory, if its path is one of `.zarrfs`.
  [[nodiscard]] static std::string placed(const std::string& path, const Membership::Place& place) {
    if (!is_in_log_directory(path) || place.path.empty()) return path;
    return join_path(place.path, path.substr(std::string_view(kLogDirectory).size() + 1));
  }
  [[nodiscard]] std::string placed(const std::string& path) const {
    return is_in_log_directory(path) ? placed(path, members_.place()) : path;
  }
  [[nodiscard]] std::string folder_of(const MemberRecord& record) const {
    return join_path(join_path(members_.epoch(), kWriters), record.writer);
  }

  /// What a writer had begun, and the room that it had reserved: nothing of it was acknowledged.
  Result<void> remove_temporary_files(const std::string& folder) {
    ZARRFS_TRY(const auto names, names_in(below(), folder));
    for (const std::string& name : names) {
      if (is_successor_name(name)) ZARRFS_CHECK(below().remove(join_path(folder, name)));
    }
    return {};
  }

  /// The file in the directory in which it is going to have its name.
  Result<std::string> bring_beside(const std::string& from, const std::string& path) {
    if (parent_path(from) == parent_path(path)) return from;
    const std::string beside = join_path(parent_path(path), last_name(from));
    ZARRFS_CHECK(members_.intend(path));
    ZARRFS_TRY(const NameStep step, below().links()->move_name(placed(from), beside));
    if (step == NameStep::kDone) return beside;
    return fail(Fault::kStale, path + ": what was written of it was lost with the log");
  }

  tl::unexpected<Error> stale(const std::string& path) const {
    return fail(Fault::kStale, name() + "/" + path + ": another writer has replaced it");
  }
  tl::unexpected<Error> refused(const std::string& path, const char* what) const {
    return fail(Fault::kReadOnly, "/" + path + ": is not " + what +
                                      " while several mounts write to the store (-o shared); "
                                      "mount it with -o rw alone for that");
  }
  Result<void> check_movable(const std::string& path, const char* what) {
    if (is_own_path(path)) return {};
    ZARRFS_TRY(const auto there, below().status(path));
    const bool directory = there && S_ISDIR(there->st_mode);
    if (directory || is_of_a_node(path) || generations_.known_tip(path)) {
      return refused(path, what);
    }
    return {};
  }
  bool is_undecided(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return undecided_.contains(path);
  }

  /// Who leaves last has the logs that were taken read once more: to the end.
  Result<void> close_if_last(const std::function<Result<void>(const TakenLog&)>& put_rest) {
    ZARRFS_TRY(const auto all, members_.others());
    bool any = false;
    for (const OtherWriter& other : all) {
      any = any || other.token == kFinished;
      if (other.token != kLeft && other.token != kFinished) return {};
    }
    if (any) wait_for_caches();
    for (const OtherWriter& other : all) {
      if (other.token != kFinished) continue;
      ZARRFS_TRY(const TakenLog log, read(other));
      ZARRFS_CHECK(put_rest(log));
    }
    ZARRFS_CHECK(settle_all(shared_below(), members_.epoch()));
    ZARRFS_TRY(closed_, members_.say_closed());
    if (!closed_) return {};
    return finish_closing(shared_below(), members_.epoch());
  }
  void wait_for_caches() const {
    // Only time makes an old answer go.
    std::this_thread::sleep_for(members_.options().caches);
  }

  Membership members_;
  Generations generations_;
  bool closed_ = false;
  TableMutex mutex_;
  std::function<void()> write_anew_;  ///< Under its mutex, as what follows.
  std::set<std::string> undecided_;   ///< Files that may be a generation.
};

}  // namespace

Result<std::chrono::milliseconds> usual_caches(Store& store) {
  constexpr std::chrono::seconds kOfSeveralMachines{90};
  ZARRFS_TRY(const std::string cluster, cluster_file_system_of(store));
  return cluster.empty() ? std::chrono::seconds{0} : kOfSeveralMachines;
}

std::shared_ptr<SharedStore> make_shared_store(std::shared_ptr<Store> store,
                                               SharedOptions options) {
  return std::make_shared<SharedDirectory>(std::move(store), std::move(options));
}

}  // namespace zarrfs
