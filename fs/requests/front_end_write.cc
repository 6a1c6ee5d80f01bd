// The operations that write.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>

#include "core/store/with_umask.h"
#include "fs/requests/front_end.h"
#include "fs/requests/handles.h"

namespace zarrfs {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr std::size_t kMostListed = 60'000;  // Bytes; an attribute has at most 64 KiB.

AttributeChange change_of(const struct stat& wanted, int which) {
  AttributeChange change;
  if ((which & FUSE_SET_ATTR_SIZE) != 0) change.size = static_cast<std::uint64_t>(wanted.st_size);
  if ((which & FUSE_SET_ATTR_MODE) != 0) change.mode = wanted.st_mode;
  if ((which & FUSE_SET_ATTR_UID) != 0) change.owner = wanted.st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) change.group = wanted.st_gid;
  constexpr struct timespec kNow = {0, UTIME_NOW};
  if ((which & FUSE_SET_ATTR_ATIME) != 0) change.accessed = wanted.st_atim;
  if ((which & FUSE_SET_ATTR_MTIME) != 0) change.modified = wanted.st_mtim;
  if ((which & FUSE_SET_ATTR_ATIME_NOW) != 0) change.accessed = kNow;
  if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0) change.modified = kNow;
  return change;
}

mode_t umask_of(const Reply& reply) {
  const fuse_ctx* context = fuse_req_ctx(reply.request());
  return context->umask & kPermissions;
}

OpenFile* file_behind(const fuse_file_info* info) {
  return info == nullptr || info->fh == 0 ? nullptr : opened_behind<OpenFile>(info->fh)->get();
}

}  // namespace

template <class T>
void FrontEnd::patiently(Reply& reply, std::function<Result<T>()> act,
                         std::function<bool()> must_wait, std::function<void(Reply&, T&)> answer) {
  const WaitingRoom::Attempt attempt = [this, act = std::move(act),
                                        must_wait = std::move(must_wait),
                                        answer = std::move(answer)](Reply& to, bool last) {
    auto done = act();
    if (!done && done.error().fault == Fault::kBusy && !last && must_wait()) {
      return WaitingRoom::Outcome::kAgain;
    }
    if (done) {
      answer(to, *done);
    } else {
      refuse(to, done.error());
    }
    return WaitingRoom::Outcome::kAnswered;
  };
  constexpr bool kLast = true;
  if (attempt(reply, !kLast) == WaitingRoom::Outcome::kAgain) {
    waiting_room_.wait(std::move(reply), attempt);
  }
}

void FrontEnd::patiently(Reply& reply, std::function<Result<void>()> act,
                         std::function<bool()> must_wait) {
  const auto nothing = [act = std::move(act)]() -> Result<int> {
    ZARRFS_CHECK(act());
    return 0;
  };
  patiently<int>(reply, nothing, std::move(must_wait),
                 [](Reply& to, int& error_number) { to.error(error_number); });
}

fuse_file_info FrontEnd::writing_info(NodeId node, const fuse_file_info& asked,
                                      std::shared_ptr<OpenFile> file) {
  fuse_file_info info = asked;
  info.direct_io = true;  // a shared mapping of it fails at once, rather than without a word later
  info.keep_cache = false;
  info.noflush = false;
  open_.opened(node, file);
  info.fh = handle_for(std::move(file));
  return info;
}

void FrontEnd::setattr(Reply& reply, NodeId node, const struct stat& wanted, int which,
                       const fuse_file_info* info) {
  if ((which & FUSE_SET_ATTR_SIZE) != 0 && wanted.st_size < 0) return reply.error(EINVAL);
  std::shared_ptr<OpenFile> named;  // its name may be gone, or another's
  OpenFile* file = file_behind(info);
  if (file == nullptr && (which & FUSE_SET_ATTR_SIZE) == 0) {
    named = open_.find(node);
    file = named.get();
  }
  const auto changed = view_.change(node, change_of(wanted, which), file);
  if (!changed) return refuse(reply, changed.error());
  reply.attributes(changed->status, timeout_of(*changed));
}

void FrontEnd::mknod(Reply& reply, NodeId parent, const char* name, mode_t mode) {
  if (!S_ISREG(mode)) return reply.error(EPERM);
  patiently<Created>(
      reply,
      [this, parent, made_name = std::string(name), mode,
       mask = umask_of(reply)]() -> Result<Created> {
        const WithUmask as_asked(mask);
        ZARRFS_TRY(Created made,
                   view_.create(parent, made_name, O_CREAT | O_EXCL | O_WRONLY, mode));
        const auto flushed = made.file->flush();
        made.file->closed();
        ZARRFS_CHECK(flushed);
        return made;
      },
      [this, parent, made_name = std::string(name)] { return view_.must_wait(parent, made_name); },
      [this](Reply& to, Created& made) {
        if (!to.entry(entry_of(made.found))) view_.forget(made.found.id, 1);
      });
}

void FrontEnd::mkdir(Reply& reply, NodeId parent, const char* name, mode_t mode) {
  const WithUmask as_asked(umask_of(reply));
  const auto made = view_.make_directory(parent, name, mode);
  if (!made) return refuse(reply, made.error());
  if (!reply.entry(entry_of(*made))) view_.forget(made->id, 1);
}

