// The border to libfuse: C functions that wrap the request in a Reply, call the FrontEnd, and let
// no exception out.
#include <cerrno>
#include <exception>
#include <new>

#include "fs/requests/front_end.h"
#include "fs/ring/wire.h"

namespace zarrfs {
namespace {

FrontEnd& front_of(fuse_req_t request) { return server_of<FrontEnd>(request); }

/// A request that is served. Once nobody waits for its answer that stays so: another thread of the
/// program may take the signal that asked it to end.
struct Served {
  Reply reply;
  mutable bool given_up = false;
};

bool nobody_waits(const void* served) {
  const auto& one = *static_cast<const Served*>(served);
  const fuse_req_t request = one.reply.request();
  one.given_up = one.given_up || (request != nullptr && nobody_waits_for(request));
  return one.given_up;
}

template <class Body>
void serve(fuse_req_t request, Operation operation, Body body) noexcept {
  FrontEnd& front = front_of(request);
  Served served{Reply(request, operation, front.statistics())};
  Reply& reply = served.reply;
  const RequestScope scope(front.caller_of(request), nobody_waits, &served,
                           fuse_req_ctx(request)->pid);
  if (front.shuts_out(request, operation)) return reply.error(EACCES);
  try {
    body(front, reply);
  } catch (const std::bad_alloc&) {
    front.internal_error(operation, "out of memory");
    reply.error(ENOMEM);
  } catch (const std::exception& problem) {
    front.internal_error(operation, problem.what());
    reply.error(EIO);
  }
}

void on_init(void* user, fuse_conn_info* connection) {
  static_cast<FrontEnd*>(static_cast<SessionUser*>(user)->server)->agree(*connection);
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve(request, Operation::kLookup,
        [&](FrontEnd& front, Reply& reply) { front.lookup(reply, parent, name); });
}

void on_forget(fuse_req_t request, fuse_ino_t node, std::uint64_t lookups) {
  serve(request, Operation::kForget,
        [&](FrontEnd& front, Reply& reply) { front.forget(reply, node, lookups); });
}

void on_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgotten) {
  serve(request, Operation::kForget, [&](FrontEnd& front, Reply& reply) {
    front.forget_multi(reply, {forgotten, count});
  });
}

void on_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  serve(request, Operation::kGetattr,
        [&](FrontEnd& front, Reply& reply) { front.getattr(reply, node, info); });
}

void on_access(fuse_req_t request, fuse_ino_t node, int mask) {
  serve(request, Operation::kAccess,
        [&](FrontEnd& front, Reply& reply) { front.access(reply, node, mask); });
}

void on_open(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  serve(request, Operation::kOpen,
        [&](FrontEnd& front, Reply& reply) { front.open(reply, node, *info); });
}

void on_read(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
             fuse_file_info* info) {
  serve(request, Operation::kRead,
        [&](FrontEnd& front, Reply& reply) { front.read(reply, node, size, offset, info); });
}

void on_release(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  serve(request, Operation::kRelease,
        [&](FrontEnd& front, Reply& reply) { front.release(reply, node, *info); });
}

void on_opendir(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  serve(request, Operation::kOpendir,
        [&](FrontEnd& front, Reply& reply) { front.opendir(reply, node, *info); });
}

void on_readdir(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                fuse_file_info* info) {
  serve(request, Operation::kReaddir,
        [&](FrontEnd& front, Reply& reply) { front.readdir(reply, node, size, offset, info); });
}

void on_readdirplus(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                    fuse_file_info* info) {
  serve(request, Operation::kReaddirplus,
        [&](FrontEnd& front, Reply& reply) { front.readdirplus(reply, node, size, offset, info); });
}

void on_releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve(request, Operation::kReleasedir,
        [&](FrontEnd& front, Reply& reply) { front.releasedir(reply, *info); });
}

void on_statfs(fuse_req_t request, fuse_ino_t) {
  serve(request, Operation::kStatfs, [](FrontEnd& front, Reply& reply) { front.statfs(reply); });
}

void on_getxattr(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t size) {
  serve(request, Operation::kGetxattr,
        [&](FrontEnd& front, Reply& reply) { front.getxattr(reply, node, name, size); });
}

void on_listxattr(fuse_req_t request, fuse_ino_t node, std::size_t size) {
  serve(request, Operation::kListxattr,
        [&](FrontEnd& front, Reply& reply) { front.listxattr(reply, node, size); });
}

void on_setattr(fuse_req_t request, fuse_ino_t node, struct stat* wanted, int which,
                fuse_file_info* info) {
  serve(request, Operation::kSetattr,
        [&](FrontEnd& front, Reply& reply) { front.setattr(reply, node, *wanted, which, info); });
}

