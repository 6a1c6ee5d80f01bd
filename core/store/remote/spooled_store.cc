#include "core/store/remote/spooled_store.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/coordinates.h"
#include "core/base/path.h"
#include "core/store/conditional_writer.h"
#include "core/store/layer_store.h"
#include "core/store/own_names.h"
#include "core/store/remote/part_plan.h"
#include "core/store/remote/parts_use.h"
#include "core/store/remote/patched_file.h"
#include "core/store/remote/spool.h"
#include "core/store/remote/upload_notes.h"

namespace zarrfs {
namespace {

constexpr std::string_view kParked = ".zarrfs-early/";
constexpr mode_t kDirectoryMode = 0700;
constexpr int kRemoveRounds = 4;
constexpr std::uint64_t kLeastPatched = std::uint64_t{16} << 20U;

/// The unfinished file of an atomic write, or a lock: what programs call so is never put.
bool is_unfinished(std::string_view path) {
  return path.ends_with(".partial") || path.ends_with(".__lock") || path.ends_with(".tmp");
}

/// A file that was written before its array was made, and waits to be put where it belongs.
bool is_parked(std::string_view path) { return path.find(kParked) != std::string_view::npos; }

/// Of the file that rsync writes before it gets its name, ".0.1.x7Yz2A" or ".zattrs.x7Yz2A": what
/// stands before the last part; empty of other names.
std::string_view begun_by_rsync(std::string_view name) {
  constexpr std::size_t kRandom = 7;  // with the dot before it
  const bool fits =
      name.starts_with('.') && name.size() > kRandom + 1 && name[name.size() - kRandom] == '.';
  return fits ? name.substr(0, name.size() - kRandom) : std::string_view();
}

/// Files that wait here until their node is made, and are put nowhere as they are: chunks and
/// attributes that come before the document of their array.
bool may_come_early(std::string_view path) {
  const std::string name = last_name(path);
  if (looks_like_chunk(name) || name == ".zattrs" || name == ".zmetadata") return true;
  const std::string_view begun = begun_by_rsync(name);
  if (begun.empty()) return false;
  return looks_like_chunk(begun.substr(1)) || begun == ".zattrs" || begun == ".zmetadata" ||
         begun == ".zarray" || begun == ".zgroup" || begun == ".zarr.json";
}

class SpooledStore final : public LayerStore, public ConditionalWriter {
 public:
  SpooledStore(std::shared_ptr<Store> server, std::shared_ptr<RemoteObjects> objects,
               std::unique_ptr<Store> spool)
      : LayerStore(std::move(server)), objects_(std::move(objects)), spool_(std::move(spool)) {}
  ~SpooledStore() override { prune_spool(*spool_); }
  SpooledStore(const SpooledStore&) = delete;
  SpooledStore& operator=(const SpooledStore&) = delete;

  ConditionalWriter* conditional_writer() override { return this; }
  Result<struct statvfs> space() override { return spool_->space(); }
  std::optional<std::string> why_read_only() override {
    const auto changeable = below().check_changeable("");
    return changeable ? std::nullopt : std::optional(changeable.error().message);
  }

  Result<std::optional<struct stat>> status(const std::string& path) override {
    if (is_kept_here(path)) return spool_->status(path);
    auto there = below().status(path);
    if (there && *there) return there;
    if (!there && !shows_what_was_seen()) return there;
    ZARRFS_TRY(const auto made, spool_->status(path));
    if (!made || !S_ISDIR(made->st_mode)) return there;
    return below().status("");  // as of every directory
  }
  Result<std::shared_ptr<File>> open_for(const std::string& path, const OpenHint& hint) override {
    return is_kept_here(path) ? spool_->open(path) : below().open_for(path, hint);
  }

  Result<std::optional<std::vector<Entry>>> list(const std::string& path) override {
    ZARRFS_TRY(auto own, spool_->list(path));
    if (is_own_path(path)) return own;
    ZARRFS_TRY(auto stored, below().list(path));
    if (!stored || !own) return stored ? stored : own;
    const std::size_t count = stored->size();
    for (Entry& entry : *own) {
      const auto end = stored->begin() + static_cast<std::ptrdiff_t>(count);
      const bool known = std::any_of(stored->begin(), end, [&](const Entry& other) {
        return other.name == entry.name && other.kind == entry.kind;
      });
      if (!known) stored->push_back(std::move(entry));
    }
    return stored;
  }