void FrontEnd::symlink(Reply& reply, const char* target, NodeId parent, const char* name) {
  const auto made = view_.make_link(parent, name, target);
  if (!made) return refuse(reply, made.error());
  if (!reply.entry(entry_of(*made))) view_.forget(made->id, 1);
}

void FrontEnd::unlink(Reply& reply, NodeId parent, const char* name) {
  const auto removed = view_.remove_file(parent, name);
  if (!removed) return refuse(reply, removed.error());
  reply.error(*removed ? 0 : ENOENT);
}

void FrontEnd::rmdir(Reply& reply, NodeId parent, const char* name) {
  const auto removed = view_.remove_directory(parent, name);
  if (!removed) return refuse(reply, removed.error());
  reply.error(*removed ? 0 : ENOENT);
}

void FrontEnd::rename(Reply& reply, NodeId parent, const char* name, NodeId new_parent,
                      const char* new_name, unsigned flags) {
  if ((flags & ~unsigned{RENAME_NOREPLACE}) != 0) return reply.error(EINVAL);
  const bool replace = (flags & RENAME_NOREPLACE) == 0;
  patiently<bool>(
      reply,
      [this, parent, from = std::string(name), new_parent, to = std::string(new_name), replace] {
        return view_.rename(parent, from, new_parent, to, replace);
      },
      [this, new_parent, to = std::string(new_name)] { return view_.must_wait(new_parent, to); },
      [](Reply& to, bool& renamed) { to.error(renamed ? 0 : ENOENT); });
}

void FrontEnd::link(Reply& reply, NodeId node, NodeId new_parent, const char* new_name) {
  patiently<InodeEntry>(
      reply,
      [this, node, new_parent, name = std::string(new_name)] {
        return view_.link(node, new_parent, name);
      },
      [this, new_parent, name = std::string(new_name)] {
        return view_.must_wait(new_parent, name);
      },
      [this](Reply& to, InodeEntry& linked) {
        if (!to.entry(entry_of(linked))) view_.forget(linked.id, 1);
      });
}

void FrontEnd::create(Reply& reply, NodeId parent, const char* name, mode_t mode,
                      const fuse_file_info& asked) {
  patiently<Created>(
      reply,
      [this, parent, made_name = std::string(name), mode, flags = asked.flags,
       mask = umask_of(reply)] {
        const WithUmask as_asked(mask);
        return view_.create(parent, made_name, flags, mode);
      },
      [this, parent, made_name = std::string(name)] { return view_.must_wait(parent, made_name); },
      [this, asked](Reply& to, Created& made) {
        const NodeId node = made.found.id;
        const fuse_file_info info = writing_info(node, asked, std::move(made.file));
        if (to.created(entry_of(made.found), info)) return;
        abandon(node, info);
        view_.forget(node, 1);
      });
}

void FrontEnd::write(Reply& reply, ByteView bytes, off_t offset, const fuse_file_info& info) {
  OpenFile* file = file_behind(&info);
  if (file == nullptr || offset < 0) return reply.error(EINVAL);
  const auto done = file->write(static_cast<std::uint64_t>(offset), bytes);
  if (!done) return refuse(reply, done.error());
  reply.written(bytes.size());
}

void FrontEnd::flush(Reply& reply, const fuse_file_info& info) {
  if (without_open_) return reply.error(ENOSYS);  // then the kernel asks no more
  OpenFile* file = file_behind(&info);            // stays: its release comes after this answer
  if (file == nullptr) return reply.error(0);
  patiently(
      reply, [file] { return file->flush(); }, [file] { return file->must_wait(); });
}

void FrontEnd::fsync(Reply& reply, NodeId node, const fuse_file_info& info) {
  OpenFile* file = file_behind(&info);
  if (file == nullptr) return fsyncdir(reply, node);
  patiently(
      reply,
      [this, file, node] {
        auto synced = file->sync();
        if (!synced) return synced;
        // Through a descriptor that only reads, too: what others have written.
        auto written = view_.sync(node);
        const bool is_another = !written && written.error().fault == Fault::kStale;
        return is_another ? synced : written;
      },
      [file] { return file->must_wait(); });
}

void FrontEnd::fsyncdir(Reply& reply, NodeId node) {
  const auto done = view_.sync(node);
  if (!done) return refuse(reply, done.error());
  reply.error(0);
}

void FrontEnd::setxattr(Reply& reply, NodeId node, const char* name) {
  if (!view_.writable()) return reply.error(EROFS);
  if (node != kRootNode || name != kPublishAttribute) return reply.error(EOPNOTSUPP);
  const auto done = view_.publish();
  if (!done) return refuse(reply, done.error());
  reply.error(0);
}

std::string FrontEnd::unpublished_text(std::size_t most) {
  const std::size_t limit = most == 0 ? kMostListed : std::min(most, kMostListed);
  std::string text;
  std::size_t left_out = 0;
  for (const Unpublished& one : view_.unpublished()) {
    const std::string line = one.name + ": " + one.reason + "\n";
    if (text.size() + line.size() > limit - std::min<std::size_t>(limit, 100)) {
      ++left_out;
    } else {
      text += line;
    }
  }
  if (left_out > 0) text += "and " + std::to_string(left_out) + " more\n";
  return text;
}

}  // namespace zarrfs
