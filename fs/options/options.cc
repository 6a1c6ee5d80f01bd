#include "fs/options/options.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>

#include "core/base/printable.h"
#include "core/cli/lengths.h"
#include "core/present/profile_file.h"
#include "core/store/http/schemes.h"
#include "fs/options/old_options.h"
#include "fs/options/option_values.h"

namespace zarrfs {
namespace {

using Group = MountOption::Group;
using Setter = std::function<Result<void>(MountSettings&, const std::string&)>;

constexpr std::uint64_t kMostThreads = 256;
constexpr std::uint64_t kMostPartSize = std::uint64_t{1} << 40U;
constexpr std::uint64_t kHighestProcess = std::uint64_t{1} << 22U;  // PID_MAX_LIMIT
constexpr std::uint64_t kHighestId = std::numeric_limits<std::uint32_t>::max() - 1;

/// A setter from two functions: text -> Result<value>, and where the value goes.
template <class Parse, class Store>
Setter value_setter(Parse parse, Store store) {
  return [parse, store](MountSettings& settings, const std::string& text) -> Result<void> {
    ZARRFS_TRY(auto value, parse(text));
    store(settings, std::move(value));
    return {};
  };
}

template <class Store>
Setter flag_setter(Store store) {
  return [store](MountSettings& settings, const std::string&) -> Result<void> {
    store(settings);
    return {};
  };
}

template <class Value>
using Words = std::vector<std::pair<std::string, Value>>;

template <class Value>
std::string alternatives(const Words<Value>& words) {
  std::string list;
  for (const auto& [word, value] : words) list += (list.empty() ? "" : "|") + word;
  return list;
}

/// A setter for an option whose argument is one of a few words.
template <class Value, class Store>
Setter word_setter(const Words<Value>& words, Store store) {
  return [words, store](MountSettings& settings, const std::string& text) -> Result<void> {
    for (const auto& [word, value] : words) {
      if (word != text) continue;
      store(settings, value);
      return {};
    }
    return fail(Fault::kInvalid,
                "\"" + printable(text) + "\" is not one of " + alternatives(words));
  };
}

/// `set`, which also takes a word by the name that it had before.
Setter with_old_word(const std::string& option, const std::string& old, const std::string& word,
                     const Setter& set) {
  return [=](MountSettings& settings, const std::string& text) -> Result<void> {
    if (text != old) return set(settings, text);
    settings.words.push_back(old_spelling(option + "=" + old, option + "=" + word));
    return set(settings, word);
  };
}

Setter kernel_setter(const std::string& name) {
  return flag_setter([name](MountSettings& s) { s.kernel_options.push_back(name); });
}

Result<std::uint64_t> parse_id(const std::string& text) {
  return parse_number(text, 0, kHighestId);
}

Result<std::uint64_t> parse_part_size(const std::string& text) {
  ZARRFS_TRY(const std::uint64_t bytes, parse_size(text));
  if (bytes > kMostPartSize) {
    return fail(Fault::kInvalid, "\"" + printable(text) + "\" is more than 1 TiB");
  }
  return bytes;
}

Result<std::string> parse_path(const std::string& text) {
  if (text.empty()) return fail(Fault::kInvalid, "a file name is missing");
  return text;
}

void add_access(std::vector<MountOption>& table) {
  using Access = MountSettings::Access;
  const Words<LinkPolicy> links = {{"inside", LinkPolicy::kInside},
                                   {"follow", LinkPolicy::kFollow}};
  table.insert(
      table.end(),
      {{"ro", "", "", "only reading", Group::kAccess,
        flag_setter([](MountSettings& s) { s.access = Access::kReadOnly; })},
       {"rw", "", "",
        "reading and writing, or no mount; without ro and rw, a store that cannot be written "
        "is mounted read-only, with a message, and one that another mount writes is refused",
        Group::kAccess, flag_setter([](MountSettings& s) { s.access = Access::kReadWrite; })},
       {"writers", "one|many", "",
        "one: the same as rw; many: as rw,shared. For fstab and mount(8), which say rw of every "
        "mount and keep the word shared for themselves",
        Group::kAccess,
        word_setter(Words<bool>{{"one", false}, {"many", true}},
                    [](MountSettings& s, bool many) {
                      s.access = Access::kReadWrite;
                      s.insists_on_writing = true;
                      s.shared.on = many;
                    })},
       {"symlinks", alternatives(links), "inside",
        "whether symbolic links may lead out of the store", Group::kAccess,
        word_setter(links, [](MountSettings& s, LinkPolicy policy) { s.links = policy; })},
       {"virtual", "PREFIX", "",
        "a path or URL below which chunks may be read that lie outside the source "
        "(references, virtual chunks of Icechunk); may be repeated; nothing else is read",
        Group::kAccess,
        value_setter(parse_path,
                     [](MountSettings& s, std::string prefix) {
                       s.virtual_prefixes.push_back(std::move(prefix));
                     })},
       {"uid", "N", "", "owner of the files shown; by default that of the stored file",
        Group::kAccess,
        value_setter(parse_id,
                     [](MountSettings& s, std::uint64_t id) {
                       s.view.uid = static_cast<std::uint32_t>(id);
                     })},
       {"gid", "N", "", "group of the files shown; by default that of the stored file",
        Group::kAccess,
        value_setter(parse_id,
                     [](MountSettings& s, std::uint64_t id) {
                       s.view.gid = static_cast<std::uint32_t>(id);
                     })},
       {"umask", "OCTAL", "",
        "permission bits taken away from the files shown; by default 022, with allow_other "
        "none",
        Group::kAccess,
        value_setter(parse_permissions,
                     [](MountSettings& s, std::uint32_t bits) { s.umask = bits; })},
       {"allow_other", "", "", "other users may use the mount, too, as the permission bits say",
        Group::kAccess, flag_setter([](MountSettings& s) { s.allow_other = true; })},
       {"allow_root", "", "", "root may use the mount, too, if an ordinary user mounts",
        Group::kAccess, flag_setter([](MountSettings& s) { s.allow_root = true; })}});
}

void add_view(std::vector<MountOption>& table) {
  const Words<ViewFormat> formats = {{"v2", ViewFormat::kV2}, {"v3", ViewFormat::kV3}};
  const Words<char> separators = {{".", '.'}, {"/", '/'}, {"dot", '.'}, {"slash", '/'}};
  const Words<Materialise> ways = {
      {"off", Materialise::kOff}, {"lookup", Materialise::kLookup}, {"list", Materialise::kList}};
  table.insert(
      table.end(),
      {{"view", alternatives(formats), "v2",
        "the Zarr format shown: version 2, or version 3 without sharding", Group::kView,
        word_setter(formats, [](MountSettings& s, ViewFormat format) { s.view.format = format; })},
       {"profile", "PROFILE", kAutoProfile,
        "the programs that will read: the name of a profile, or a profile file; `zarrfs "
        "profiles NAME` prints one",
        Group::kView,
        [](MountSettings& s, const std::string& text) { return take_profile(s.view, text); }},
       {"separator", alternatives(separators), "",
        "between the numbers in the name of a v2 chunk; by default as written, or the profile's",
        Group::kView,
        word_setter(separators, [](MountSettings& s, char c) { s.view.separator = c; })},
       {"materialise", alternatives(ways), "",
        "show chunks that are not stored, full of the fill value: never (off), when asked "
        "for by name (lookup), or in listings, too (list); by default what the readers of "
        "the profile need",
        Group::kView,
        word_setter(ways, [](MountSettings& s, Materialise way) { s.view.materialise = way; })},
       {"rechunk", "LENGTHS", "",
        "show chunks of this shape instead, in elements: 64x64x64, or one number for every "
        "axis",
        Group::kView,
        value_setter(parse_lengths, [](MountSettings& s, std::vector<std::uint64_t> lengths) {
          s.view.rechunk = std::move(lengths);
        })}});
}

void add_caching(std::vector<MountOption>& table) {
  const Words<bool> watch = {{"auto", true}, {"off", false}};
  table.insert(
      table.end(),
      {{"immutable", "", "",
        "the store does not change while it is mounted: everything may be cached for ever",
        Group::kCaching, flag_setter([](MountSettings& s) { s.view.immutable = true; })},
       {"timeout", "SECONDS", "1.0",
        "how long names and attributes may be cached if the store may change", Group::kCaching,
        value_setter(parse_seconds, [](MountSettings& s, double seconds) { s.timeout = seconds; })},
       {"watch", alternatives(watch), "auto",
        "auto: watch the directories of a local store that may change (inotify), so that "
        "names of chunks may be cached for a minute; not with allow_other",
        Group::kCaching, word_setter(watch, [](MountSettings& s, bool on) { s.watch = on; })},
       {"memory", "SIZE", "",
        "bound on the memory of the daemon, all parts together; by default a quarter of what "
        "the machine, or the control group, has",
        Group::kCaching,
        value_setter(parse_size,
                     [](MountSettings& s, std::uint64_t bytes) { s.memory.bound = bytes; })},
       {"index_cache", "SIZE", "",
        "part of memory: indexes of shards; by default 64M, or an eighth of memory if that "
        "is less",
        Group::kCaching,
        value_setter(parse_part_size,
                     [](MountSettings& s, std::uint64_t bytes) { s.memory.index_cache = bytes; })},
       {"decode_memory", "SIZE", "",
        "part of memory: chunks that are decoded, a quarter of it for those decoded last; by "
        "default what the other parts leave",
        Group::kCaching,
        value_setter(parse_size, [](MountSettings& s,
                                    std::uint64_t bytes) { s.memory.decode_memory = bytes; })},
       {"read_ahead", "SIZE", "8M",
        "bytes of a shard to fetch in advance when chunks are read in order; 0: none",
        Group::kCaching,
        value_setter(parse_size,
                     [](MountSettings& s, std::uint64_t bytes) { s.view.read_ahead = bytes; })},
       {"direct_io", "", "",
        "chunks of 256 KiB and more that lie in a local file are read past the kernel's page "
        "cache: whole chunks come faster and take no memory twice, small pieces of them come "
        "slower, and programs cannot map them with MAP_SHARED",
        Group::kCaching, flag_setter([](MountSettings& s) { s.view.direct_io = true; })}});
}

void add_remote(std::vector<MountOption>& table) {
  for (const RemoteOption& option : remote_options()) {
    table.push_back(
        {option.name, option.argument, option.default_value, option.help, Group::kRemote,
         [set = option.set, name = option.name](MountSettings& settings, const std::string& value) {
           auto done = set(settings.remote, value);
           if (name == "memory_cache") {
             settings.memory.memory_cache = settings.remote.memory_cache;
           }
           return done;
         }});
  }
}

Writing& writing(MountSettings& settings) { return settings.writing; }

Result<double> parse_pause(const std::string& text) {
  ZARRFS_TRY(const double seconds, parse_seconds(text));
  if (seconds > 3600) return fail(Fault::kInvalid, "\"" + printable(text) + "\" is over an hour");
  return seconds;
}

/// "512x512x64", "8x8x1chunks" or "64M".
Result<ShardForm> parse_shards(const std::string& text) {
  constexpr std::string_view kChunks = "chunks";
  ShardForm form;
  const bool lengths_only = text.find_first_not_of("0123456789x") == std::string::npos;
  if (lengths_only) {
    ZARRFS_TRY(form.shape, parse_lengths(text));
  } else if (text.ends_with(kChunks)) {
    ZARRFS_TRY(form.chunks,
               parse_lengths(std::string_view(text).substr(0, text.size() - kChunks.size())));
  } else {
    ZARRFS_TRY(form.bytes, parse_size(text));
  }
  return form;
}

void add_writing(std::vector<MountOption>& table) {
  const Words<bool> flush = {{"close", true}, {"later", false}};
  const Words<bool> validate = {{"decode", true}, {"off", false}};
  const Words<bool> deletes = {{"allow", true}, {"deny", false}};
  const Words<bool> conflicts = {{"last", false}, {"fail", true}};
  const Words<bool> fsync = {{"keep", false}, {"commit", true}};
  const Words<bool> foreign = {{"keep", false}, {"drop", true}};
  table.insert(
      table.end(),
      {{"flush_after", "SECONDS", "5",
        "a shard is rewritten when nobody has written to it for this long", Group::kWriting,
        value_setter(parse_pause,
                     [](MountSettings& s, double seconds) {
                       writing(s).flush_after =
                           std::chrono::milliseconds(static_cast<int>(seconds * 1000));
                     })},
       {"flush", alternatives(flush), "later",
        "close: each close(2) of a chunk rewrites its shard, and waits for that", Group::kWriting,
        word_setter(flush,
                    [](MountSettings& s, bool at_close) { writing(s).flush_at_close = at_close; })},
       {"write_buffer", "SIZE", "",
        "part of memory: what is being written; more goes to files in the store; by default "
        "256M, or an eighth of memory if that is less",
        Group::kWriting,
        value_setter(parse_part_size,
                     [](MountSettings& s, std::uint64_t bytes) { s.memory.write_buffer = bytes; })},
       {"validate", alternatives(validate), "decode",
        "decode: bytes that do not decode to a chunk are kept and shown, but not put into a "
        "shard",
        Group::kWriting,
        with_old_word(
            "validate", "cheap", "decode",
            word_setter(validate, [](MountSettings& s, bool on) { writing(s).validate = on; }))},
       {"deletes", alternatives(deletes), "allow",
        "deny: chunks, documents and nodes cannot be removed or replaced by a rename",
        Group::kWriting,
        word_setter(deletes, [](MountSettings& s, bool may) { writing(s).may_delete = may; })},
       {"foreign_bytes", alternatives(foreign), "keep",
        "keep: a shard that is also an HDF5 or TIFF file is not written to; drop: a write "
        "makes it a shard only",
        Group::kWriting,
        word_setter(foreign, [](MountSettings& s, bool drop) { writing(s).drop_foreign = drop; })},
       {"spool", "DIR", "",
        "directory for what was written and is not at the server yet, with rw; by default "
        "$XDG_STATE_HOME/zarrfs/spool, for root /var/lib/zarrfs/spool",
        Group::kWriting,
        value_setter(parse_path,
                     [](MountSettings& s, std::string path) { s.remote.spool = std::move(path); })},
       {"spool_bytes", "SIZE", "0",
        "how many written bytes may wait to be put into their shards; at that size shards "
        "are written before more is accepted, or writing fails with ENOSPC; 0: no limit",
        Group::kWriting,
        value_setter(parse_size, [](MountSettings& s,
                                    std::uint64_t bytes) { writing(s).most_unpublished = bytes; })},
       {"conflicts", alternatives(conflicts), "last",
        "which counts if two mounts write the same chunk at a server, or with shared; last: the "
        "later one; fail: the first one, and the other stays with its mount, with EBUSY",
        Group::kWriting,
        word_setter(conflicts,
                    [](MountSettings& s, bool hold) { writing(s).hold_conflicts = hold; })},
       {"shared", "", "",
        "let several mounts, on one machine or many, write to the same directory; all of them "
        "need this option",
        Group::kWriting, flag_setter([](MountSettings& s) { s.shared.on = true; })},
       {"shared_lease", "SECONDS", "30",
        "with shared, how long a mount may be silent before another takes it for dead and puts "
        "its chunks into their shards",
        Group::kWriting,
        value_setter(parse_pause,
                     [](MountSettings& s, double seconds) { s.shared.lease = seconds; })},
       {"shared_caches", "SECONDS", "",
        "with shared, how long a machine's view of the file system may be old; by default 90, and "
        "0 on a local file system",
        Group::kWriting,
        value_setter(parse_pause,
                     [](MountSettings& s, double seconds) { s.shared.caches = seconds; })},
       {"fsync", alternatives(fsync), "keep",
        "keep: fsync(2) makes what was written durable in the log, or in the spool; commit: "
        "it rewrites the shard (at a server: uploads it), and waits for that",
        Group::kWriting,
        word_setter(fsync,
                    [](MountSettings& s, bool commit) { writing(s).commit_at_sync = commit; })},
       {"spool_in_memory", "", "",
        "the spool may be on a file system in memory, where a power cut loses it", Group::kWriting,
        flag_setter([](MountSettings& s) { s.remote.spool_in_memory = true; })},
       {"shards", "SHARDS", "64M",
        "shards of new arrays: in elements (512x512x64, or one number for every axis), in "
        "chunks (8x8x1chunks), or by the size of their decoded chunks, such as 256M",
        Group::kWriting, value_setter(parse_shards, [](MountSettings& s, ShardForm form) {
          writing(s).shards = std::move(form);
        })}});
}

void add_daemon(std::vector<MountOption>& table) {
  const Words<LogLevel> levels = {{"error", LogLevel::kError},
                                  {"warning", LogLevel::kWarning},
                                  {"info", LogLevel::kInfo},
                                  {"debug", LogLevel::kDebug}};
  const Words<RingUse> rings = {
      {"auto", RingUse::kAuto}, {"on", RingUse::kOn}, {"off", RingUse::kOff}};
  table.insert(
      table.end(),
      {{"threads", "N", "8",
        "requests served at once, with io_uring for each CPU; by default 64 if the store is "
        "at a server, fewer with memory= below 320M; up to 24 more while all are busy, to "
        "notice interrupts",
        Group::kDaemon,
        value_setter(
            [](const std::string& text) { return parse_number(text, 1, kMostThreads); },
            [](MountSettings& s, std::uint64_t n) { s.threads = static_cast<unsigned>(n); })},
       {"io_uring", alternatives(rings), "auto",
        "FUSE over io_uring, a ring for each CPU; auto: if the kernel has it and "
        "fuse.enable_uring is set; on: no mount without it",
        Group::kDaemon, word_setter(rings, [](MountSettings& s, RingUse use) { s.ring = use; })},
       {"idle", "SECONDS", "0",
        "unmounts after this long without a request, if nothing is open; 0: never", Group::kDaemon,
        value_setter(parse_seconds, [](MountSettings& s, double seconds) { s.idle = seconds; })},
       {"ends_with", "PID", "",
        "unmounts when this process ends; what is in use then is detached, and stays for "
        "programs that have it open",
        Group::kDaemon,
        value_setter([](const std::string& text) { return parse_number(text, 1, kHighestProcess); },
                     [](MountSettings& s, std::uint64_t number) {
                       s.ends_with = static_cast<pid_t>(number);
                     })},
       {"temporary", "", "",
        "removes the mountpoint when the mount has ended, and the directory that it is in, "
        "if they are empty",
        Group::kDaemon, flag_setter([](MountSettings& s) { s.temporary = true; })},
       {"log_level", alternatives(levels), "info", "the lowest level that is logged",
        Group::kDaemon,
        word_setter(levels, [](MountSettings& s, LogLevel level) { s.log_level = level; })},
       {"log", "FILE", "",
        "file to log to, instead of standard error (with -f) or the system's log", Group::kDaemon,
        value_setter(parse_path,
                     [](MountSettings& s, std::string file) { s.log_file = std::move(file); })}});
}

void add_mount(std::vector<MountOption>& table) {
  const std::array<std::pair<const char*, const char*>, 9> flags = {{
      {"exec", "programs in the mount may be run"},
      {"noexec", "programs in the mount cannot be run"},
      {"default_permissions", "the kernel checks the permission bits: with allow_other always so"},
      {"nosuid", "set-user-ID bits have no effect: always so"},
      {"nodev", "device files do not work: always so"},
      {"atime", "see mount(8)"},
      {"noatime", "see mount(8)"},
      {"sync", "see mount(8)"},
      {"dirsync", "see mount(8)"},
  }};
  for (const auto& [name, help] : flags) {
    table.push_back({name, "", "", help, Group::kMount, kernel_setter(name)});
  }
  table.push_back({"remount", "", "", "refused: unmount and mount anew to change options",
                   Group::kMount, [](MountSettings&, const std::string&) -> Result<void> {
                     return fail(Fault::kInvalid,
                                 "a zarrfs mount cannot be changed; unmount it and mount it anew");
                   }});
}

std::vector<MountOption> make_table() {
  std::vector<MountOption> table;
  add_access(table);
  add_view(table);
  add_caching(table);
  add_remote(table);
  add_writing(table);
  add_daemon(table);
  add_mount(table);
  std::ranges::move(old_options(), std::back_inserter(table));
  return table;
}

/// Null where there is none.
const MountOption* option_of(std::string_view item) {
  const std::string_view name = item.substr(0, item.find('='));
  const auto& table = mount_options();
  const auto option = std::find_if(table.begin(), table.end(),
                                   [&](const MountOption& one) { return one.name == name; });
  return option == table.end() ? nullptr : &*option;
}

Result<void> apply_one(MountSettings& settings, const std::string& item) {
  const std::size_t equals = item.find('=');
  const std::string name = item.substr(0, equals);
  std::optional<std::string> value;
  if (equals != std::string::npos) value = item.substr(equals + 1);
  const MountOption* const option = option_of(item);
  if (option == nullptr) {
    if (is_for_mount_program(item)) return {};
    return fail(Fault::kInvalid, "there is no option \"" + printable(name) + "\"");
  }
  if (option->argument.empty() && value) {
    return fail(Fault::kInvalid, "option " + name + " takes no value");
  }
  if (!option->argument.empty() && !value) {
    return fail(Fault::kInvalid,
                "option " + name + " needs a value: " + name + "=" + option->argument);
  }
  auto done = option->set(settings, value.value_or(""));
  if (!done) done.error().message = "option " + name + ": " + done.error().message;
  return done;
}

}  // namespace

std::string mount_option_group_title(MountOption::Group group) {
  switch (group) {
    case Group::kAccess: return "Access";
    case Group::kView: return "What is shown";
    case Group::kCaching: return "Caching";
    case Group::kRemote: return "Stores at a server (" + server_schemes() + ")";
    case Group::kWriting: return "Writing";
    case Group::kDaemon: return "The daemon";
    case Group::kMount: return "As for every file system";
    case Group::kOld: return "Old spellings, which the next version does not know";
  }
  return "";
}

const std::vector<MountOption>& mount_options() {
  static const std::vector<MountOption> table = make_table();
  return table;
}

bool is_for_mount_program(std::string_view option) {
  static constexpr std::array<std::string_view, 21> kNames = {
      "suid",   "dev",      "auto",       "noauto",      "defaults", "user",       "nouser",
      "users",  "owner",    "group",      "nofail",      "_netdev",  "async",      "loud",
      "silent", "relatime", "norelatime", "strictatime", "diratime", "nodiratime", "lazytime"};
  if (std::find(kNames.begin(), kNames.end(), option) != kNames.end()) return true;
  return option.starts_with("x-") || option.starts_with("X-") || option.starts_with("comment=") ||
         option.starts_with("user=");
}

Result<void> apply_mount_options(MountSettings& settings, std::string_view list) {
  for (const std::string& item : split_options(list)) ZARRFS_CHECK(apply_one(settings, item));
  return {};
}

bool is_for_serving(const MountOption& option) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "ro", "symlinks", "virtual", "threads", "log_level", "log", "immutable"};
  if (std::find(kNames.begin(), kNames.end(), option.name) != kNames.end()) return true;
  const bool by_kernel = option.name == "timeout" || option.name == "watch";
  const bool of_profile = option.group == Group::kOld && !option.name.starts_with("shard_");
  return option.group == Group::kView || option.group == Group::kRemote || of_profile ||
         (option.group == Group::kCaching && !by_kernel);
}

