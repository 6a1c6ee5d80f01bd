#include "core/store/remote/upload_notes.h"

#include <utility>

#include "core/base/json.h"
#include "core/base/random_name.h"

namespace zarrfs {
namespace {

constexpr const char* kPrefix = ".zarrfs-upload-";
constexpr std::size_t kLongestNote = std::size_t{64} << 10U;

std::string text_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Result<UploadNote> note_upload(Store& spool, const std::string& key, const std::string& id) {
  UploadNote note{kPrefix + random_digits(), key, id};
  ZARRFS_TRY(const auto file, spool.create(note.file, 0600));
  const std::string text = dump_json({{"key", key}, {"upload", id}});
  ZARRFS_CHECK(
      file->write_at(0, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
  ZARRFS_CHECK(file->sync());
  ZARRFS_CHECK(spool.sync_directory(""));
  return note;
}

Result<void> forget_upload(Store& spool, const UploadNote& note) { return spool.remove(note.file); }

Result<std::vector<UploadNote>> noted_uploads(Store& spool) {
  std::vector<UploadNote> notes;
  ZARRFS_TRY(const auto entries, spool.list(""));
  if (!entries) return notes;
  for (const Entry& entry : *entries) {
    if (!entry.name.starts_with(kPrefix)) continue;
    ZARRFS_TRY(const auto document, spool.read_document(entry.name, kLongestNote));
    if (!document) continue;
    const auto json = parse_json(document->text, entry.name);
    UploadNote note{entry.name, "", ""};
    if (json && json->is_object()) {
      note.key = text_in(*json, "key");
      note.id = text_in(*json, "upload");
    }
    if (note.id.empty()) {
      ZARRFS_CHECK(spool.remove(note.file));
    } else {
      notes.push_back(std::move(note));
    }
  }
  return notes;
}

}  // namespace zarrfs
