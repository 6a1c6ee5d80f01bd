// The least that any FUSE daemon costs: a file system that answers every request from memory, with
// the caching that an immutable mount of zarrfs allows the kernel. What it costs beside a native
// directory is the part of the kernel and of libfuse; what zarrfs costs beside it is its own.
//
//   bench_floor MOUNTPOINT LIST SIZE THREADS plain|status|write device|io_uring
//
// LIST has one name a line, with the directories on the way; each is a file of SIZE bytes. Listings
// come with the status of directories only (plain), or of files too. With "write" files can be
// made, written and renamed; what is written is taken and thrown away. Requests come by /dev/fuse
// (device), or by a ring for each processor, with THREADS for each. Serves until it is unmounted.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fs/requests/fuse.h"
#include "fs/requests/statistics.h"
#include "fs/ring/wake_signal.h"
#include "fs/ring/wire.h"

namespace {

constexpr std::size_t kLargestRequest = std::size_t{1} << 20U;
constexpr double kForEver = 365.0 * 24 * 3600;

struct Node {
  bool directory = false;
  std::vector<std::pair<std::string, fuse_ino_t>> children;  // In the order of the list.
  std::unordered_map<std::string, fuse_ino_t> by_name;
};

struct Tree {
  std::vector<Node> nodes{2};  // By number; the root is 1.
  std::vector<char> content;   // Of every file.
  bool with_status = false;

  fuse_ino_t child(fuse_ino_t parent, const std::string& name, bool directory) {
    const auto known = nodes[parent].by_name.find(name);
    if (known != nodes[parent].by_name.end()) return known->second;
    const fuse_ino_t number = nodes.size();
    nodes.push_back({directory, {}, {}});
    nodes[parent].children.emplace_back(name, number);
    nodes[parent].by_name.emplace(name, number);
    return number;
  }

  void add(const std::string& path) {
    fuse_ino_t at = FUSE_ROOT_ID;
    std::istringstream words(path);
    std::string name;
    std::getline(words, name, '/');
    for (std::string next; std::getline(words, next, '/'); name = next) at = child(at, name, true);
    child(at, name, false);
  }

  [[nodiscard]] fuse_entry_param entry(fuse_ino_t number) const {
    const bool directory = nodes[number].directory;
    fuse_entry_param entry{};
    entry.ino = number;
    entry.attr.st_ino = number;
    entry.attr.st_nlink = 1;
    entry.attr.st_mode = directory ? S_IFDIR | 0555 : S_IFREG | 0444;
    entry.attr.st_size = directory ? 0 : static_cast<off_t>(content.size());
    entry.attr_timeout = entry.entry_timeout = kForEver;
    return entry;
  }
};

const Tree& tree_of(fuse_req_t request) { return zarrfs::server_of<const Tree>(request); }

void on_init(void*, fuse_conn_info* connection) {
  connection->max_read = connection->max_readahead = kLargestRequest;
  connection->want &=
      ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const Tree& tree = tree_of(request);
  const auto& names = tree.nodes[parent].by_name;
  const auto found = names.find(name);
  fuse_entry_param entry{};
  if (found != names.end()) entry = tree.entry(found->second);
  if (entry.ino != 0) entry.entry_timeout = kForEver;
  fuse_reply_entry(request, &entry);
}

void on_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  const fuse_entry_param entry = tree_of(request).entry(node);
  fuse_reply_attr(request, &entry.attr, kForEver);
}

void on_open(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, ENOSYS); }

void on_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  const std::vector<char>& content = tree_of(request).content;
  const std::size_t from = std::min(content.size(), static_cast<std::size_t>(offset));
  fuse_reply_buf(request, content.data() + from, std::min(size, content.size() - from));
}

void list(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, bool plus) {
  const Tree& tree = tree_of(request);
  const auto& children = tree.nodes[node].children;
  std::vector<char> out(std::min(size, kLargestRequest));
  std::size_t used = 0;
  for (auto at = static_cast<std::size_t>(offset); at < children.size(); ++at) {
    const auto& [name, number] = children[at];
    fuse_entry_param entry = tree.entry(number);
    if (!tree.nodes[number].directory && !tree.with_status) entry.ino = 0;
    const auto next = static_cast<off_t>(at + 1);
    char* const place = out.data() + used;
    const std::size_t room = out.size() - used;
    const std::size_t needed =
        plus ? fuse_add_direntry_plus(request, place, room, name.c_str(), &entry, next)
             : fuse_add_direntry(request, place, room, name.c_str(), &entry.attr, next);
    if (needed > room) break;
    used += needed;
  }
  fuse_reply_buf(request, out.data(), used);
}