Result<void> apply_serve_options(MountSettings& settings, std::string_view list) {
  for (const std::string& item : split_options(list)) {
    const MountOption* const option = option_of(item);
    if (option == nullptr || !is_for_serving(*option)) {
      return fail(Fault::kInvalid, "option " + printable(item.substr(0, item.find('='))) +
                                       " is none of zarrfs serve");
    }
    ZARRFS_CHECK(apply_one(settings, item));
  }
  return {};
}

void tell_words(const MountSettings& settings, const std::string& program, std::ostream& err) {
  for (const std::string& words : settings.words) err << program << ": " << words << "\n";
}

Result<void> check_settings(const MountSettings& settings) {
  if (settings.allow_other && settings.allow_root) {
    return fail(Fault::kInvalid, "options allow_other and allow_root exclude each other");
  }
  if (settings.view.immutable && settings.access == MountSettings::Access::kReadWrite) {
    return fail(Fault::kInvalid, "options immutable and rw exclude each other");
  }
  const SharedWriting& shared = settings.shared;
  if (!shared.on && (shared.lease || shared.caches)) {
    return fail(Fault::kInvalid, "options shared_lease and shared_caches are for shared only");
  }
  const ShardForm& shards = settings.writing.shards;
  const int shard_options = static_cast<int>(!shards.shape.empty()) +
                            static_cast<int>(!shards.chunks.empty()) +
                            static_cast<int>(shards.bytes != 0);
  if (shard_options > 1) {
    return fail(Fault::kInvalid,
                "options shards, shard_shape, shard_chunks and shard_bytes exclude each other");
  }
  auto profile = choose_profile(settings.view);
  if (!profile) return fail(std::move(profile.error()));
  return {};
}

}  // namespace zarrfs
