#include "fs/options/opened.h"

#include <algorithm>

#include "core/codecs/decoding_room.h"
#include "core/store/http/schemes.h"
#include "core/store/store.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kPartForTable = 4;      // of what is kept of a server's objects
constexpr std::uint64_t kPartForManifests = 2;  // of what is kept of indexes, where there are any
constexpr std::size_t kShardsKeptOpen = 64;     // where they do not change

LogLevel log_level(ViewOptions::Level level) {
  switch (level) {
    case ViewOptions::Level::kInfo: return LogLevel::kInfo;
    case ViewOptions::Level::kWarning: return LogLevel::kWarning;
    case ViewOptions::Level::kError: return LogLevel::kError;
  }
  return LogLevel::kError;
}

/// The options of the spool are for stores that have one.
Result<void> check_spool(const MountSettings& settings, const std::string& source) {
  const bool writes = settings.access == MountSettings::Access::kReadWrite;
  const Scheme* const scheme = scheme_named(scheme_name(source));
  const bool has_spool = writes && scheme != nullptr && scheme->written;
  if (has_spool && settings.allow_other) {
    return fail(Fault::kUnsupported,
                "options allow_other and rw exclude each other for stores at a server: what is "
                "written is one user's until it is there");
  }
  const bool asked = !settings.remote.spool.empty() || settings.remote.spool_in_memory ||
                     (settings.writing.hold_conflicts && !settings.shared.on);
  if (has_spool || !asked) return {};
  return fail(Fault::kInvalid,
              "options spool, spool_in_memory and conflicts=fail are for stores of " +
                  written_schemes() + " with rw only, conflicts=fail also for shared");
}

/// Several writers of a directory are one user's, and all see the same files.
Result<void> check_shared(const MountSettings& settings, const std::string& source) {
  if (!settings.shared.on) return {};
  const auto refused = [](const char* why) { return fail(Fault::kInvalid, why); };
  if (settings.access != MountSettings::Access::kReadWrite) {
    return refused("option shared needs rw");
  }
  if (!is_local(source)) {
    return refused(
        "option shared is for directories: at a server several mounts may write without it");
  }
  if (settings.allow_other) {
    return refused(
        "option shared excludes allow_other: all who write are one user to the file system");
  }
  if (settings.links == LinkPolicy::kFollow) {
    return refused("option shared excludes symlinks=follow");
  }
  return {};
}

}  // namespace

Result<void> check_for_source(const MountSettings& settings, const std::string& source) {
  ZARRFS_CHECK(check_spool(settings, source));
  return check_shared(settings, source);
}

MemoryWishes memory_wishes(const MountSettings& settings, const std::string& source) {
  MemoryWishes wishes = settings.memory;
  wishes.far = !is_local(source) || !std::all_of(settings.virtual_prefixes.begin(),
                                                 settings.virtual_prefixes.end(), is_local);
  wishes.threads = settings.threads;
  return wishes;
}

ViewOptions view_options(const MountSettings& settings, const MemoryPlan& memory,
                         const std::shared_ptr<Log>& log) {
  ViewOptions options = settings.view;
  options.index_cache = memory.indexes;
  options.node_memory = memory.nodes;
  options.name_memory = memory.names;
  options.decoded_kept = memory.decoding / 4;
  set_decoding_memory(memory.decoding - options.decoded_kept);
  options.memory_bounds = {{"all", memory.bound},       {"base", memory.base},
                           {"names", memory.names},     {"nodes", memory.nodes},
                           {"indexes", memory.indexes}, {"decoding", memory.decoding},
                           {"remote", memory.remote},   {"bodies", memory.bodies},
                           {"written", memory.written}, {"ring", memory.ring}};
  options.log = [log](ViewOptions::Level level, const std::string& message) {
    log->write(log_level(level), message);
  };
  if (settings.umask) options.umask = *settings.umask;
  return options;
}

void leave_room_for_manifests(const Store& store, const MemoryPlan& memory, ViewOptions& options) {
  if (store.traits().manifests) options.index_cache -= memory.indexes / kPartForManifests;
}

StoreOptions store_options(const MountSettings& settings, const MemoryPlan& memory,
                           const std::shared_ptr<Log>& log) {
  StoreOptions options{settings.links, settings.view.immutable ? kShardsKeptOpen : 0,
                       settings.remote};
  options.remote.immutable = settings.view.immutable;
  options.virtual_prefixes = settings.virtual_prefixes;
  options.manifests = memory.indexes / kPartForManifests;
  if (memory.remote != 0) {
    options.remote.table_memory = memory.remote / kPartForTable;
    options.remote.memory_cache = memory.remote - options.remote.table_memory;
    options.remote.bodies = memory.bodies;
  }
  options.remote.write = settings.access == MountSettings::Access::kReadWrite;
  options.remote.tell = [log](const std::string& line) { log->write(LogLevel::kWarning, line); };
  return options;
}

}  // namespace zarrfs
