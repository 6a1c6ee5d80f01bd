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
#include "core/store/remote/object_table.h"
#include "core/store/remote/part_plan.h"
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

  // Writing (remote_objects_writing.cc).

  /// What stands under a key, and the note that its writer left with it.
  struct Standing {
    ObjectInfo info;
    std::string note;
  };
  /// Asks the server.
  Result<std::optional<Standing>> look(const std::string& key);
  /// In place of `expected`, or of nothing; kStale where something else stands there. After another
  /// error it may have been done: look() tells. `note`: never the same for two writes.
  Result<ObjectInfo> put(const std::string& key, const std::shared_ptr<const RequestBody>& body,
                         const std::optional<ObjectInfo>& expected, const std::string& note);
  /// Who is told of an upload in parts: that it has begun (and does not go on after an error), and
  /// that nothing of it is left at the server.
  struct UploadWatch {
    std::function<Result<void>(const std::string& id)> begun;
    std::function<void()> ended;
  };
  /// As put(), in parts: from `file`, and from the version `expected`. kUnsupported where the
  /// server does not do that. Only where check_parts() has succeeded.
  Result<ObjectInfo> put_parts(const std::string& key, const std::vector<ObjectPiece>& parts,
                               const std::shared_ptr<const File>& file,
                               const std::optional<ObjectInfo>& expected, const std::string& note,
                               const UploadWatch& watch);
  /// Forgets an upload that was begun earlier; also where it is gone.
  Result<void> abort_upload(const std::string& key, const std::string& id);
  /// Tries whether the server copies what is asked for and completes uploads on conditions only:
  /// kUnsupported, naming what it does, where it does not.
  Result<void> check_parts();
  /// kStale where something else stands there. Removing what is absent succeeds.
  Result<void> remove(const std::string& key, const ObjectInfo& expected);
  /// Tries with an object of its own whether the server refuses what a condition forbids:
  /// kReadOnly, naming what it does, where it does not.
  Result<void> check_conditions();

  /// What is directly below `prefix`; nothing where there is nothing. Only where lists().
  Result<ObjectTable::Listing> list(const std::string& prefix);
  /// Gets what is below `prefix` at any depth with one request, unless it is much, or that and
  /// `needed`, one of the prefixes below it, have been listed. Only advice.
  Result<void> list_below(const std::string& prefix, const std::string& needed);
  /// Whether a listing that is still good names `prefix` as one, and as no object.
  [[nodiscard]] bool listed_as_prefix(const std::string& prefix) const;
  /// Whether the server does not answer, and has had objects below `prefix` before.
  [[nodiscard]] bool seen_as_prefix(const std::string& prefix) const;
  /// Whether the server does not answer; looks again, for a moment.
  bool away() { return requester_.reachability().away(); }
  /// See Store.
  [[nodiscard]] bool shows_what_was_seen() const;
  /// Whether a key begins with `prefix` and a slash. Only where lists().
  Result<bool> has_prefix(const std::string& prefix);

  [[nodiscard]] bool lists() const { return client().lists(); }
  [[nodiscard]] std::string url_of(const std::string& key) const { return client().url_of(key); }
  [[nodiscard]] const ObjectClient& client() const { return requester_.client(); }
  /// Attributes of an object, and of what is only a prefix of keys.
  [[nodiscard]] struct stat status_of(const std::string& key, const ObjectInfo& info) const;
  [[nodiscard]] struct stat status_of_prefix(const std::string& prefix) const;
  /// See Store::statistics.
  [[nodiscard]] std::string statistics() const;

 private:
  RemoteObjects(std::unique_ptr<HttpClient> http, std::unique_ptr<ObjectClient> client,
                std::unique_ptr<DiskCache> disk, const RemoteOptions& options);

  [[nodiscard]] Result<void> check_condition(const std::string& key,
                                             const std::optional<ObjectInfo>& expected) const;
  [[nodiscard]] Error replaced(const std::string& key) const;
  void keep_put(const std::string& key, const ObjectInfo& info, const RequestBody& body);
  Result<ObjectInfo> settle(const std::string& key, const std::string& note,
                            const Result<std::optional<ObjectInfo>>& answered);
  struct Pieces;
  Result<std::vector<std::string>> bring_pieces(const ObjectQuestion& upload, const Pieces& pieces);
  Result<std::optional<ObjectInfo>> complete(ObjectQuestion question, const Pieces& pieces,
                                             const std::optional<ObjectInfo>& expected);
  Result<ObjectInfo> put_pieces(const std::string& key, const Pieces& pieces,
                                const std::optional<ObjectInfo>& expected, const std::string& note,
                                const UploadWatch& watch);
  Result<void> try_conditions(const std::string& key);
  Result<void> try_parts(const std::string& key);
  Result<void> with_probe(const std::function<Result<void>(const std::string& key)>& act);

  struct Opening;
  [[nodiscard]] Opening opening_of(const std::string& key, const OpenHint& hint) const;
  Result<std::optional<ObjectInfo>> take(const Opening& opening, RequestAnswer answer);
  void tell(bool away, const std::string& text) const;
  Result<std::optional<ObjectInfo>> status_of_key(const std::string& key, bool absence_will_do);
  [[nodiscard]] std::optional<std::optional<ObjectInfo>> seen_before(const std::string& key,
                                                                     const RequestError& error);
  Result<std::optional<ObjectInfo>> open_empty(const std::string& key);
  [[nodiscard]] ObjectQuestion range_of(const std::string& key, const ObjectInfo& info,
                                        ByteRange range) const;
  Result<void> take_range(const std::string& key, const ObjectInfo& info, RequestAnswer answer);
  Result<void> bring(const std::string& key, const ObjectInfo& info,
                     const std::vector<ByteRange>& missing);
  void fetch_together(const std::string& key, const ObjectInfo& info,
                      const std::vector<ByteRange>& parts);
  void keep_bytes(const std::string& key, const ObjectInfo& info, std::uint64_t offset,
                  Bytes bytes);
  [[nodiscard]] Error stale(const std::string& key) const;
  [[nodiscard]] Error unexpected_answer(const std::string& key) const;
  [[nodiscard]] std::string object_name(const std::string& key, const ObjectInfo& info) const;
  using PageAnswer = tl::expected<ListingPage, RequestError>;
  PageAnswer list_page(const std::string& prefix, const std::string& continuation, std::size_t most,
                       ListingDepth depth);
  void add_page(const std::string& prefix, const ListingPage& page, std::vector<Entry>& entries);

  const RemoteOptions options_;
  const std::int64_t opened_ns_;
  ObjectTable table_;
  SegmentCache segments_;
  const std::unique_ptr<DiskCache> disk_;  ///< Null where there is none.
  std::atomic<std::uint64_t> reads_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> puts_{0};
  std::atomic<std::uint64_t> copied_{0};
  std::atomic<std::uint64_t> shown_stale_{0};
  std::atomic<std::int64_t> fetching_{0};
  std::unique_ptr<HttpClient> http_;
  Requester requester_;
};

}  // namespace zarrfs
