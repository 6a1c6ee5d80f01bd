// zarrfs recover: puts the writes that an earlier mount left behind into their shards.
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "core/base/file_limit.h"
#include "core/base/printable.h"
#include "core/log/log.h"
#include "core/shared/shared_store.h"
#include "core/store/remote/spool.h"
#include "core/vfs/open_view.h"
#include "core/view/view.h"
#include "tools/commands.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {
namespace {

class Recover final : public Command {
 public:
  [[nodiscard]] std::string name() const override { return "recover"; }
  [[nodiscard]] std::string summary() const override {
    return "Put the writes that a mount left behind into their shards";
  }

  void declare(CLI::App& app) override {
    app.add_option("SOURCE", source_, "The store")->required();
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    raise_file_limit();  // as the mount had it
    const auto left = recover(console);
    if (!left) return console.failed(left.error());
    for (const Unpublished& one : *left) {
      console.out << on_one_line(one.name + ": " + one.reason) << '\n';
    }
    return left->empty() ? kGood : kCouldNot;
  }

 private:
  /// What is in a spool goes to its server.
  Result<void> check_no_spool() {
    std::string told;
    for (const std::string& url : urls_in_spool(source_)) {
      told += (told.empty() ? "" : ", ") + printable(url);
    }
    if (told.empty()) return {};
    return fail(Fault::kUnsupported,
                source_ +
                    ": is a spool: what waits in it is put at its server when that is "
                    "mounted with -o rw and the same spool=: " +
                    told);
  }

  /// Returns what could not be published.
  Result<std::vector<Unpublished>> recover(const Console& console) {
    ZARRFS_TRY(std::shared_ptr<Store> store, open_store(source_, LinkPolicy::kInside));
    ZARRFS_TRY(const bool shared, is_shared(*store));
    if (shared) return recover_shared(console, std::move(store));
    ZARRFS_TRY(const bool unpublished, has_unpublished(*store));
    ZARRFS_CHECK(check_no_spool());
    if (!unpublished) console.say(source_ + ": nothing was left behind");
    return put(console, std::move(store), [] {});
  }

  /// Where several mounts wrote: what those that are dead have left. They are given the time in
  /// which one that lives would give a sign, and this machine would see it.
  Result<std::vector<Unpublished>> recover_shared(const Console& console,
                                                  std::shared_ptr<Store> store) {
    ZARRFS_TRY(const auto told, options_of_members(*store));
    SharedOptions options = told.value_or(SharedOptions{});
    if (!told) {
      ZARRFS_TRY(options.caches, usual_caches(*store));
    }
    options.say = [&console](bool, const std::string& line) { console.say(line); };
    const std::chrono::milliseconds lease = options.lease;
    const std::chrono::milliseconds caches = options.caches;
    const auto sharing = make_shared_store(std::move(store), std::move(options));
    ZARRFS_TRY(auto left,
               put(console, sharing, [&] { await_others(console, *sharing, lease, caches); }));
    const auto others = sharing->others();
    for (const OtherWriter& other : others ? *others : std::vector<OtherWriter>{}) {
      if (!other.suspect && !other.token.starts_with("taken")) continue;
      left.push_back({called(other),
                      "gives no sign of life, and its log could not be taken; run "
                      "zarrfs recover again"});
    }
    return left;
  }

  static std::string called(const OtherWriter& other) {
    return "process " + std::to_string(other.record.process) + " on " + other.record.host;
  }

  /// Until all others have ended, or live: the token of one that lives moves, also once what was
  /// seen of it is no older than this call. What is taken may be an old name of the token, so that
  /// it takes as long again to see the present one. As long as logs are being taken it goes on.
  static void await_others(const Console& console, SharedStore& store,
                           std::chrono::milliseconds lease, std::chrono::milliseconds caches) {
    const auto begun = std::chrono::steady_clock::now();
    const std::chrono::milliseconds patience = 2 * (lease + caches);
    auto until = begun + patience;
    std::map<std::string, OtherWriter> seen;
    for (bool told = false;; told = true) {
      const auto others = store.others();
      const auto now = std::chrono::steady_clock::now();
      std::vector<OtherWriter> unsure;
      for (const OtherWriter& other : others ? *others : std::vector<OtherWriter>{}) {
        const auto [first, fresh] = seen.emplace(other.record.writer, other);
        const bool moved = !fresh && first->second.token != other.token;
        const bool lives = moved && other.token.starts_with("alive") && !other.suspect &&
                           first->second.moved > begun + caches;
        if (other.has_ended() || lives) continue;
        if (moved) until = now + patience;
        first->second = other;
        unsure.push_back(other);
      }
      if (unsure.empty() || now > until) return;
      if (!told) {
        console.say("waiting up to " + std::to_string(patience.count() / 1000) +
                    " s for signs of life of " + called(unsure[0]) +
                    (unsure.size() > 1 ? " and others" : ""));
      }
      // Nothing tells of what another machine does not do.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  /// `wait`: before it ends.
  static Result<std::vector<Unpublished>> put(const Console& console, std::shared_ptr<Store> store,
                                              const std::function<void()>& wait) {
    ViewOptions options;
    options.writing = Writing{};
    options.log = [&console](ViewOptions::Level, const std::string& line) { console.say(line); };
    ZARRFS_TRY(const auto view, open_view(std::move(store), options));
    wait();
    auto closed = view->close();
    std::vector<Unpublished> left = view->unpublished();
    if (!closed && left.empty()) return fail(std::move(closed.error()));
    return left;
  }

  std::string source_;
};

}  // namespace

std::unique_ptr<Command> recover_command() { return std::make_unique<Recover>(); }

}  // namespace zarrfs::tools