  Result<std::unique_ptr<NewFile>> create(const std::string& path, mode_t mode) override {
    if (!is_own_path(path)) return refused(Fault::kUnsupported, path, "is made by a rename only");
    ZARRFS_CHECK(make_directories(parent_path(path)));
    return spool_->create(path, mode);
  }
  /// What is not written into it stays at the server, which copies it.
  Result<std::unique_ptr<NewFile>> clone(const File& from, const std::string& path,
                                         mode_t mode) override {
    const std::string key = from.path();
    const auto base = key.empty() ? std::nullopt : objects_->known(key);
    const bool is_base = base && identity(key, *base) == from.identity();
    if (!is_base || base->size < kLeastPatched || !parts_.usable(*objects_)) return nullptr;
    ZARRFS_TRY(auto file, create(path, mode));
    auto patch = Patch::make(objects_, key, *base, std::move(file));
    if (!patch) {
      static_cast<void>(spool_->remove(path));  // the first error is the one to tell
      return fail(std::move(patch.error()));
    }
    patches_.add(path, *patch);
    return std::make_unique<PatchedFile>(std::move(*patch));
  }
  Result<std::unique_ptr<NewFile>> reopen(const std::string& path) override {
    if (!is_own_path(path))
      return refused(Fault::kUnsupported, path, "is replaced as a whole only");
    return spool_->reopen(path);
  }

  /// Of an own file to another name: put in place of what was seen there last.
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (!is_own_path(from) || is_parked(from)) {
      ZARRFS_TRY(const bool here, stays_here(from, to));
      if (here) return spool_->rename(from, to);
      return refused(Fault::kCrossDevice, from, "has no other names: copy it");
    }
    if (is_own_path(to)) return spool_->rename(from, to);
    ZARRFS_CHECK(below().check_changeable(to));
    ZARRFS_CHECK(check_key(to));
    ZARRFS_TRY(const auto info, status_for_condition(to));
    ZARRFS_CHECK(put_object(from, to, info, note_of(from)));
    return spool_->remove(from);
  }

  Result<void> remove(const std::string& path) override {
    if (is_kept_here(path)) return spool_->remove(path);
    ZARRFS_CHECK(below().check_changeable(path));
    Result<void> removed;
    for (int round = 0; round < kRemoveRounds; ++round) {
      ZARRFS_TRY(const auto info, status_for_condition(path));
      if (!info) return {};
      removed = objects_->writer().remove(path, *info);
      if (removed || removed.error().fault != Fault::kStale) return removed;
    }
    return removed;
  }

  /// Servers have none: it is in the spool until something is in it.
  Result<void> make_directory(const std::string& path, mode_t mode) override {
    if (is_own_path(path)) {
      ZARRFS_CHECK(make_directories(parent_path(path)));
      return spool_->make_directory(path, mode);
    }
    ZARRFS_CHECK(below().check_changeable(path));
    ZARRFS_CHECK(check_key(path));
    ZARRFS_TRY(const auto there, status(path));
    if (there) return refused(Fault::kExists, path, "is there already");
    return make_directories(path);
  }
  Result<void> remove_directory(const std::string& path) override {
    if (!is_own_path(path)) {
      ZARRFS_TRY(const auto stored, below().list(path));
      if (stored && !stored->empty()) return refused(Fault::kNotEmpty, path, "is not empty");
    }
    ZARRFS_TRY(const auto made, spool_->status(path));
    return made ? spool_->remove_directory(path) : Result<void>{};
  }
  Result<void> sync_directory(const std::string& path) override {
    ZARRFS_TRY(const auto made, spool_->status(path));
    return made ? spool_->sync_directory(path) : Result<void>{};
  }

  Result<Fd> open_plain(const std::string& path, int flags, mode_t mode) override {
    if (path.empty() || is_kept_here(path)) return spool_->open_plain(path, flags, mode);
    if ((flags & O_DIRECTORY) != 0) {
      ZARRFS_TRY(const auto made, spool_->status(path));
      if (made) return spool_->open_plain(path, flags, mode);
    }
    if ((is_unfinished(path) || may_come_early(path)) && (flags & O_CREAT) != 0) {
      ZARRFS_CHECK(make_directories(parent_path(path)));
      return spool_->open_plain(path, flags, mode);
    }
    return refused(Fault::kReadOnly, path,
                   "is chunks and documents of Zarr, and nothing else is written");
  }

