// Opens the place that a SOURCE names: a directory, an archive, a server. core/formats/open_source
// lays over it what is shown of it in other forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/store/http/options.h"
#include "core/store/store.h"
#include "core/store/store_place.h"

namespace zarrfs {

struct StoreOptions {
  LinkPolicy links = LinkPolicy::kInside;  ///< Of directories.
  std::size_t keep_open = 0;               ///< Of directories: see open_store.
  RemoteOptions remote;
  std::size_t manifests = std::size_t{64} << 20U;  ///< Of repositories: bytes kept of manifests.
  /// What chunks that lie elsewhere may be read from: paths and URLs. See
  /// core/formats/virtual_targets.
  std::vector<std::string> virtual_prefixes{};
  /// Whether what was seen of a file there holds for good, so that it is asked for once.
  bool virtual_seen_once = false;
};

Result<StorePlace> open_place(const std::string& source, const StoreOptions& options);

/// Where a source at a server is: the URL of the store, or of what an archive or an array's file
/// lies in, the key of that there (empty where it is none), and the path in the archive.
struct ServerPlace {
  std::string url;
  std::string file;
  std::string below;
};
Result<ServerPlace> server_place(const std::string& source);

/// What a source is that holds no Zarr, and what reads it: "an OCDBT database; TensorStore reads
/// it". Nothing where that is not known. Asks a server, where it lies at one.
std::optional<std::string> foreign_source(const std::string& source, const StoreOptions& options);

/// The file that a source names which is no store by itself; nothing where it names a directory of
/// this machine. At a server there may be no such file.
struct SourceFile {
  std::shared_ptr<Store> directory;
  std::string file;
  std::string base;  ///< The directory: an absolute path, or a URL.
};
Result<std::optional<SourceFile>> source_file(const std::string& source,
                                              const StoreOptions& options);

/// What `source` leads to on this machine, links resolved; nothing where there is no such file.
struct LocalPlace {
  std::string path;
  bool directory = false;
};
Result<std::optional<LocalPlace>> local_place(const std::string& source);

/// Whether `source` is a directory or file of this machine, which local_path() names.
bool is_local(const std::string& source);

}  // namespace zarrfs
