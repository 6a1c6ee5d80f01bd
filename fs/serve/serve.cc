#include "fs/serve/serve.h"

#include <poll.h>

#include "core/base/file_limit.h"
#include "core/base/json.h"
#include "core/base/memory.h"
#include "core/base/printable.h"
#include "core/base/request.h"
#include "core/cli/exit_code.h"
#include "core/formats/open_source.h"
#include "core/store/unfinished.h"
#include "core/vfs/open_view.h"
#include "fs/options/opened.h"
#include "fs/serve/front_page.h"
#include "fs/serve/site.h"
#include "fs/session/memory_keeper.h"
#include "fs/session/process.h"
#include "fs/session/service_manager.h"

namespace zarrfs {
namespace {

constexpr unsigned kPartForBodies = 8;  // of the memory
constexpr std::size_t kLeastBlock = std::size_t{16} << 10U;
constexpr std::size_t kMostBlock = std::size_t{256} << 10U;

class Service {
 public:
  Service(ServeRequest request, std::ostream& out) : request_(std::move(request)), out_(out) {}

  Result<void> run() {
    ZARRFS_TRY(signals_, take_signals());
    const MountSettings& settings = request_.settings;
    const LogTarget target =
        settings.log_file.empty() ? LogTarget::kStandardError : LogTarget::kFile;
    ZARRFS_TRY(log_, Log::open(target, settings.log_level, settings.log_file));
    ZARRFS_CHECK(open_until_signal());
    ZARRFS_CHECK(listen());
    return serve();
  }

 private:
  Result<void> open_until_signal() {
    const RequestScope scope(
        std::nullopt,
        [](const void* self) { return is_readable(static_cast<const Service*>(self)->signals_); },
        this);
    auto opened = open();
    if (!opened && is_readable(signals_)) opened.error().message += "; interrupted";
    return opened;
  }

  Result<void> open() {
    const MountSettings& settings = request_.settings;
    ZARRFS_TRY(memory_, plan_memory(memory_wishes(settings, request_.source), machine_memory()));
    ViewOptions options = view_options(settings, memory_, log_);
    const StoreOptions of_store = store_options(settings, memory_, log_);
    ZARRFS_TRY(store_, open_source(request_.source, of_store));
    if (const auto unfinished = unfinished_source(*store_)) {
      log_->write(LogLevel::kWarning, *unfinished);
    }
    leave_room_for_manifests(*store_, memory_, options);
    auto view = open_view(store_, options);
    if (!view &&
        (view.error().fault == Fault::kInvalid || view.error().fault == Fault::kUnsupported)) {
      const auto foreign = foreign_source(request_.source, {settings.links, 0, settings.remote});
      if (foreign) view.error().message = printable(request_.source) + ": is " + *foreign;
    }
    if (!view) return fail(std::move(view.error()));
    view_ = std::move(*view);
    return {};
  }

  Result<void> listen() {
    ServerSettings server = request_.server;
    server.near = store_->traits().near;
    server.threads = memory_.threads;
    SiteSettings site;
    site.access = request_.access;
    site.name = store_->name();
    site.near = server.near;
    site.immutable = request_.settings.view.immutable;
    site.statistics = request_.statistics;
    site.block = std::clamp<std::size_t>(memory_.bound / kPartForBodies / server.connections,
                                         kLeastBlock, kMostBlock);
    site.complain = [log = log_](const std::string& line) { log->write(LogLevel::kError, line); };
    pages_ = std::make_unique<FrontPage>(*view_, store_, !request_.access.token.empty());
    site_ = std::make_unique<Site>(*view_, pages_.get(), std::move(site));
    ZARRFS_TRY(server_, Server::listen(server, [site = site_.get()](const Request& request) {
                 return site->answer(request);
               }));
    view_->set_front_statistics([this] { return statistics(); });
    return {};
  }

  Result<void> serve() {
    server_->start();
    out_ << "serving " << printable(request_.source.substr(0, request_.source.find('?')))
         << " on http://" << server_->address() << "/" << std::endl;
    if (!server_->only_for_this_machine() && request_.access.token.empty()) {
      log_->write(LogLevel::kWarning, "whoever reaches " + server_->address() +
                                          " can read all of it; --token-file asks for a password");
    }
    if (const std::string notice = view_->notice(); !notice.empty()) {
      log_->write(LogLevel::kInfo, notice);
    }
    tell_service_manager("READY=1");
    MemoryKeeper keeper({.resident = [] { return resident_memory().now; },
                         .give_back = give_free_memory_back,
                         .spare = [] { return std::vector<NodeId>(); },
                         .prune = [](auto /*nodes*/) { return false; }},
                        memory_.bound);
    for (;;) {
      pollfd ready = {signals_.get(), POLLIN, 0};
      if (::poll(&ready, 1, MemoryKeeper::kPause) > 0) break;
      keeper.look();
    }
    static_cast<void>(next_signal(signals_));
    tell_service_manager("STOPPING=1");
    server_->stop();
    return view_->close();
  }

  [[nodiscard]] std::string statistics() const {
    const Server::Counters server = server_->counters();
    const Site::Counters& site = site_->counters();
    return dump_json({{"http",
                       {{"requests", site.requests.load()},
                        {"refused", site.refused.load()},
                        {"absent", site.absent.load()},
                        {"faults", site.faults.load()},
                        {"connections", server.connections},
                        {"connections_accepted", server.accepted},
                        {"connections_turned_away", server.turned_away},
                        {"bytes_sent", server.bytes_sent}}}});
  }

  ServeRequest request_;
  std::ostream& out_;
  Fd signals_;
  std::shared_ptr<Log> log_;
  MemoryPlan memory_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<View> view_;
  std::unique_ptr<FrontPage> pages_;
  std::unique_ptr<Site> site_;
  std::unique_ptr<Server> server_;  ///< Before all that it asks.
};

}  // namespace

int run_serve(ServeRequest request, std::ostream& out, std::ostream& err) {
  fill_standard_descriptors();
  close_inherited({});
  raise_file_limit();
  settle_allocator();
  const auto done = Service(std::move(request), out).run();
  if (done) return kGood;
  err << "zarrfs: " << done.error().message << std::endl;
  return done.error().fault == Fault::kInvalid ? kUsage : kCouldNot;
}

}  // namespace zarrfs
