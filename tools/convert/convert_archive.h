// The result of a conversion that is an archive on this machine. It is made in a file beside its
// place, .zarrfs-new-NAME, which gets its name when it is complete and durable; what an interrupted
// run has left there is nothing to go on with, and is begun anew. One thread at a time.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/store/zip/archive_store.h"

namespace zarrfs::tools {

class ConversionArchive {
 public:
  /// Nothing stands at `path`, or it is kExists. Writes nothing.
  static Result<ConversionArchive> find(const std::string& path);
  /// The file is there and locked: kBusy where another process is at it. It is gone with this
  /// object unless finish() was reached.
  Result<void> begin();
  [[nodiscard]] const std::shared_ptr<ArchiveStore>& store() const { return store_; }
  /// All files are in it. Where its root is an image or a plate of OME-Zarr, its comment says so
  /// (RFC 9).
  Result<void> finish();

  /// Removes what an interrupted run has left beside `path`; false where nothing is there. kExists
  /// where the archive is complete, kBusy where another process is at it.
  static Result<bool> discard(const std::string& path);

 private:
  class Unnamed;
  std::string path_;
  std::shared_ptr<Unnamed> unnamed_;
  std::shared_ptr<ArchiveStore> store_;
};

}  // namespace zarrfs::tools
