#include "tools/convert/convert_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "tools/shared/stored_shards.h"

namespace zarrfs::tools {
namespace {

namespace fs = std::filesystem;

std::string marker_of(const std::string& directory) { return directory + "/" + kConversionMarker; }

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Result<void> sync_path(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::fsync(file.get()) != 0) return fail(system_error(errno, path));
  return {};
}

Result<void> put_text(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.valid()) return fail(system_error(errno, path));
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(system_error(errno, path + ": writing"));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file.get()) != 0) return fail(system_error(errno, path + ": syncing"));
  return {};
}

Result<void> write_marker(const std::string& directory, const std::string& text) {
  const std::string path = marker_of(directory);
  auto written = put_text(path, text);
  if (!written) {
    (void)::unlink(path.c_str());
    return written;
  }
  return sync_path(directory);
}

/// Or absent.
Result<void> check_empty(const std::string& path) {
  if (!exists(path)) return {};
  std::error_code error;
  const bool empty = fs::is_empty(path, error);
  if (error) return fail(system_error(error.value(), path));
  if (!empty) return fail(Fault::kExists, path + " is there already, and is not empty");
  return {};
}

Result<void> make_empty_directory(const std::string& path) {
  ZARRFS_CHECK(make_target_directory(path));
  return check_empty(path);
}

Result<Fd> lock_marker(const std::string& directory) {
  Fd file(::open(marker_of(directory).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(system_error(errno, marker_of(directory)));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Fault::kBusy, directory + " is being written by another process");
  }
  return file;
}

Result<void> remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return fail(system_error(error.value(), path));
  return {};
}

Result<void> give(const fs::path& path, const struct stat& like) {
  if (::geteuid() == 0 && ::lchown(path.c_str(), like.st_uid, like.st_gid) != 0) {
    return fail(system_error(errno, path.string() + ": changing its owner"));
  }
  const mode_t handed_down = S_ISDIR(like.st_mode) ? like.st_mode & (S_ISGID | S_ISVTX) : 0;
  if (::chmod(path.c_str(), handed_down | (like.st_mode & 0777U)) == 0) return {};
  return fail(system_error(errno, path.string() + ": changing its mode"));
}

/// The modes and owners of a store: of its root, and of the document there.
struct Ownership {
  struct stat root {};
  struct stat document {};
};

Result<Ownership> ownership_of(const fs::path& store) {
  Ownership owned;
  if (::stat(store.c_str(), &owned.root) != 0) return fail(system_error(errno, store.string()));
  for (const char* name : {"zarr.json", ".zgroup", ".zarray"}) {
    if (::stat((store / name).c_str(), &owned.document) == 0) return owned;
  }
  owned.document = owned.root;
  owned.document.st_mode &= 0666U;
  return owned;
}

/// Gives what is in `to` the modes and owners that files of the same names have in `from`; what is
/// new there those of the store's root or document.
Result<void> give_ownership(const fs::path& from, const fs::path& to) {
  ZARRFS_TRY(const Ownership owned, ownership_of(from));
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(to, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const bool directory = at->is_directory();
    struct stat like {};
    const bool known = ::lstat((from / at->path().lexically_relative(to)).c_str(), &like) == 0 &&
                       S_ISDIR(like.st_mode) == directory && !S_ISLNK(like.st_mode);
    ZARRFS_CHECK(give(at->path(), known ? like : directory ? owned.root : owned.document));
  }
  if (error) return fail(system_error(error.value(), to.string()));
  return give(to, owned.root);
}

/// The names are exchanged: the old store is removed, and then the marker.
Result<void> remove_old(const std::string& source_path) {
  ZARRFS_CHECK(remove_tree(source_path + std::string(kUnfinished)));
  std::error_code error;
  fs::remove(marker_of(source_path), error);
  if (error) return fail(system_error(error.value(), source_path));
  return sync_path(source_path);
}

/// Removes everything in `directory`, its marker at last: whatever stops that can be done again.
Result<void> remove_marked(const std::string& directory) {
  std::error_code error;
  for (auto at = fs::directory_iterator(directory, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    if (at->path().filename() == kConversionMarker) continue;
    ZARRFS_CHECK(remove_tree(at->path().string()));
  }
  if (error) return fail(system_error(error.value(), directory));
  return remove_tree(marker_of(directory));
}

/// Whether `directory` holds its marker and nothing else.
bool only_marked(const std::string& directory) {
  std::error_code error;
  auto at = fs::directory_iterator(directory, error);
  return !error && std::distance(at, fs::directory_iterator()) == 1;
}

}  // namespace

Result<void> make_target_directory(const std::string& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (!error) return {};
  const std::string above = fs::absolute(path).parent_path().string();
  if (error == std::errc::no_such_file_or_directory) {
    return fail(Fault::kIo,
                path + ": there is no directory " + above + ": make it first (mkdir -p)");
  }
  return fail(system_error(error.value(), path));
}

bool made_from(const std::string& marker, const std::string& source_path) {
  const auto description = parse_json(marker, kConversionMarker);
  return description && description->contains("source") &&
         dump_json(description->at("source")) == dump_json(Json(source_path));
}

bool is_marker_of_0_2(const std::string& marker, const Json& description) {
  const Json& form = description.at("form");
  const Json& command = form.at("command");
  const int kind =
      form.at("format") == "v2" ? 3 : (command == "shard" ? 0 : (command == "reshard" ? 1 : 2));
  Json older = description;
  older["form"] = Json{{"kind", kind},
                       {"shard_shape", form.at("shard_shape")},
                       {"shard_chunks", form.at("shard_chunks")},
                       {"shard_bytes", form.at("shard_bytes")}};
  return marker == dump_document(older);
}