void on_readdir(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                fuse_file_info*) {
  list(request, node, size, offset, false);
}

void on_readdirplus(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                    fuse_file_info*) {
  list(request, node, size, offset, true);
}

void on_create(fuse_req_t request, fuse_ino_t, const char*, mode_t, fuse_file_info* info) {
  static std::atomic<fuse_ino_t> last{fuse_ino_t{1} << 40U};
  fuse_entry_param entry{};
  entry.ino = entry.attr.st_ino = ++last;
  entry.attr.st_nlink = 1;
  entry.attr.st_mode = S_IFREG | 0644;
  entry.attr_timeout = entry.entry_timeout = kForEver;
  info->direct_io = 1;
  fuse_reply_create(request, &entry, info);
}

void on_write(fuse_req_t request, fuse_ino_t, const char*, std::size_t size, off_t,
              fuse_file_info*) {
  fuse_reply_write(request, size);
}

void on_done(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, 0); }

void on_fsync(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) { fuse_reply_err(request, 0); }

void on_rename(fuse_req_t request, fuse_ino_t, const char*, fuse_ino_t, const char*, unsigned) {
  fuse_reply_err(request, 0);
}

void on_getxattr(fuse_req_t request, fuse_ino_t, const char*, std::size_t) {
  fuse_reply_err(request, EOPNOTSUPP);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops table{};
  table.init = on_init;
  table.lookup = on_lookup;
  table.getattr = on_getattr;
  table.open = on_open;
  table.opendir = on_open;
  table.read = on_read;
  table.readdir = on_readdir;
  table.readdirplus = on_readdirplus;
  table.getxattr = on_getxattr;
  table.create = on_create;
  table.write = on_write;
  table.flush = on_done;
  table.release = on_done;
  table.fsync = on_fsync;
  table.rename = on_rename;
  return table;
}

void serve(fuse_session* session) {
  fuse_buf buffer{};
  while (fuse_session_exited(session) == 0) {
    const int size = fuse_session_receive_buf(session, &buffer);
    if (size == -EINTR) continue;
    if (size <= 0) break;
    fuse_session_process_buf(session, &buffer);
  }
  std::free(buffer.mem);
}

fuse_session* mounted(zarrfs::SessionUser& user, char* program, const char* mountpoint,
                      bool writes) {
  std::string options = writes ? "rw" : "ro";
  options += ",fsname=bench_floor,max_read=" + std::to_string(kLargestRequest);
  std::string flag = "-o";
  char* words[] = {program, flag.data(), options.data(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(3, words);
  const fuse_lowlevel_ops table = operations();
  fuse_session* session = fuse_session_new(&args, &table, sizeof(table), &user);
  fuse_opt_free_args(&args);
  if (session == nullptr || fuse_session_mount(session, mountpoint) != 0) return nullptr;
  if (!user.wire->attach(session, fuse_session_fd(session))) return nullptr;
  return session;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("bench_floor MOUNTPOINT LIST SIZE THREADS plain|status|write device|io_uring\n",
               stderr);
    return 2;
  }
  Tree tree;
  tree.nodes[FUSE_ROOT_ID].directory = true;
  std::ifstream names(argv[2]);
  for (std::string line; std::getline(names, line);) tree.add(line);
  tree.content.assign(std::strtoul(argv[3], nullptr, 10), 'x');
  const bool writes = std::string_view(argv[5]) == "write";
  tree.with_status = std::string_view(argv[5]) == "status";

  zarrfs::install_wake_signal();
  zarrfs::Statistics statistics;
  zarrfs::WireSettings settings;
  const auto count = static_cast<unsigned>(std::atoi(argv[4]));
  settings.threads.wanted = count;
  if (std::string_view(argv[6]) == "io_uring") settings.ring = zarrfs::RingUse::kOn;
  settings.broken = [](const std::string&) { std::_Exit(1); };
  zarrfs::Wire wire(std::move(settings), statistics);
  zarrfs::SessionUser user{&wire, &tree};
  fuse_session* session = mounted(user, argv[0], argv[1], writes);
  if (session == nullptr) return 1;
  if (fuse_daemonize(0) != 0) return 1;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(serve, session);
  for (std::thread& thread : threads) thread.join();
  wire.stop();
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return 0;
}