void on_mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t) {
  serve(request, Operation::kMknod,
        [&](FrontEnd& front, Reply& reply) { front.mknod(reply, parent, name, mode); });
}

void on_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  serve(request, Operation::kMkdir,
        [&](FrontEnd& front, Reply& reply) { front.mkdir(reply, parent, name, mode); });
}

void on_unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve(request, Operation::kUnlink,
        [&](FrontEnd& front, Reply& reply) { front.unlink(reply, parent, name); });
}

void on_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve(request, Operation::kRmdir,
        [&](FrontEnd& front, Reply& reply) { front.rmdir(reply, parent, name); });
}

void on_symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  serve(request, Operation::kSymlink,
        [&](FrontEnd& front, Reply& reply) { front.symlink(reply, target, parent, name); });
}

void on_readlink(fuse_req_t request, fuse_ino_t node) {
  serve(request, Operation::kReadlink,
        [&](FrontEnd& front, Reply& reply) { front.readlink(reply, node); });
}

void on_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
               const char* new_name, unsigned flags) {
  serve(request, Operation::kRename, [&](FrontEnd& front, Reply& reply) {
    front.rename(reply, parent, name, new_parent, new_name, flags);
  });
}

void on_link(fuse_req_t request, fuse_ino_t node, fuse_ino_t new_parent, const char* new_name) {
  serve(request, Operation::kLink,
        [&](FrontEnd& front, Reply& reply) { front.link(reply, node, new_parent, new_name); });
}

void on_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
               fuse_file_info* info) {
  serve(request, Operation::kCreate,
        [&](FrontEnd& front, Reply& reply) { front.create(reply, parent, name, mode, *info); });
}

void on_write(fuse_req_t request, fuse_ino_t, const char* bytes, std::size_t size, off_t offset,
              fuse_file_info* info) {
  serve(request, Operation::kWrite, [&](FrontEnd& front, Reply& reply) {
    front.write(reply, {reinterpret_cast<const std::uint8_t*>(bytes), size}, offset, *info);
  });
}

void on_flush(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve(request, Operation::kFlush,
        [&](FrontEnd& front, Reply& reply) { front.flush(reply, *info); });
}

void on_fsync(fuse_req_t request, fuse_ino_t node, int, fuse_file_info* info) {
  serve(request, Operation::kFsync,
        [&](FrontEnd& front, Reply& reply) { front.fsync(reply, node, *info); });
}

void on_fsyncdir(fuse_req_t request, fuse_ino_t node, int, fuse_file_info*) {
  serve(request, Operation::kFsyncdir,
        [&](FrontEnd& front, Reply& reply) { front.fsyncdir(reply, node); });
}

void on_setxattr(fuse_req_t request, fuse_ino_t node, const char* name, const char*, std::size_t,
                 int) {
  serve(request, Operation::kSetxattr,
        [&](FrontEnd& front, Reply& reply) { front.setxattr(reply, node, name); });
}

void on_removexattr(fuse_req_t request, fuse_ino_t, const char*) {
  serve(request, Operation::kRemovexattr, [](FrontEnd&, Reply& reply) { reply.error(EOPNOTSUPP); });
}

fuse_lowlevel_ops make_operations() {
  fuse_lowlevel_ops table{};
  table.init = on_init;
  table.lookup = on_lookup;
  table.forget = on_forget;
  table.forget_multi = on_forget_multi;
  table.getattr = on_getattr;
  table.access = on_access;
  table.open = on_open;
  table.read = on_read;
  table.release = on_release;
  table.opendir = on_opendir;
  table.readdir = on_readdir;
  table.readdirplus = on_readdirplus;
  table.releasedir = on_releasedir;
  table.statfs = on_statfs;
  table.getxattr = on_getxattr;
  table.listxattr = on_listxattr;
  table.setattr = on_setattr;
  table.mknod = on_mknod;
  table.mkdir = on_mkdir;
  table.unlink = on_unlink;
  table.rmdir = on_rmdir;
  table.symlink = on_symlink;
  table.readlink = on_readlink;
  table.rename = on_rename;
  table.link = on_link;
  table.create = on_create;
  table.write = on_write;
  table.flush = on_flush;
  table.fsync = on_fsync;
  table.fsyncdir = on_fsyncdir;
  table.setxattr = on_setxattr;
  table.removexattr = on_removexattr;
  return table;
}

}  // namespace

const fuse_lowlevel_ops& FrontEnd::operations() {
  static const fuse_lowlevel_ops table = make_operations();
  return table;
}

}  // namespace zarrfs
