// Where the bytes of chunks may lie that a file names: the references of kerchunk, the virtual
// chunks of Icechunk. The file is untrusted, so that one rule holds for all: only what lies under a
// prefix that the user gave (virtual=PREFIX) is read, and of everything else nothing is asked, sent
// or looked at. docs/security.md says why. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/lock_order.h"
#include "core/base/result.h"
#include "core/store/open_store.h"

namespace zarrfs {

/// The longest URL that a file may name, in bytes.
inline constexpr std::size_t kLongestUrl = std::size_t{64} << 10U;

class VirtualTargets {
 public:
  /// `base`: what URLs without a scheme are relative to, an absolute path or a URL; empty: such are
  /// refused. Opens each prefix of `options`; kInvalid, naming it, where one names nothing that can
  /// be opened.
  static Result<std::shared_ptr<const VirtualTargets>> make(std::string base,
                                                            const StoreOptions& options);

  // The bytes of one key of a store, which a file says lie elsewhere.

  struct Part {
    std::string_view url;
    std::optional<ByteRange> range;  ///< Nothing: all of it.
    /// What the file was when it was named: nothing or the server's word for its version (an ETag),
    /// or the second after which it may not have changed.
    std::string_view tag;
    std::optional<std::int64_t> unchanged_since;
  };
  /// `key` is what the part is called in messages, and in its status. Both: kStale where the file
  /// is another one than it was when it was named, kDamaged where it is not there or too short.
  [[nodiscard]] Result<std::shared_ptr<File>> open(const std::string& key, const Part& part,
                                                   const OpenHint& hint) const;
  [[nodiscard]] Result<struct stat> status(const std::string& key, const Part& part) const;
  /// Advice: `parts` are going to be opened, as `hint` says. Waits for nothing.
  void open_ahead(std::span<const Part> parts, const OpenHint& hint) const;
  [[nodiscard]] std::uint64_t room_ahead() const;

  /// A file below a prefix. Pointer and views live as long as the targets.
  struct Target {
    Store* store = nullptr;
    std::string path;             ///< In it.
    std::string_view allowed_by;  ///< The prefix, as messages have it.
    std::string_view root;        ///< The URL that the store is; empty: of this machine.
  };
  /// The file that `url` names. kForbidden where no prefix allows it; kUnsupported, naming it,
  /// where zarrfs reads no such URL. Asks nobody.
  [[nodiscard]] Result<Target> find(std::string_view url) const;

  /// Where `url` leads as far as its server's name and bucket, or its folder, for messages. Asks
  /// nobody.
  [[nodiscard]] std::string place_of(std::string_view url) const;
  /// The prefixes, as messages have them.
  [[nodiscard]] std::vector<std::string> prefixes() const;

  /// Whether no target is at a server.
  [[nodiscard]] bool near() const;
  [[nodiscard]] bool shows_what_was_seen() const;
  /// See Store::statistics: of all prefixes together, and of `place`.
  [[nodiscard]] std::string statistics(const Store& place) const;

 private:
  struct Prefix {
    std::string written;    ///< As the user did, without a query.
    std::string root;       ///< The URL that the store is; empty: of this machine.
    std::string scheme;     ///< Empty: of this machine.
    std::string authority;  ///< Of a URL: "bucket", "host:port".
    std::string query;
    std::vector<std::string> spellings;  ///< Paths without a slash at the end, each of this prefix.
    bool alone = false;                  ///< A file: nothing is below it.
    std::string top;                     ///< The path that the store's root is.
    std::shared_ptr<Store> store;
  };
  static Result<Prefix> open_local(const std::string& prefix);
  static Result<Prefix> open_server(const std::string& prefix, const RemoteOptions& options);
  [[nodiscard]] Result<Target> find_local(const std::string& url, const std::string& path) const;
  [[nodiscard]] Result<Target> find_at_server(const std::string& url) const;

  /// `url` seen from the base.
  [[nodiscard]] std::string whole_url(std::string_view url) const;
  Result<void> check_version(const std::string& key, const Part& part, const std::string& tag,
                             const struct stat& status) const;
  void tell_once(std::string_view url, const std::string& message) const;

  std::string base_;
  std::vector<Prefix> prefixes_;
  /// For the log: who opens a file that is stale is asked to open it again, and says nothing.
  std::function<void(const std::string&)> tell_;
  mutable TableMutex mutex_;
  mutable std::set<std::string, std::less<>> told_ ZARRFS_GUARDED_BY(mutex_);
};

}  // namespace zarrfs
