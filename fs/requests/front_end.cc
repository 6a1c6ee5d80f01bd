#include "fs/requests/front_end.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "core/base/read_exactly.h"
#include "core/store/with_umask.h"
#include "fs/requests/handles.h"

namespace zarrfs {
namespace {

constexpr double kForEver = 365.0 * 24 * 3600;  // Seconds.
constexpr std::size_t kMostKeptOpen = 64;
constexpr unsigned kMostBackgroundRequests = 64;
constexpr std::string_view kUserAttributes = "user.";

/// Whether an error is a fault of the store or the storage, which somebody should look at; the
/// others answer the program.
bool is_worth_a_line(Fault fault) {
  return fault == Fault::kDamaged || fault == Fault::kIo || fault == Fault::kNoMemory ||
         fault == Fault::kNoFiles;
}

/// Memory of this thread for answers, at least `size` bytes long.
MutableByteView scratch(std::size_t size) {
  thread_local Bytes memory;
  if (memory.size() < size) memory.resize(size);
  return MutableByteView(memory).first(size);
}

bool is_dot(std::string_view name) { return name == "." || name == ".."; }

bool add_plain(fuse_req_t request, const Listed& listed, Bytes& listing, std::size_t size) {
  struct stat status {};
  status.st_ino = listed.inode;
  status.st_mode = listed.type;
  const std::string name(listed.name);
  const std::size_t needed = fuse_add_direntry(request, nullptr, 0, name.c_str(), nullptr, 0);
  const std::size_t before = listing.size();
  if (needed > size - before) return false;
  listing.resize(before + needed);
  fuse_add_direntry(request, reinterpret_cast<char*>(listing.data() + before), needed, name.c_str(),
                    &status, static_cast<off_t>(listed.next));
  return true;
}

}  // namespace

FrontEnd::FrontEnd(View& view, FrontEndSettings settings)
    : view_(view),
      settings_(std::move(settings)),
      files_(kMostKeptOpen),
      directories_(kMostKeptOpen),
      waiting_room_(settings_.patience, settings_.may_wait) {
  view_.set_front_statistics([this] { return statistics_.render(); });
}

std::optional<Caller> FrontEnd::caller_of(fuse_req_t request) const {
  if (!settings_.for_others) return std::nullopt;
  const fuse_ctx* context = fuse_req_ctx(request);
  return Caller{context->uid, context->gid, context->pid, std::nullopt};
}

bool FrontEnd::shuts_out(fuse_req_t request, Operation operation) const {
  const uid_t user = fuse_req_ctx(request)->uid;
  if (!settings_.own_user_only || user == 0 || user == ::geteuid()) return false;
  return operation != Operation::kForget && operation != Operation::kRelease &&
         operation != Operation::kReleasedir;
}

void FrontEnd::agree(fuse_conn_info& connection) {
  connection.max_read = kLargestRequest;
  connection.max_readahead = kLargestRequest;
  connection.max_background = kMostBackgroundRequests;
  // Requests are small and answers are copied once either way; pipes would only cost system calls.
  connection.want &=
      ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  // Where a directory has a default access list, the caller's mask must not be applied: the kernel
  // of the store knows.
  if (has_own_umask()) connection.want |= connection.capable & FUSE_CAP_DONT_MASK;
  // Always READDIRPLUS: the kernel's own choice comes too late, see listing_habit.h.
  connection.want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO);
  const bool unasked = settings_.immutable && !settings_.guarded;
  without_open_ =
      unasked && !settings_.direct_io && (connection.capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
  without_opendir_ = unasked && (connection.capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
  settings_.ready();
}

double FrontEnd::timeout_of(const InodeEntry& found) const {
  if (found.uncached) return 0;
  if (found.immutable && !settings_.guarded) return kForEver;
  return std::max(settings_.timeout, static_cast<double>(found.lent.count()));
}

fuse_entry_param FrontEnd::entry_of(const InodeEntry& found) const {
  fuse_entry_param entry{};
  entry.ino = found.id;
  entry.attr = found.status;
  entry.attr_timeout = timeout_of(found);
  entry.entry_timeout = timeout_of(found);
  return entry;
}

void FrontEnd::refuse(Reply& reply, const Error& error) {
  if (is_worth_a_line(error.fault)) {
    settings_.complain(std::string(operation_name(reply.operation())) + ": " + error.message);
  }
  if (error.fault == Fault::kGivenUp && !request_ended()) {
    // Of close(2), EINTR says to many programs that all is well.
    internal_error(reply.operation(), "what another program gave up came to one that waits");
    return reply.error(EIO);
  }
  reply.error(errno_of(error.fault));
}

void FrontEnd::renew_time(InodeEntry& found) {
  if (!S_ISDIR(found.status.st_mode)) return;
  const auto held = kept_.serial_held(found.id);
  if (!held) return;
  const auto directory = view_.open_directory(found.id);
  if (directory && (*directory)->serial() == held) return;
  ::clock_gettime(CLOCK_REALTIME, &found.status.st_mtim);
}

void FrontEnd::internal_error(Operation operation, const char* what) noexcept {
  try {
    settings_.complain("internal error: " + std::string(operation_name(operation)) + ": " + what);
  } catch (const std::exception&) {
    // No memory for the line; the program still gets its errno.
    return;
  }
}

void FrontEnd::lookup(Reply& reply, NodeId parent, const char* name) {
  auto found = view_.find(parent, name);
  if (!found) return refuse(reply, found.error());
  if (!*found) {
    fuse_entry_param absent{};
    // What a program writes can make other names appear, by which it may ask next.
    const double while_read_only = settings_.immutable ? kForEver : settings_.timeout;
    absent.entry_timeout = view_.writable() ? 0 : while_read_only;
    reply.entry(absent);
    return;
  }
  const NodeId node = (*found)->id;
  renew_time(**found);
  if (!S_ISDIR((*found)->status.st_mode)) habit_.looked_up(parent);
  if (!reply.entry(entry_of(**found))) view_.forget(node, 1);
}

void FrontEnd::forget(Reply& reply, NodeId node, std::uint64_t lookups) {
  files_.drop(node);
  directories_.drop(node);
  view_.forget(node, lookups);
  reply.none();
}

void FrontEnd::forget_multi(Reply& reply, std::span<const fuse_forget_data> forgotten) {
  for (const fuse_forget_data& one : forgotten) {
    files_.drop(one.ino);
    directories_.drop(one.ino);
    view_.forget(one.ino, one.nlookup);
  }
  reply.none();
}

/// What is opened keeps its version, and its node: who asks for it by name must not get that one's.
InodeEntry FrontEnd::as_opened(InodeEntry own) const {
  own.uncached = own.uncached || view_.writable();
  return own;
}

Result<InodeEntry> FrontEnd::attributes_of(NodeId node) {
  auto found = view_.attributes(node);
  if (found) return found;
  if (const auto file = open_.find(node)) {  // its name is gone, or another's
    if (const auto own = file->attributes(); own && *own) return as_opened(**own);
    return found;
  }
  // Told ESTALE, the kernel would look the name up again and ask once more, of stat(2), but not of
  // fstat(2) after open(2) with O_PATH; and what it finds then may be replaced as well.
  // Source: vfs_statx of Linux, retry_estale.
  return found.error().fault == Fault::kStale ? view_.attributes_by_now(node) : found;
}

void FrontEnd::getattr(Reply& reply, NodeId node, const fuse_file_info* info) {
  if (info != nullptr && info->fh != 0) {
    const auto own = (*opened_behind<OpenFile>(info->fh))->attributes();
    if (own && *own) return reply.attributes((*own)->status, timeout_of(as_opened(**own)));
  }
  auto found = attributes_of(node);
  if (!found) return refuse(reply, found.error());
  renew_time(*found);
  reply.attributes(found->status, timeout_of(*found));
}

void FrontEnd::access(Reply& reply, NodeId node, int mask) {
  if ((mask & W_OK) != 0 && !view_.writable()) return reply.error(EROFS);
  const auto found = attributes_of(node);
  if (!found) return refuse(reply, found.error());
  const bool may_execute = (found->status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
  reply.error((mask & X_OK) != 0 && !may_execute ? EACCES : 0);
}

void FrontEnd::readlink(Reply& reply, NodeId node) {
  const auto target = view_.read_link(node);
  if (!target) return refuse(reply, target.error());
  reply.link(*target);
}

void FrontEnd::open(Reply& reply, NodeId node, const fuse_file_info& asked) {
  if ((asked.flags & O_ACCMODE) != O_RDONLY || (asked.flags & O_TRUNC) != 0) {
    auto written = view_.open_for_writing(node, asked.flags);
    if (!written) return refuse(reply, written.error());
    const fuse_file_info info = writing_info(node, asked, std::move(*written));
    if (!reply.opened(info)) abandon(node, info);
    return;
  }
  if (without_open_) return reply.error(ENOSYS);
  auto file = view_.open_file(node);
  if (!file) return refuse(reply, file.error());
  fuse_file_info info = asked;
  info.keep_cache = (*file)->keep_cache();
  info.direct_io = (*file)->direct_io() || (*file)->past_cache();
  info.noflush = true;
  open_.opened(node, *file);
  info.fh = handle_for(std::move(*file));
  if (!reply.opened(info)) abandon(node, info);
}

Result<std::shared_ptr<OpenFile>> FrontEnd::file_of(NodeId node, const fuse_file_info* info) {
  if (info != nullptr && info->fh != 0) return *opened_behind<OpenFile>(info->fh);
  if (auto kept = files_.find(node)) return kept;
  const RequestScope for_all(std::nullopt);  // whoever reads next gets it too: the kernel has asked
  ZARRFS_TRY(std::shared_ptr<OpenFile> file, view_.open_file(node));
  // Files rendered anew by each open must not stay as they were.
  if (!file->direct_io()) files_.keep(node, file);
  return file;
}

void FrontEnd::read(Reply& reply, NodeId node, std::size_t size, off_t offset,
                    const fuse_file_info* info) {
  if (offset < 0) return reply.error(EINVAL);
  const std::size_t most = std::min(size, kLargestRequest);
  const auto file = file_of(node, info);
  if (!file) return refuse(reply, file.error());
  const auto plan = (*file)->read(static_cast<std::uint64_t>(offset), most);
  if (!plan) return refuse(reply, plan.error());
  if (plan->descriptor < 0) {
    return reply.data(plan->bytes.first(std::min(most, plan->bytes.size())));
  }
  const ByteRange range{plan->range.offset, std::min<std::uint64_t>(most, plan->range.length)};
  const std::span<char> room = settings_.room(range.length);
  const MutableByteView memory =
      room.empty() ? scratch(range.length)
                   : MutableByteView(reinterpret_cast<std::uint8_t*>(room.data()), room.size());
  const auto done = read_exactly(plan->descriptor, range.offset, memory.first(range.length));
  if (!done) return refuse(reply, done.error());
  if (const auto same = (*file)->confirm(); !same) return refuse(reply, same.error());
  reply.data_in_place(memory);
}

void FrontEnd::abandon(NodeId node, const fuse_file_info& info) {
  auto* file = opened_behind<OpenFile>(info.fh);
  (*file)->closed();
  open_.closed(node, file->get());
  delete file;
}

void FrontEnd::release(Reply& reply, NodeId node, const fuse_file_info& info) {
  const auto attempt = [this, node, info](Reply& released, bool last) {
    OpenFile& file = **opened_behind<OpenFile>(info.fh);
    if (!last && file.must_wait()) {  // its close was interrupted, and left the document to this
      const auto flushed = file.flush();
      const bool again = !flushed && flushed.error().fault == Fault::kBusy && file.must_wait();
      if (again) return WaitingRoom::Outcome::kAgain;
    }
    abandon(node, info);
    released.error(0);
    return WaitingRoom::Outcome::kAnswered;
  };
  constexpr bool kLast = true;
  if (attempt(reply, !kLast) == WaitingRoom::Outcome::kAgain) {
    waiting_room_.wait(std::move(reply), attempt);
  }
}

void FrontEnd::opendir(Reply& reply, NodeId node, const fuse_file_info& asked) {
  if (without_opendir_) return reply.error(ENOSYS);
  auto directory = view_.open_directory(node);
  if (!directory) return refuse(reply, directory.error());
  KeptListings::Opened kept = kept_.open(node, (*directory)->serial(), habit_.names_suffice());
  fuse_file_info info = asked;
  info.cache_readdir = kept.hold != nullptr;
  info.keep_cache = !kept.drop;
  if (kept.names_only) habit_.kept(node);
  if (kept.hold != nullptr) {
    *directory = std::make_shared<HeldListing>(std::move(*directory), node, kept_, std::move(kept));
  }
  info.fh = handle_for(std::move(*directory));
  if (!reply.opened(info)) delete opened_behind<OpenDirectory>(info.fh);
}

Result<std::shared_ptr<OpenDirectory>> FrontEnd::directory_of(NodeId node,
                                                              const fuse_file_info* info) {
  if (info != nullptr && info->fh != 0) return *opened_behind<OpenDirectory>(info->fh);
  if (auto kept = directories_.find(node)) return kept;
  ZARRFS_TRY(std::shared_ptr<OpenDirectory> directory, view_.open_directory(node));
  directories_.keep(node, directory);
  return directory;
}

void FrontEnd::readdir(Reply& reply, NodeId node, std::size_t size, off_t offset,
                       const fuse_file_info* info) {
  const auto directory = directory_of(node, info);
  if (!directory) return refuse(reply, directory.error());
  const std::size_t most = std::min(size, kLargestRequest);
  Bytes listing;
  listing.reserve(most);
  std::size_t names = 0;
  const auto done =
      (*directory)->list(static_cast<std::uint64_t>(offset), [&](const Listed& listed) {
        const bool fitted = add_plain(reply.request(), listed, listing, most);
        if (fitted) ++names;
        return fitted;
      });
  if (names > 0) kept_.listed(node, static_cast<std::uint64_t>(offset), names);
  // What came before a fault is worth having; the next request meets the fault again.
  if (!done && listing.empty()) return refuse(reply, done.error());
  reply.buffer(listing);
}

fuse_entry_param FrontEnd::entry_in(Plus& plus, const Listed& listed, const std::string& name) {
  fuse_entry_param entry{};
  entry.attr.st_ino = listed.inode;
  entry.attr.st_mode = listed.type;
  using Statuses = ListingHabit::Statuses;
  const bool file = !S_ISDIR(listed.type);
  const bool sample =
      file && plus.statuses == Statuses::kMost && ListingHabit::is_sample(listed.inode);
  const bool wanted = file ? plus.statuses != Statuses::kNone && !sample : !is_dot(name);
  if (file) ++(wanted ? plus.files.with : plus.files.without);
  if (!sample) ++plus.brief;
  if (!wanted) return entry;
  // A name whose status cannot be had is listed without it; asking for it by name gives the error.
  auto found = view_.find(plus.directory, name);
  if (!found || !*found) return entry;
  renew_time(**found);
  plus.counted.push_back((*found)->id);
  if ((*found)->lent.count() > 0) --plus.brief;
  return entry_of(**found);
}

bool FrontEnd::add_with_status(Plus& plus, const Listed& listed) {
  const std::string name(listed.name);
  const std::size_t needed =
      fuse_add_direntry_plus(plus.request, nullptr, 0, name.c_str(), nullptr, 0);
  const std::size_t before = plus.listing.size();
  plus.files.full = needed > plus.most - before;
  if (plus.files.full) return false;
  const fuse_entry_param entry = entry_in(plus, listed, name);
  plus.listing.resize(before + needed);
  fuse_add_direntry_plus(plus.request, reinterpret_cast<char*>(plus.listing.data() + before),
                         needed, name.c_str(), &entry, static_cast<off_t>(listed.next));
  return true;
}

void FrontEnd::readdirplus(Reply& reply, NodeId node, std::size_t size, off_t offset,
                           const fuse_file_info* info) {
  const auto directory = directory_of(node, info);
  if (!directory) return refuse(reply, directory.error());
  Plus plus{.request = reply.request(),
            .directory = node,
            .most = std::min(size, kLargestRequest),
            .statuses = habit_.wanted(node, offset == 0)};
  plus.listing.reserve(plus.most);
  const auto done =
      (*directory)->list(static_cast<std::uint64_t>(offset), [&](const Listed& listed) {
        return add_with_status(plus, listed);
      });
  if (!plus.listing.empty()) kept_.listed(node, static_cast<std::uint64_t>(offset), plus.brief);
  if (!done && plus.listing.empty()) return refuse(reply, done.error());
  habit_.answered(node, plus.files);
  if (reply.buffer(plus.listing)) return;
  for (const NodeId one : plus.counted) view_.forget(one, 1);
}

void FrontEnd::releasedir(Reply& reply, const fuse_file_info& info) {
  delete opened_behind<OpenDirectory>(info.fh);
  reply.error(0);
}

void FrontEnd::statfs(Reply& reply) {
  const auto space = view_.space();
  if (!space) return refuse(reply, space.error());
  reply.space(*space);
}

void FrontEnd::answer_text(Reply& reply, const std::string& text, std::size_t size) {
  if (size == 0) return reply.attribute_size(text.size());
  if (size < text.size()) return reply.error(ERANGE);
  reply.buffer(ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void FrontEnd::getxattr(Reply& reply, NodeId node, const char* name, std::size_t size) {
  if (node == kRootNode && name == kProcessAttribute) {
    return answer_text(reply, std::to_string(::getpid()), size);
  }
  if (node == kRootNode && name == kUnpublishedAttribute) {
    // It names what not everybody may see.
    if (foreign_caller() != nullptr) return reply.error(EACCES);
    return answer_text(reply, unpublished_text(size), size);
  }
  // "Not supported", unlike "none here", is remembered for the whole mount by programs that ask for
  // labels and access lists of every file, as ls -l does.
  if (!std::string_view(name).starts_with(kUserAttributes)) return reply.error(EOPNOTSUPP);
  const auto value = view_.attribute(node, name);
  if (!value) return refuse(reply, value.error());
  answer_text(reply, *value, size);
}

void FrontEnd::listxattr(Reply& reply, NodeId node, std::size_t size) {
  const auto names = view_.attribute_names(node);
  if (!names) return refuse(reply, names.error());
  std::string text;
  for (const std::string& name : *names) {
    text += name;
    text.push_back('\0');
  }
  answer_text(reply, text, size);
}

}  // namespace zarrfs
