// What commands read: stores of Zarr v3 and, translated into the same terms, of Zarr v2.
// Source: Zarr v3 core; Zarr v2 specification (.zarray, .zgroup, .zattrs); numcodecs for v2 codecs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/formats/open_source.h"
#include "core/store/store.h"
#include "core/zarr/array_reader.h"
#include "core/zarr/tree.h"
#include "tools/shared/console.h"
#include "tools/shared/source_options.h"

namespace CLI {
class App;
}

namespace zarrfs::tools {

/// A node of either format. A v2 array is held as the v3 metadata that say the same: its chunk keys
/// are of the kind "v2", its compressor and filters are codecs.
struct SourceNode {
  Node node;
  int zarr_format = 3;
  bool has_v2_fill = false;  ///< Of a v2 array: whether `.zarray` gives it a fill value.
};

/// Whether a node of that kind is a group or an array, be it one that cannot be read.
bool is_node(Node::Kind kind);

/// kInvalid: nothing of Zarr is at and below `path` of the store `source`.
tl::unexpected<Error> no_node(const std::string& source, const std::string& path);

/// Whether the `zarr.json` at `path`, whose attributes are `attributes`, has bare NaN or Infinity
/// in it, as zarr-python 3 writes them.
Result<bool> stores_bare_numbers(Store& store, const std::string& path, const Json& attributes);

/// Whether netCDF-C wrote the data set around the array at `path`.
Result<bool> is_of_netcdf(Store& store, const std::string& path);

/// The node at `path`, of either format. An Error is one of the storage only.
Result<SourceNode> load_source_node(Store& store, const std::string& path);

/// Whether a group of either format above the array at `path` lists it in its `multiscales`.
Result<bool> is_image_level(Store& store, const std::string& path);

/// As walk_nodes, for both formats. What belongs to zarrfs itself (is_own_name) is left out. An
/// Error also where the node at `path` cannot be read; a later one is visited as damaged.
Result<void> walk_source(
    Store& store, const std::string& path,
    const std::function<bool(const std::string& path, const SourceNode& node)>& visit);

/// Declares the argument SOURCE, and how it is opened.
void declare_source(CLI::App& app, std::string& source, SourceOptions& options);
void declare_source_options(CLI::App& app, SourceOptions& options);

/// As check_answers of fs/mounts/mountpoint.h, where `name` is a place on this machine. To be
/// called before anything else looks there.
Result<void> check_mount_answers(const Console& console, const std::string& name);

/// A store opened by a command, with what its readers share. Thread-safe.
struct Source {
  std::string name;
  std::shared_ptr<Store> store;
  std::shared_ptr<IndexCache> cache;
  std::shared_ptr<ReadCounters> counters;
  /// That it is the unfinished result of a conversion; nothing where it is none.
  std::optional<std::string> unfinished;

  /// kInvalid, saying what it is and what reads it, where it holds no Zarr and is known as another
  /// format. Waits as long as a mount that `name` lies in.
  static Result<Source> open(const std::string& name, const SourceOptions& options = {});
  /// The same, after check_mount_answers, and says on `console` where it is unfinished.
  static Result<Source> open_to_read(const Console& console, const std::string& name,
                                     const SourceOptions& options = {});
  /// Of a repository of versions, with the same `options`; nothing of other stores.
  [[nodiscard]] Result<std::optional<SourceHistory>> history(const SourceOptions& options) const;
  /// Null where the node has no layout.
  [[nodiscard]] std::unique_ptr<ArrayReader> reader(const std::string& path,
                                                    const SourceNode& node) const;
};

struct SourceArray {
  std::string path;
  SourceNode node;
};

/// The array at `path`; kInvalid where there is none, its own error where it cannot be read.
Result<SourceArray> find_array(const Source& source, const std::string& path);

/// Hears of a node that is damaged or not supported.
using Complain = std::function<void(const std::string& path, const Error& error)>;

/// All arrays at and below `path`, by path. Nodes that are damaged or not supported are told to
/// `complain` and left out.
Result<std::vector<SourceArray>> arrays_below(const Source& source, const std::string& path,
                                              const Complain& complain);

/// "a/b" of "/a//b/": what users type as a node's path.
std::string clean_path(const std::string& typed);

/// "/" for "", "/a" for "a", printable: how nodes are named to users.
std::string shown_path(const std::string& path);

}  // namespace zarrfs::tools