tl::unexpected<Error> another_conversion(const std::string& path, const std::string& marker,
                                         const std::string& ours) {
  const auto description = parse_json(marker, kConversionMarker);
  const bool in_parts = description && description->contains(kPlanMember);
  return fail(Fault::kExists, path + " is the unfinished result of another conversion" +
                                  (in_parts ? ", in parts (--part, --finish)" : "") +
                                  ", which --discard removes: " + told_by_marker(marker) +
                                  "; this is " + told_by_marker(ours));
}

std::string told_by_marker(const std::string& text) {
  const auto description = parse_json(text, kConversionMarker);
  const auto form = description ? description->find("form") : Json::const_iterator();
  if (!description || !description->is_object() || form == description->end() ||
      !form->is_object()) {
    return "its marker was cut short";
  }
  const auto word = [](const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string command = word(*form, "command");
  if (command.empty()) return "it was begun by another version of zarrfs";
  std::string told = "zarrfs " + command + " " + word(*description, "source");
  const auto add_shape = [&](const char* name, const char* option) {
    const auto found = form->find(name);
    if (found == form->end() || !found->is_array() || found->empty()) return;
    std::string shape;
    for (const Json& length : *found) shape += (shape.empty() ? "" : "x") + dump_json(length);
    told += std::string(" ") + option + " " + shape;
  };
  add_shape("shard_shape", "--shard-shape");
  add_shape("shard_chunks", "--shard-chunks");
  const auto bytes = form->find("shard_bytes");
  if (bytes != form->end() && bytes->is_number() && *bytes != 0) {
    told += " --shard-bytes " + dump_json(*bytes);
  }
  if (word(*form, "format") == "v2") told += " --format v2";
  if (const std::string profile = word(*description, "profile"); !profile.empty()) {
    told += " --profile " + profile;
  }
  const auto fill = description->find("fill_value_is_missing");
  if (fill != description->end())
    told += " --fill-value-is-missing " + std::string(*fill == true ? "yes" : "no");
  return printable(told, 400);
}

Result<ConversionPlace> ConversionPlace::find(const std::string& source_path,
                                              const std::string& target_path, bool in_place,
                                              const Json& description) {
  ConversionPlace place;
  place.source_path_ = source_path;
  place.in_place_ = in_place;
  place.path_ = in_place ? source_path + std::string(kUnfinished) : target_path;
  place.marker_ = dump_document(description);
  if (!exists(marker_of(place.path_))) {
    ZARRFS_CHECK(check_empty(place.path_));
    return place;
  }
  ZARRFS_TRY(place.lock_, lock_marker(place.path_));
  const std::string found = read_text(marker_of(place.path_));
  // A marker may have been cut short by a kill.
  if (!place.marker_.starts_with(found) && !is_marker_of_0_2(found, description)) {
    return another_conversion(place.path_, found, place.marker_);
  }
  place.resumed_ = true;
  return place;
}

Result<void> ConversionPlace::begin() {
  if (resumed_) {
    // Nothing was written before the marker was whole: from now on it tells this conversion from
    // others.
    if (read_text(marker_of(path_)) == marker_) return {};
    return write_marker(path_, marker_);
  }
  ZARRFS_CHECK(make_empty_directory(path_));
  ZARRFS_CHECK(write_marker(path_, marker_));
  ZARRFS_TRY(lock_, lock_marker(path_));
  return {};
}

Result<void> ConversionPlace::finish() {
  if (!in_place_) {
    // From here on the result is complete, whether this run still gets to say so or not. What it
    // has said stays so after a power cut.
    std::error_code error;
    fs::remove(marker_of(path_), error);
    if (error) return fail(system_error(error.value(), path_));
    return sync_path(path_);
  }
  ZARRFS_CHECK(give_ownership(source_path_, path_));
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, source_path_.c_str(), RENAME_EXCHANGE) != 0) {
    return fail(system_error(errno, "exchanging " + path_ + " and " + source_path_));
  }
  ZARRFS_CHECK(sync_path(fs::path(source_path_).parent_path().string()));
  return remove_old(source_path_);
}

Result<void> ConversionPlace::finish_earlier(const std::string& source_path, bool in_place) {
  if (!exists(marker_of(source_path))) return {};
  ZARRFS_TRY(const Fd lock, lock_marker(source_path));
  const std::string found = read_text(marker_of(source_path));
  if (in_place && made_from(found, source_path)) return remove_old(source_path);
  return fail(Fault::kExists, source_path + " is itself the unfinished result of a conversion: " +
                                  told_by_marker(found));
}

Result<bool> ConversionPlace::discard(const std::string& source_path,
                                      const std::string& target_path, bool in_place) {
  const std::string path = in_place ? source_path + std::string(kUnfinished) : target_path;
  if (in_place && exists(marker_of(source_path))) {
    return fail(Fault::kExists, source_path +
                                    " is complete already: the same conversion, started "
                                    "again, removes what is left of the old store");
  }
  if (!exists(path)) return false;
  if (exists(marker_of(path))) {
    ZARRFS_TRY(const Fd lock, lock_marker(path));
    const std::string found = read_text(marker_of(path));
    if (!made_from(found, source_path) && !only_marked(path)) {
      return fail(Fault::kExists, path + " is the unfinished result of a conversion of another " +
                                      "source: " + told_by_marker(found));
    }
    ZARRFS_CHECK(remove_marked(path));
  }
  if (::rmdir(path.c_str()) == 0 || errno == EBUSY) return true;
  if (errno != ENOTEMPTY && errno != ENOTDIR) return fail(system_error(errno, path));
  return fail(Fault::kExists, path + " is no unfinished conversion, and is left alone");
}

}  // namespace zarrfs::tools
