// The border to libfuse: C functions that wrap the request in a Reply, call the FrontEnd, and let
// no exception out.
#include <cerrno>
#include <exception>
#include <new>

#include "fs/front_end.h"

namespace zarrfs {
namespace {

FrontEnd& front_of(fuse_req_t request) {
  return *static_cast<FrontEnd*>(fuse_req_userdata(request));
}

template <class Body>
void serve(fuse_req_t request, Operation operation, Body body) noexcept {
  FrontEnd& front = front_of(request);
  Reply reply(request, operation, front.statistics());
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

void on_init(void* front, fuse_conn_info* connection) {
  static_cast<FrontEnd*>(front)->agree(*connection);
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

void on_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  serve(request, Operation::kGetattr,
        [&](FrontEnd& front, Reply& reply) { front.getattr(reply, node); });
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

void on_release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve(request, Operation::kRelease,
        [&](FrontEnd& front, Reply& reply) { front.release(reply, *info); });
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

/// Every operation that writes, whatever its arguments.
template <class... Arguments>
void on_writing(fuse_req_t request, Arguments...) {
  serve(request, Operation::kRefused, [](FrontEnd&, Reply& reply) { reply.error(EROFS); });
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
  table.setattr = on_writing;
  table.mknod = on_writing;
  table.mkdir = on_writing;
  table.unlink = on_writing;
  table.rmdir = on_writing;
  table.symlink = on_writing;
  table.rename = on_writing;
  table.link = on_writing;
  table.create = on_writing;
  table.write = on_writing;
  table.setxattr = on_writing;
  table.removexattr = on_writing;
  table.fallocate = on_writing;
  return table;
}

}  // namespace

const fuse_lowlevel_ops& FrontEnd::operations() {
  static const fuse_lowlevel_ops table = make_operations();
  return table;
}

}  // namespace zarrfs
