#include "core/formats/open_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/path.h"
#include "core/formats/format_store.h"
#include "core/formats/references/references_store.h"
#include "core/store/http/revision.h"
#include "core/zarr/named_store.h"
#include "core/zarr/tree.h"

namespace zarrfs {
namespace {

/// Whether the top of `shown` is a node of Zarr, or of a format that is shown as one. Asks for what
/// is asked for next anyway, so that it costs no requests. Where that cannot be told, who reads it
/// says why.
bool is_told(Store& shown) {
  const auto node = load_node(shown, "");
  if (!node) return true;
  const bool without = node->kind == Node::Kind::kPlain || node->kind == Node::Kind::kAbsent;
  if (!without) return true;
  constexpr std::array kDocumentsOfV2 = {".zgroup", ".zarray"};
  return std::any_of(kDocumentsOfV2.begin(), kDocumentsOfV2.end(), [&](const char* name) {
    const auto document = shown.open(name);
    return !document || *document != nullptr;
  });
}

/// A place, what is shown of it as Zarr, and the revision where it is a repository of versions: the
/// one that is asked for, or branch main of what is known as one by its files.
struct Opened {
  StorePlace place;
  std::shared_ptr<Store> shown;
  std::optional<Revision> revision;
};

/// The references in the file that `source` names; null where it names none.
Result<std::shared_ptr<Store>> references_at(const std::string& source,
                                             const StoreOptions& options) {
  ZARRFS_TRY(auto file, source_file(source, options));
  if (!file) return nullptr;
  return open_references(std::move(*file), source.substr(0, source.find('?')), options);
}

/// The directory that the one named `source` lies in, an absolute path or a URL; empty in archives.
Result<std::string> directory_around(const std::string& source) {
  if (!is_local(source)) {
    std::string url = source.substr(0, source.find('?'));
    while (url.ends_with('/')) url.pop_back();
    return parent_path(url);
  }
  ZARRFS_TRY(const auto place, local_place(source));
  return place ? parent_path(place->path) : std::string();
}

/// The references in Parquet that the directory `place` of `source` holds; null where it holds
/// none.
Result<std::shared_ptr<Store>> parquet_references_at(const std::string& source,
                                                     const StorePlace& place,
                                                     const StoreOptions& options) {
  ZARRFS_TRY(std::string base, directory_around(source));
  return open_parquet_references(place.store, std::move(base), source.substr(0, source.find('?')),
                                 options);
}

/// Whether the name says that it is a file of references: at a server no other one is asked for
/// before what is below it.
bool has_name_of_references(const std::string& source) {
  return source.substr(0, source.find('?')).ends_with(".json");
}

/// Whether it says that it is a directory of them in Parquet, which is asked for first, too.
bool has_name_of_parquet(const std::string& source) {
  std::string path = source.substr(0, source.find('?'));
  while (path.ends_with('/')) path.pop_back();
  return path.ends_with(".parq") || path.ends_with(".parquet");
}

Result<Opened> open_layers(const std::string& source, const StoreOptions& options) {
  Opened opened;
  ZARRFS_TRY(opened.revision, revision_of(source));
  if (!opened.revision && (is_local(source) || has_name_of_references(source))) {
    ZARRFS_TRY(opened.shown, references_at(source, options));
    if (opened.shown != nullptr) return opened;
  }
  ZARRFS_TRY(opened.place, open_place(source, options));
  if (opened.revision) return opened;
  const bool named = has_name_of_parquet(source);
  if (named) {
    ZARRFS_TRY(auto parquet, parquet_references_at(source, opened.place, options));
    if (parquet != nullptr) return Opened{{}, std::move(parquet), {}};
  }
  opened.shown = with_names(with_formats(opened.place.store));
  if (is_told(*opened.shown)) return opened;
  if (icechunk_specification(*opened.place.store)) {
    opened.revision = Revision{};
    return opened;
  }
  if (!named) {
    ZARRFS_TRY(auto parquet, parquet_references_at(source, opened.place, options));
    if (parquet != nullptr) return Opened{{}, std::move(parquet), {}};
  }
  if (!is_local(source)) {
    ZARRFS_TRY(auto references, references_at(source, options));
    if (references != nullptr) return Opened{{}, std::move(references), {}};
  }
  return opened;
}

}  // namespace

Result<std::shared_ptr<Store>> open_source(const std::string& source, const StoreOptions& options) {
  ZARRFS_TRY(Opened opened, open_layers(source, options));
  if (opened.revision) {
    ZARRFS_TRY(auto targets, VirtualTargets::make("", options));
    return open_icechunk(std::move(opened.place.store), std::move(*opened.revision),
                         options.manifests, std::move(targets));
  }
  const auto& with_spool = opened.place.with_spool;
  return with_spool ? with_spool(std::move(opened.shown)) : std::move(opened.shown);
}

Result<std::optional<SourceHistory>> history_of(const std::string& source,
                                                const StoreOptions& options) {
  StoreOptions reading = options;
  reading.remote.write = false;
  ZARRFS_TRY(Opened opened, open_layers(source, reading));
  if (!opened.revision) return std::nullopt;
  ZARRFS_TRY(IcechunkHistory history, icechunk_history(*opened.place.store));
  return SourceHistory{std::move(*opened.revision), std::move(history)};
}

}  // namespace zarrfs
