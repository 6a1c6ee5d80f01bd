// RemoteObjects: objects that are put in parts.
#include <utility>

#include "core/base/random_name.h"
#include "core/store/remote/multipart.h"
#include "core/store/remote/remote_objects.h"

namespace zarrfs {

struct RemoteObjects::Pieces {
  std::vector<ObjectPiece> parts;
  std::shared_ptr<const File> file;  ///< Of those that are not copied.
  ObjectInfo source;                 ///< The version that the others are copied from.
};

Result<ObjectInfo> RemoteObjects::put_pieces(const std::string& key, const Pieces& pieces,
                                             const std::optional<ObjectInfo>& expected,
                                             const std::string& note, const UploadWatch& watch) {
  ZARRFS_TRY(const ObjectRequest conditions, conditional("POST", key, expected));
  ZARRFS_TRY(Multipart upload,
             Multipart::begin(requester_, key, {{endpoint().note_header(), note}}));
  auto brought = watch.begun(upload.id());
  if (brought) brought = upload.bring(pieces.parts, pieces.file, pieces.source);
  const auto end = [&](Result<ObjectInfo> result) {
    if (result || upload.abort()) watch.ended();
    return result;
  };
  if (!brought) return end(fail(std::move(brought.error())));
  const auto answered = [&]() -> Result<std::optional<ObjectInfo>> {
    ZARRFS_TRY(const auto tag, upload.complete(conditions.headers));
    if (!tag) return std::nullopt;
    ObjectInfo made;
    for (const ObjectPiece& part : pieces.parts) made.size += part.range.length;
    made.version.tag = *tag;
    return made;
  };
  auto done = settle(key, note, answered());
  if (done) copied_ += bytes_copied(pieces.parts);
  return end(std::move(done));
}

Result<ObjectInfo> RemoteObjects::put_parts(const std::string& key,
                                            const std::vector<ObjectPiece>& parts,
                                            const std::shared_ptr<const File>& file,
                                            const std::optional<ObjectInfo>& expected,
                                            const std::string& note, const UploadWatch& watch) {
  return put_pieces(key, {parts, file, expected.value_or(ObjectInfo{})}, expected, note, watch);
}

Result<void> RemoteObjects::abort_upload(const std::string& key, const std::string& id) {
  return Multipart(requester_, key, id).abort();
}

Result<void> RemoteObjects::try_parts(const std::string& key) {
  constexpr ByteRange kCopied{7, 5};
  const auto refuse = [&](const std::string& what) {
    return fail(Fault::kUnsupported, url_of("") + ": the server " + what);
  };
  const auto text = RequestBody::of_text("zarrfs tries whether this server copies parts");
  ZARRFS_TRY(const ObjectInfo made, put(key, text, std::nullopt, random_digits()));
  ObjectInfo other = made;
  other.version = {kTagOfNone, false};
  const Pieces copied{{{kCopied, true}}, nullptr, made};
  const UploadWatch nobody{[](const std::string&) { return Result<void>{}; }, [] {}};
  const auto again = put_pieces(key, copied, std::nullopt, random_digits(), nobody);
  if (again) return refuse("completes uploads though If-None-Match forbids it");
  if (again.error().fault != Fault::kStale) return fail(again.error());
  const auto stale = put_pieces(key, copied, other, random_digits(), nobody);
  if (stale) return refuse("completes uploads though If-Match forbids it");
  if (stale.error().fault != Fault::kStale) return fail(stale.error());
  const auto done = put_pieces(key, copied, made, random_digits(), nobody);
  if (!done && done.error().fault == Fault::kStale) return refuse("copies no parts on conditions");
  ZARRFS_CHECK(done);
  if (done->size != kCopied.length) return refuse("copies other bytes than it is asked to");
  return remove(key, *done);
}

Result<void> RemoteObjects::check_parts() {
  if (!endpoint().puts_parts()) {
    return fail(Fault::kUnsupported, url_of("") + ": objects are put there as a whole");
  }
  return with_probe([this](const std::string& key) { return try_parts(key); });
}

}  // namespace zarrfs
