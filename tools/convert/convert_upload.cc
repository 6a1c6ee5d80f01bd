#include "tools/convert/convert_upload.h"

#include <utility>

#include "core/base/json.h"
#include "core/store/open_store.h"
#include "core/zarr/tree.h"
#include "tools/convert/convert_place.h"
#include "tools/shared/console.h"

namespace zarrfs::tools {
namespace {

const std::string kUploadMarker = kConversionMarker;

Result<std::shared_ptr<UploadStore>> open_target(const std::string& url,
                                                 const std::string& options) {
  RemoteOptions remote;
  ZARRFS_CHECK(apply_remote_options(remote, options));
  return open_upload_store(url, remote);
}

Result<void> put_marker(UploadStore& store, const std::string& text) {
  ZARRFS_TRY(const auto file, store.create(kUploadMarker, 0));
  const auto* const first = reinterpret_cast<const std::uint8_t*>(text.data());
  ZARRFS_CHECK(file->write_at(0, ByteView(first, text.size())));
  return store.publish(kUploadMarker);
}

Result<bool> is_empty(UploadStore& store) {
  ZARRFS_TRY(const auto entries, store.list(""));
  return !entries || entries->empty();
}

/// Everything below `path` but the marker, which goes last.
Result<void> remove_below(UploadStore& store, const std::string& path) {
  ZARRFS_TRY(const auto entries, store.list(path));
  if (!entries) return {};
  for (const Entry& entry : *entries) {
    if (interrupted()) return fail(interruption());
    const std::string child = join_path(path, entry.name);
    if (child == kUploadMarker) continue;
    ZARRFS_CHECK(entry.kind == EntryKind::kDirectory ? remove_below(store, child)
                                                     : store.remove(child));
  }
  return {};
}

}  // namespace

Result<std::string> upload_target(const std::string& target, const std::string& source_path) {
  ZARRFS_TRY(const ServerPlace place, server_place(target));
  if (!place.file.empty()) {
    return fail(Fault::kReadOnly, target + ": archives and arrays of Blosc2 are only read");
  }
  std::string url = target;
  while (url.ends_with('/')) url.pop_back();
  if ((url + "/").starts_with(source_path + "/")) {
    return fail(Fault::kInvalid, "the target " + url + " lies within the source");
  }
  return url;
}

Result<ConversionUpload> ConversionUpload::find(const std::string& url, const std::string& options,
                                                const Json& description) {
  ConversionUpload place;
  ZARRFS_TRY(place.store_, open_target(url, options));
  place.marker_ = dump_document(description);
  ZARRFS_TRY(const auto marker, place.store_->read_document(kUploadMarker, kLargestMarker));
  if (marker) {
    if (marker->text != place.marker_ && !is_marker_of_0_2(marker->text, description)) {
      return another_conversion(url, marker->text, place.marker_);
    }
    place.resumed_ = true;
    place.store_->replace_earlier();
    return place;
  }
  ZARRFS_TRY(const bool empty, is_empty(*place.store_));
  if (!empty) return fail(Fault::kExists, url + " is there already, and is not empty");
  ZARRFS_CHECK(place.store_->check_conditions());
  return place;
}

Result<void> ConversionUpload::begin() {
  return resumed_ ? Result<void>{} : put_marker(*store_, marker_);
}

Result<void> ConversionUpload::finish() { return store_->remove(kUploadMarker); }

Result<bool> ConversionUpload::discard(const std::string& url, const std::string& options,
                                       const std::string& source_path) {
  ZARRFS_TRY(const auto store, open_target(url, options));
  ZARRFS_TRY(const auto marker, store->read_document(kUploadMarker, kLargestMarker));
  if (!marker) {
    ZARRFS_TRY(const bool empty, is_empty(*store));
    if (empty) return false;
    return fail(Fault::kExists, url + " is no unfinished conversion, and is left alone");
  }
  if (!made_from(marker->text, source_path)) {
    return fail(Fault::kExists, url + " is the unfinished result of a conversion of another " +
                                    "source: " + told_by_marker(marker->text));
  }
  ZARRFS_CHECK(remove_below(*store, ""));
  ZARRFS_CHECK(store->remove(kUploadMarker));
  return true;
}

}  // namespace zarrfs::tools
