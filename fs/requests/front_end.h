// From requests of the kernel to questions to the View, and back: one short function per FUSE
// operation. Thread-safe, as the View is.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/recently_used.h"
#include "core/base/request.h"
#include "core/view/view.h"
#include "fs/requests/fuse.h"
#include "fs/requests/kept_listings.h"
#include "fs/requests/listing_habit.h"
#include "fs/requests/open_by_node.h"
#include "fs/requests/reply.h"
#include "fs/requests/statistics.h"
#include "fs/requests/waiting_room.h"

namespace zarrfs {

/// The most that is read or listed by one request, in bytes: what the kernel is told, and a bound
/// whatever it asks.
inline constexpr std::size_t kLargestRequest = std::size_t{1} << 20U;

/// Extended attribute of the mount's root, not listed: the id of the process that serves it, as
/// text.
inline constexpr std::string_view kProcessAttribute = "user.zarrfs.process";

/// Setting this extended attribute of the mount's root, to anything, puts what was written into
/// its shards; the answer comes when that is done.
inline constexpr std::string_view kPublishAttribute = "user.zarrfs.publish";

/// Extended attribute of the mount's root, not listed: what cannot be published, a line each.
inline constexpr std::string_view kUnpublishedAttribute = "user.zarrfs.unpublished";

struct FrontEndSettings {
  /// How long the kernel may keep names and attributes, in seconds; names proven absent too.
  double timeout = 1.0;
  /// The store never changes and nothing is written: the kernel need not tell about open and close,
  /// and may keep everything.
  bool immutable = false;
  /// How long a request may wait for other programs.
  std::chrono::milliseconds patience{10'000};
  /// Where the answer to the request that the calling thread serves may be made; empty: anywhere.
  std::function<std::span<char>(std::size_t)> room = [](std::size_t) { return std::span<char>(); };
  /// Whether the request that the calling thread serves may wait so.
  std::function<bool()> may_wait = [] { return true; };
  /// Other users use the mount: the View is told which user asks.
  bool for_others = false;
  /// Only the user of this process, and root, are served. If false, the kernel checks that.
  bool own_user_only = false;
  /// The kernel shows the mount to all users, and each request tells whether its user may see it.
  /// So each open is asked for, and nothing is kept for longer than `timeout`.
  bool guarded = false;
  /// How a file is read is told at each open.
  bool direct_io = false;
  /// Receives one line for each fault that programs see as an errno and that the store or zarrfs is
  /// to blame for.
  std::function<void(const std::string&)> complain = [](const std::string&) {};
  /// Called once, when the kernel and this side have agreed on the protocol: from then on the mount
  /// answers.
  std::function<void()> ready = [] {};
};

class FrontEnd {
 public:
  FrontEnd(View& view, FrontEndSettings settings);

  /// The table for fuse_session_new, whose user data is a SessionUser (wire.h).
  static const fuse_lowlevel_ops& operations();

  Statistics& statistics() { return statistics_; }

  /// Who made the request, where the mount serves others.
  [[nodiscard]] std::optional<Caller> caller_of(fuse_req_t request) const;
  /// Whether who made the request is refused whatever it is; never what has no answer.
  [[nodiscard]] bool shuts_out(fuse_req_t request, Operation operation) const;

  void agree(fuse_conn_info& connection);

  void lookup(Reply& reply, NodeId parent, const char* name);
  void forget(Reply& reply, NodeId node, std::uint64_t lookups);
  void forget_multi(Reply& reply, std::span<const fuse_forget_data> forgotten);
  void getattr(Reply& reply, NodeId node, const fuse_file_info* info);
  void access(Reply& reply, NodeId node, int mask);
  void readlink(Reply& reply, NodeId node);
  void open(Reply& reply, NodeId node, const fuse_file_info& asked);
  void read(Reply& reply, NodeId node, std::size_t size, off_t offset, const fuse_file_info* info);
  void release(Reply& reply, NodeId node, const fuse_file_info& info);
  void opendir(Reply& reply, NodeId node, const fuse_file_info& asked);
  void readdir(Reply& reply, NodeId node, std::size_t size, off_t offset,
               const fuse_file_info* info);
  void readdirplus(Reply& reply, NodeId node, std::size_t size, off_t offset,
                   const fuse_file_info* info);
  void releasedir(Reply& reply, const fuse_file_info& info);
  void statfs(Reply& reply);
  void getxattr(Reply& reply, NodeId node, const char* name, std::size_t size);
  void listxattr(Reply& reply, NodeId node, std::size_t size);