  Result<void> begin(Say say) override {
    parts_.begin(say);
    ZARRFS_TRY(const auto left, noted_uploads(*spool_));
    for (const UploadNote& note : left) {
      const auto aborted = objects_->writer().abort_upload(note.key, note.id);
      if (aborted) {
        ZARRFS_CHECK(forget_upload(*spool_, note));
      } else {
        say("what was sent of " + objects_->url_of(note.key) +
            " and never completed is still at the server: " + aborted.error().message);
      }
    }
    return {};
  }

  Result<std::optional<Standing>> look(const std::string& path) override {
    ZARRFS_TRY(const auto standing, objects_->writer().look(path));
    if (!standing) return std::nullopt;
    return Standing{identity(path, standing->info), standing->info.version.tag, standing->note};
  }
  Result<std::string> shown_version(const std::string& path) override {
    ZARRFS_TRY(const auto info, objects_->status_to_write(path));
    return info ? info->version.tag : "";
  }
  bool away() override { return objects_->away(); }
  Result<FileIdentity> put(const std::string& from, const std::string& path,
                           const FileIdentity& expected, const std::string& note) override {
    ZARRFS_CHECK(below().check_changeable(path));
    ZARRFS_TRY(const auto info, expected_object(path, expected));
    ZARRFS_TRY(const ObjectInfo made, put_object(from, path, info, note));
    return identity(path, made);
  }
  Result<void> remove_object(const std::string& path, const FileIdentity& expected) override {
    ZARRFS_CHECK(below().check_changeable(path));
    ZARRFS_TRY(const auto info, expected_object(path, expected));
    return info ? objects_->writer().remove(path, *info) : Result<void>{};
  }

  std::vector<std::string> waiting() override {
    constexpr std::size_t kMost = 1000;
    std::vector<std::string> found;
    for (std::vector<std::string> folders = {""}; !folders.empty() && found.size() < kMost;) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      const auto listed = spool_->list(folder);
      if (!listed || !*listed) continue;
      for (const Entry& entry : **listed) {
        const std::string path = join_path(folder, entry.name);
        if (is_own_path(path)) continue;
        if (entry.kind == EntryKind::kDirectory) folders.push_back(path);
        if (entry.kind == EntryKind::kFile && looks_like_chunk(entry.name)) found.push_back(path);
      }
    }
    found.resize(std::min(found.size(), kMost));
    return found;
  }

 private:
  [[nodiscard]] bool is_kept_here(const std::string& path) {
    if (is_own_path(path)) return true;
    if (!is_unfinished(path) && !may_come_early(path)) return false;
    const auto there = spool_->status(path);
    return there && *there && S_ISREG((*there)->st_mode);
  }
  /// Whether a rename concerns the spool alone: of what waits for the document of its array.
  Result<bool> stays_here(const std::string& from, const std::string& to) {
    ZARRFS_TRY(const auto stored, spool_->status(from));
    if (!stored) return false;
    const bool parking = is_parked(from) || is_parked(to);
    if (!S_ISDIR(stored->st_mode)) return parking || may_come_early(to);
    if (!parking) return false;
    ZARRFS_TRY(const auto at_server, below().list(from));
    return !at_server || at_server->empty();
  }
  [[nodiscard]] Result<void> check_key(const std::string& path) const {
    if (objects_->client().takes_key(path)) return {};
    return fail(Fault::kInvalid,
                objects_->url_of(path) + ": the server takes a backslash for a slash");
  }
  tl::unexpected<Error> refused(Fault fault, const std::string& path, const char* why) const {
    return fail(fault, objects_->url_of(path) + ": what is at a server " + why);
  }
  [[nodiscard]] FileIdentity identity(const std::string& path, const ObjectInfo& info) const {
    return identity_of(objects_->status_of(path, info));
  }
  /// A successor's name is random: so is the note of what it becomes.
  static std::string note_of(const std::string& path) { return path.substr(path.rfind('-') + 1); }

