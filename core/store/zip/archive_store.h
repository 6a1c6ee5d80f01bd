// A zip archive that is being made. Each file is written beside it first, where it has no name, and
// goes into the archive as a stored entry when it is put, behind those that were put before. What
// was put can be read at once. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/fd.h"
#include "core/store/put_store.h"
#include "core/store/zip/zip_directory.h"

namespace zarrfs {

class ArchiveStore : public PutStore {
 public:
  /// Writes the directory, in the order of the entries, and `comment` (kTooBig where it is longer
  /// than archives can hold) behind the entries. The archive is whole and durable when it returns;
  /// nothing is put any more.
  virtual Result<void> finish(std::string_view comment) = 0;
};

/// `file` is empty and open for reading and writing; `name` is what messages call the archive, and
/// `folder` is where files are written before they are put. Putting is kTooBig where the archive
/// would have a directory that open_zip_store() refuses, one of more than `largest_directory`
/// bytes.
std::shared_ptr<ArchiveStore> make_archive_store(
    Fd file, const std::string& name, const std::string& folder,
    std::uint64_t largest_directory = kLargestZipDirectory);

}  // namespace zarrfs
