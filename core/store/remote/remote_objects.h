// The objects of one server below one URL: what is known of them, their bytes through the caches,
// and versions that never mix. What a RemoteStore and its files share. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/store/cache/disk_cache.h"
#include "core/store/cache/segment_cache.h"
#include "core/store/http/options.h"
#include "core/store/http/requester.h"
#include "core/store/http/url.h"
#include "core/store/object_status.h"
#include "core/store/remote/object_listings.h"
#include "core/store/remote/object_table.h"
#include "core/store/remote/object_writer.h"
#include "core/store/store.h"

namespace zarrfs {

class RemoteObjects {
 public:
  /// kUnsupported where its scheme is none of a server.
  static Result<std::shared_ptr<RemoteObjects>> open(const Url& url, const RemoteOptions& options);

  /// Ends what is on its way.
  ~RemoteObjects();
  RemoteObjects(const RemoteObjects&) = delete;
  RemoteObjects& operator=(const RemoteObjects&) = delete;

  // Where the server does not answer, what was seen of it before is given, for so long as
  // stale_if_error says; but no absence, which readers take for the fill value.

  /// Nothing where the server says that there is no such object. Asks with HEAD.
  Result<std::optional<ObjectInfo>> status(const std::string& key);
  /// The same, for who is going to put it on the condition that this is so still: absence that was
  /// seen before will do.
  Result<std::optional<ObjectInfo>> status_to_write(const std::string& key);
  /// What was seen of it last, however long ago; nothing where nothing was. Asks nobody.
  [[nodiscard]] std::optional<ObjectInfo> known(const std::string& key) const;
  /// The same where it was seen so short ago that nobody has to be asked.
  [[nodiscard]] std::optional<ObjectInfo> fresh(const std::string& key) const;
  /// A part of what is kept in memory, so that what was asked for in advance is read before it
  /// goes.
  [[nodiscard]] std::uint64_t room_ahead() const { return segments_.max_bytes() / 2; }
  struct Seen {
    ObjectInfo info;
    bool before = false;  ///< And not now: the server does not answer.
  };
  /// As status(), and brings the bytes that are going to be read first.
  Result<std::optional<Seen>> open_object(const std::string& key, const OpenHint& hint);
  /// Those of `keys` that are not known, many at once. What fails is asked for again when it is
  /// needed.
  void expect(std::span<const std::string> keys, const OpenHint& hint);
  /// One, without waiting.
  void open_later(const std::string& key, const OpenHint& hint);
  /// Bytes of this version; kStale where the server has another one now.
  Result<void> read(const std::string& key, const ObjectInfo& info, std::uint64_t offset,
                    MutableByteView out);
  /// Begins to bring them. Never waits.
  void fetch(const std::string& key, const ObjectInfo& info, ByteRange range);

  /// What puts and removes objects.
  [[nodiscard]] ObjectWriter& writer() { return writer_; }
  /// What is listed. Only where lists().
  [[nodiscard]] ObjectListings& listings() { return listings_; }

  /// Whether the server does not answer; looks again, for a moment.
  bool away() { return requester_.reachability().away(); }
  /// See Store.
  [[nodiscard]] bool shows_what_was_seen() const;

  [[nodiscard]] bool lists() const { return client().lists(); }
  [[nodiscard]] std::string url_of(const std::string& key) const { return client().url_of(key); }
  [[nodiscard]] const ObjectClient& client() const { return requester_.client(); }
  /// Attributes of an object, and of what is only a prefix of keys.
  [[nodiscard]] struct stat status_of(const std::string& key, const ObjectInfo& info) const;
  [[nodiscard]] struct stat status_of_prefix(const std::string& prefix) const;
  /// See Store::statistics.
  [[nodiscard]] std::string statistics() const;

 private:
  friend class ObjectListings;
  friend class ObjectWriter;
  RemoteObjects(std::unique_ptr<HttpClient> http, std::shared_ptr<BodyRoom> bodies,
                std::unique_ptr<ObjectClient> client, std::unique_ptr<DiskCache> disk,
                const RemoteOptions& options);

  struct Opening;
  [[nodiscard]] Opening opening_of(const std::string& key, const OpenHint& hint) const;
  Result<std::optional<ObjectInfo>> take(const Opening& opening, RequestAnswer answer);
  void tell(bool away, const std::string& text) const;
  Result<std::optional<ObjectInfo>> status_of_key(const std::string& key, bool absence_will_do);
  [[nodiscard]] std::optional<std::optional<ObjectInfo>> seen_before(const std::string& key,
                                                                     const RequestError& error);
  Result<std::optional<ObjectInfo>> open_empty(const std::string& key);
  Result<std::optional<ObjectInfo>> open_shorter(const std::string& key);
  [[nodiscard]] ObjectQuestion range_of(const std::string& key, const ObjectInfo& info,
                                        ByteRange range) const;
  Result<void> take_range(const std::string& key, const ObjectInfo& info, RequestAnswer answer);
  bool find_on_disk(const std::string& name, ByteRange range);
  Result<void> bring(const std::string& key, const ObjectInfo& info,
                     const std::vector<ByteRange>& missing);
  Result<void> read_window(const std::string& key, const ObjectInfo& info, std::uint64_t offset,
                           MutableByteView out);
  Result<void> read_past_cache(const std::string& key, const ObjectInfo& info, std::uint64_t offset,
                               MutableByteView out);
  [[nodiscard]] bool go_together(const ByteRange& first, const ByteRange& last,
                                 const ByteRange& next) const;
  void fetch_together(const std::string& key, const ObjectInfo& info,
                      const std::vector<ByteRange>& parts);
  void keep_bytes(const std::string& key, const ObjectInfo& info, std::uint64_t offset,
                  Bytes bytes);
  [[nodiscard]] Error stale(const std::string& key) const;
  [[nodiscard]] Error unexpected_answer(const std::string& key) const;
  [[nodiscard]] std::string object_name(const std::string& key, const ObjectInfo& info) const;

  const RemoteOptions options_;
  const std::uint64_t largest_request_;
  const std::int64_t opened_ns_;
  ObjectTable table_;
  SegmentCache segments_;
  const std::unique_ptr<DiskCache> disk_;  ///< Null where there is none.
  const std::shared_ptr<BodyRoom> bodies_;
  std::atomic<std::uint64_t> reads_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> shown_stale_{0};
  std::atomic<std::int64_t> fetching_{0};
  std::unique_ptr<HttpClient> http_;
  Requester requester_;
  ObjectWriter writer_{*this};
  ObjectListings listings_{*this};
};

}  // namespace zarrfs