  /// What is known of it; asked for where a cache on disk told it, which does not keep all that a
  /// condition needs.
  Result<std::optional<ObjectInfo>> status_for_condition(const std::string& path) {
    ZARRFS_TRY(const auto info, objects_->status(path));
    if (!info || objects_->client().tells_apart(*info)) return info;
    ZARRFS_TRY(const auto standing, objects_->writer().look(path));
    if (!standing) return std::nullopt;
    return standing->info;
  }

  Result<std::optional<ObjectInfo>> expected_object(const std::string& path,
                                                    const FileIdentity& expected) {
    if (expected == FileIdentity{}) return std::nullopt;
    ZARRFS_TRY(const auto info, status_for_condition(path));
    if (info && identity(path, *info) == expected) return info;
    return fail(Fault::kStale, objects_->url_of(path) + ": another version stands there now");
  }

  Result<ObjectInfo> put_object(const std::string& from, const std::string& path,
                                const std::optional<ObjectInfo>& expected,
                                const std::string& note) {
    const auto patch = patches_.find(from);
    if (patch &&
        (patch->key() != path || !expected || !(expected->version == patch->base().version))) {
      return fail(Fault::kStale, objects_->url_of(path) + ": another version stands there now");
    }
    ZARRFS_TRY(const ByteRange whole, whole_of(from));
    const auto parts =
        plan_parts(whole.length, patch ? patch->written() : std::vector<ByteRange>{whole});
    const bool saves = patch && bytes_copied(parts) >= whole.length / 2;
    if ((saves || whole.length > kSentAsOne) && parts_.usable(*objects_)) {
      for (const ObjectPiece& part : parts) {
        if (patch && !part.copied) ZARRFS_CHECK(patch->fill(part.range));
      }
      auto done = put_parts(from, path, parts, expected, note);
      if (done || done.error().fault != Fault::kUnsupported) return done;
      parts_.refuse(done.error());
    }
    if (patch) ZARRFS_CHECK(patch->fill(whole));
    ZARRFS_TRY(const std::shared_ptr<File> file, file_of(from));
    ZARRFS_TRY(const auto body, RequestBody::of_file(file, whole));
    return objects_->writer().put(path, body, expected, note);
  }

  /// Opened when all is written: a file that is written to later is another one.
  Result<std::shared_ptr<File>> file_of(const std::string& path) {
    ZARRFS_TRY(std::shared_ptr<File> file, spool_->open(path));
    if (file == nullptr) return fail(Fault::kStale, path + " is gone from the spool");
    return file;
  }
  Result<ByteRange> whole_of(const std::string& path) {
    ZARRFS_TRY(const auto file, file_of(path));
    return ByteRange{0, file->size()};
  }

  Result<ObjectInfo> put_parts(const std::string& from, const std::string& path,
                               const std::vector<ObjectPiece>& parts,
                               const std::optional<ObjectInfo>& expected, const std::string& note) {
    ZARRFS_TRY(const std::shared_ptr<File> file, file_of(from));
    std::optional<UploadNote> upload;
    const auto begun = [&](const std::string& id) -> Result<void> {
      ZARRFS_TRY(upload, note_upload(*spool_, path, id));
      return {};
    };
    const auto ended = [&] {
      // What stays is a note of an upload that is gone: the next mount finds that.
      if (upload) static_cast<void>(forget_upload(*spool_, *upload));
    };
    return objects_->writer().put_parts(path, parts, file, expected, note, {begun, ended});
  }

  /// In the spool, durable: what is written below them may be synced next.
  Result<void> make_directories(const std::string& path) {
    if (path.empty()) return {};
    ZARRFS_TRY(const auto there, spool_->status(path));
    if (there) return {};
    const std::string parent = parent_path(path);
    ZARRFS_CHECK(make_directories(parent));
    auto made = spool_->make_directory(path, kDirectoryMode);
    if (!made && made.error().fault != Fault::kExists) return made;
    return spool_->sync_directory(parent);
  }

  const std::shared_ptr<RemoteObjects> objects_;
  const std::unique_ptr<Store> spool_;
  Patches patches_;
  PartsUse parts_;
};

}  // namespace

std::unique_ptr<Store> make_spooled_store(std::shared_ptr<Store> server,
                                          std::shared_ptr<RemoteObjects> objects,
                                          std::unique_ptr<Store> spool) {
  return std::make_unique<SpooledStore>(std::move(server), std::move(objects), std::move(spool));
}

}  // namespace zarrfs
