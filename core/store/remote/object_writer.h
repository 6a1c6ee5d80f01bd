// What is put and removed at a server, always on the condition that the version stands there which
// was seen. A part of RemoteObjects, which keeps what was put. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/store/http/object_client.h"
#include "core/store/remote/part_plan.h"
#include "core/store/store.h"

namespace zarrfs {

class RemoteObjects;

class ObjectWriter {
 public:
  explicit ObjectWriter(RemoteObjects& objects) : objects_(objects) {}

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

  /// Objects put so far, and bytes of them that the server copied by itself.
  [[nodiscard]] std::uint64_t puts() const { return puts_; }
  [[nodiscard]] std::uint64_t copied() const { return copied_; }

 private:
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

  RemoteObjects& objects_;
  std::atomic<std::uint64_t> puts_{0};
  std::atomic<std::uint64_t> copied_{0};
};

}  // namespace zarrfs