  // Writing (front_end_write.cc).
  void setattr(Reply& reply, NodeId node, const struct stat& wanted, int which,
               const fuse_file_info* info);
  void mknod(Reply& reply, NodeId parent, const char* name, mode_t mode);
  void mkdir(Reply& reply, NodeId parent, const char* name, mode_t mode);
  void symlink(Reply& reply, const char* target, NodeId parent, const char* name);
  void unlink(Reply& reply, NodeId parent, const char* name);
  void rmdir(Reply& reply, NodeId parent, const char* name);
  void rename(Reply& reply, NodeId parent, const char* name, NodeId new_parent,
              const char* new_name, unsigned flags);
  void link(Reply& reply, NodeId node, NodeId new_parent, const char* new_name);
  void create(Reply& reply, NodeId parent, const char* name, mode_t mode,
              const fuse_file_info& asked);
  void write(Reply& reply, ByteView bytes, off_t offset, const fuse_file_info& info);
  void flush(Reply& reply, const fuse_file_info& info);
  void fsync(Reply& reply, NodeId node, const fuse_file_info& info);
  void fsyncdir(Reply& reply, NodeId node);
  void setxattr(Reply& reply, NodeId node, const char* name);

  /// Answers requests that still wait for other programs: from now on nothing waits.
  void stop_waiting() { waiting_room_.close(); }

  /// For what is caught at the border: a line in the log, nothing thrown.
  void internal_error(Operation operation, const char* what) noexcept;

 private:
  [[nodiscard]] double timeout_of(const InodeEntry& found) const;
  [[nodiscard]] fuse_entry_param entry_of(const InodeEntry& found) const;
  void refuse(Reply& reply, const Error& error);
  [[nodiscard]] InodeEntry as_opened(InodeEntry own) const;
  /// What stat(2) shows of the node, or of a file that was opened by it.
  Result<InodeEntry> attributes_of(NodeId node);
  /// Gives the directory another time where only that makes an open listing begin anew.
  void renew_time(InodeEntry& found);
  /// Answers with what `act` gives. Where that is kBusy while `must_wait` holds, it is asked again
  /// later, without a request thread.
  template <class T>
  void patiently(Reply& reply, std::function<Result<T>()> act, std::function<bool()> must_wait,
                 std::function<void(Reply&, T&)> answer);
  void patiently(Reply& reply, std::function<Result<void>()> act, std::function<bool()> must_wait);
  Result<std::shared_ptr<OpenFile>> file_of(NodeId node, const fuse_file_info* info);
  Result<std::shared_ptr<OpenDirectory>> directory_of(NodeId node, const fuse_file_info* info);
  /// An answer to READDIRPLUS in the making.
  struct Plus {
    fuse_req_t request;
    NodeId directory;
    std::size_t most;  ///< Bytes of `listing`.
    ListingHabit::Statuses statuses;
    Bytes listing{};
    ListingHabit::Answer files{};
    std::vector<NodeId> counted{};  ///< One lookup each, to be forgotten if it is not taken.
    std::size_t brief = 0;          ///< Names without a status that is lent, but for samples.
  };
  /// Adds one entry, with the status of a directory, and of a file if it is wanted; whether it
  /// fitted.
  bool add_with_status(Plus& plus, const Listed& listed);
  /// What an entry says of `listed`; of the name alone where its status is not wanted.
  fuse_entry_param entry_in(Plus& plus, const Listed& listed, const std::string& name);
  /// Closes a file whose opening nobody learnt of, or whose last descriptor is gone.
  void abandon(NodeId node, const fuse_file_info& info);
  /// At most `most` bytes (0: any number): what is left out is counted.
  std::string unpublished_text(std::size_t most);
  fuse_file_info writing_info(NodeId node, const fuse_file_info& asked,
                              std::shared_ptr<OpenFile> file);
  void answer_text(Reply& reply, const std::string& text, std::size_t size);

  View& view_;
  const FrontEndSettings settings_;
  Statistics statistics_;
  bool without_open_ = false;     ///< Agreed with the kernel, before the first other request.
  bool without_opendir_ = false;  ///< The same.
  // Where the kernel does not tell about open and close, so that reads come with the node alone.
  RecentlyUsed<NodeId, std::shared_ptr<OpenFile>> files_;
  RecentlyUsed<NodeId, std::shared_ptr<OpenDirectory>> directories_;
  ListingHabit habit_;
  KeptListings kept_;
  OpenByNode open_;
  WaitingRoom waiting_room_;
};

}  // namespace zarrfs
