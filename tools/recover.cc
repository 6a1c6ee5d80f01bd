// zarrfs recover: puts the writes that an earlier mount left behind into their shards.
#include "core/base/file_limit.h"
#include "core/log/log.h"
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
    ZARRFS_TRY(const bool unpublished, has_unpublished(*store));
    if (!unpublished) console.say(source_ + ": nothing was left behind");
    ViewOptions options;
    options.writing = Writing{};
    options.log = [&console](ViewOptions::Level, const std::string& line) { console.say(line); };
    ZARRFS_TRY(const auto view, open_view(std::move(store), options));
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
