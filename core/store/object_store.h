// Stores that are no directories: keys of objects at a server, or entries of an archive. What
// programs know of directories is made up: the inode of a path is a hash of it and of the object's
// version, so that another version is another file.
//
// A file of such a store is one version of one object: its bytes never mix with another version's,
// reading it is kStale once another version has taken its place. Thread-safe.
#pragma once

#include <span>
#include <string>

#include "core/store/store.h"

namespace zarrfs {

/// What a store can do, and what is cheap in it.
struct StoreTraits {
  /// A name that is absent may have a file as its parent, and the status of a directory tells when
  /// its listing changed. False: directories are only prefixes of keys.
  bool directories = true;
  /// False: nothing tells which names there are, but what is stored in the store itself; list()
  /// is kUnsupported, and status() knows objects only.
  bool lists = true;
  /// False: each request waits for a network, and many may wait at once.
  bool near = true;
};

/// How an object is going to be read: what the first request for it should bring.
struct OpenHint {
  enum class Part { kUnknown, kStart, kEnd, kWhole };
  Part part = Part::kUnknown;
  std::uint64_t bytes = 0;  ///< At the start or end.
};

/// A file of a store that can go away.
class ObjectFile : public File {
 public:
  /// Whether it was opened as it was seen before, since the server did not answer: what is absent
  /// in it may be there now.
  [[nodiscard]] virtual bool may_be_outdated() const = 0;
};

class ObjectStore : public Store {
 public:
  [[nodiscard]] virtual StoreTraits traits() const = 0;
  /// Whether the server does not answer, and what was seen of it before is shown. What is known to
  /// be absent is an Error of kIo then.
  [[nodiscard]] virtual bool shows_what_was_seen() const { return false; }
  /// As open(), where it is known how the object is going to be read.
  virtual Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) = 0;
  /// Advice: these objects are going to be opened so. Asks for many at once, and waits for them.
  virtual void expect(std::span<const std::string> /*paths*/, const OpenHint& /*hint*/) {}
  /// The same, and does not wait.
  virtual void open_ahead(std::span<const std::string> /*paths*/, const OpenHint& /*hint*/) {}
  /// Advice: what is below `path` is going to be listed, `needed` first, which is below it or the
  /// same. May list all of it at once.
  virtual Result<void> list_below(const std::string& /*path*/, const std::string& /*needed*/) {
    return {};
  }
  /// What was asked of a network so far, as the members of a JSON object; empty where there is
  /// none.
  [[nodiscard]] virtual std::string statistics() const { return {}; }
};

/// Those of a directory where `store` is no ObjectStore.
StoreTraits traits_of(const Store& store);

/// Attributes for an object or a directory of such a store: owned by this process, not writable.
/// `modified_ns` since 1970.
struct stat object_status(const std::string& path, const std::string& version, std::uint64_t size,
                          std::int64_t modified_ns);
struct stat prefix_status(const std::string& path, std::int64_t modified_ns);

}  // namespace zarrfs
