// zarrfs recover: puts the writes that an earlier mount left behind into their shards.
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "core/base/file_limit.h"
#include "core/log/log.h"
#include "core/shared/shared_store.h"
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
  /// Returns what could not be published.
  Result<std::vector<Unpublished>> recover(const Console& console) {
    ZARRFS_TRY(std::shared_ptr<Store> store, open_store(source_, LinkPolicy::kInside));
    ZARRFS_TRY(const bool shared, is_shared(*store));
    if (shared) return recover_shared(console, std::move(store));
    ZARRFS_TRY(const bool unpublished, has_unpublished(*store));
    if (!unpublished) console.say(source_ + ": nothing was left behind");
    return put(console, std::move(store), [] {});
  }

  /// Where several mounts wrote: what those that are dead have left. They are given the time in
  /// which one that lives would give a sign.
  Result<std::vector<Unpublished>> recover_shared(const Console& console,
                                                  std::shared_ptr<Store> store) {
    ZARRFS_TRY(const auto told, options_of_members(*store));
    SharedOptions options = told.value_or(SharedOptions{});
    if (!told) {
      ZARRFS_TRY(options.caches, usual_caches(*store));
    }
    options.say = [&console](bool, const std::string& line) { console.say(line); };
    const std::chrono::milliseconds lease = options.lease;
    const auto sharing = make_shared_store(std::move(store), std::move(options));
    return put(console, sharing, [&] { await_others(console, *sharing, lease); });
  }

  static void await_others(const Console& console, SharedStore& store,
                           std::chrono::milliseconds lease) {
    const auto until = std::chrono::steady_clock::now() + 2 * lease;
    std::map<std::string, std::string> first;
    for (bool told = false;; told = true) {
      const auto others = store.others();
      std::vector<OtherWriter> unsure;
      for (const OtherWriter& other : others ? *others : std::vector<OtherWriter>{}) {
        const std::string& token = other.token;
        const auto seen = first.emplace(other.record.writer, token);
        const bool moved = seen.first->second != token && !other.suspect;
        if (other.has_ended() || (moved && token.starts_with("alive"))) continue;
        unsure.push_back(other);
      }
      if (unsure.empty() || std::chrono::steady_clock::now() > until) return;
      if (!told) {
        console.say("waiting up to " + std::to_string(2 * lease.count() / 1000) +
                    " s for signs of life of process " + std::to_string(unsure[0].record.process) +
                    " on " + unsure[0].record.host + (unsure.size() > 1 ? " and others" : ""));
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
