// SOURCE, as users write it: which kind of store it names (one table of kinds), and where.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/filesystem/operations.hpp>
#include <boost/filesystem/path.hpp>
#include <exception>
#include <string_view>
#include <utility>

#include "core/base/path.h"
#include "core/store/foreign.h"
#include "core/store/http/revision.h"
#include "core/store/http/schemes.h"
#include "core/store/local_file.h"
#include "core/store/local_store.h"
#include "core/store/lone_file.h"
#include "core/store/open_store.h"
#include "core/store/remote/remote_store.h"
#include "core/store/store.h"
#include "core/store/zip/zip_directory.h"
#include "core/store/zip/zip_store.h"

namespace zarrfs {
namespace {

Result<std::string> decode_percent(std::string_view text, const std::string& source) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (percent_decode(text.substr(i, 3))) continue;
    return fail(Fault::kInvalid, source + ": '%' at character " + std::to_string(i) +
                                     " of the path is not followed by two hexadecimal digits");
  }
  return percent_decode(text).value_or("");
}

Result<std::string> path_of_file_url(const std::string& source) {
  std::string_view rest = std::string_view(source).substr(sizeof("file:") - 1);
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::string_view host = rest.substr(0, rest.find('/'));
    if (!host.empty() && host != "localhost") {
      return fail(Fault::kUnsupported, source + ": the host '" + std::string(host) +
                                           "' is another machine; write file:///PATH");
    }
    rest.remove_prefix(host.size());
  }
  if (const std::size_t special = rest.find_first_of("?#"); special != std::string_view::npos) {
    return fail(Fault::kInvalid, source + ": '" + rest[special] +
                                     "' has no meaning in a file URL; write %3F or %23 for a name "
                                     "that holds it");
  }
  return decode_percent(rest, source);
}

/// `path` made absolute, without "." components and trailing slashes. Where it has "..", links are
/// resolved, because a/link/.. is not a.
std::string absolute_path(const std::string& path) {
  const boost::filesystem::path given(path);
  // Of an absolute path nothing is asked: the working directory may be gone.
  const auto absolute = given.is_absolute() ? given : boost::filesystem::absolute(given);
  for (const auto& component : absolute) {
    if (component == "..") return boost::filesystem::weakly_canonical(absolute).string();
  }
  std::string normal = absolute.lexically_normal().string();
  if (normal.ends_with("/.")) normal.pop_back();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

tl::unexpected<Error> not_supported(const std::string& source, std::string_view scheme) {
  return fail(Fault::kUnsupported,
              source + ": " + std::string(scheme) +
                  ":// names no local directory, which is what is needed here");
}

/// How the names of files end that core/formats shows as arrays.
constexpr std::string_view kArrayFile = ".b2nd";

/// Whether a file of that name is a store by itself: an archive, or an array.
bool is_store_file(std::string_view path) {
  return has_zip_name(path) || path.substr(0, path.find('?')).ends_with(kArrayFile);
}

/// What `file` of `directory` holds, and of an archive what is `below` in it; null where there is
/// no such archive. `name` is what messages call it.
Result<std::shared_ptr<Store>> open_file(std::shared_ptr<Store> directory, const std::string& file,
                                         const std::string& below, const std::string& name) {
  if (!has_zip_name(file)) return open_lone_file(std::move(directory), file, name);
  ZARRFS_TRY(auto archive, directory->open_for(file, {OpenHint::Part::kEnd, kZipTail}));
  if (archive == nullptr) return nullptr;
  const bool is_array = below.ends_with(kArrayFile);
  ZARRFS_TRY(std::shared_ptr<Store> store,
             open_zip_store(std::move(archive), name, std::move(directory), is_array ? "" : below));
  return is_array ? open_lone_file(std::move(store), below, name) : std::move(store);
}

tl::unexpected<Error> no_object(const std::string& name) {
  return fail(Fault::kInvalid, name + ": there is no such object");
}

/// Nothing where it cannot be read.
std::optional<std::string> foreign_local_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return std::nullopt;
  Bytes start(kForeignStart);
  const ssize_t got = ::pread(fd.get(), start.data(), start.size(), 0);
  if (got < 0) return std::nullopt;
  start.resize(static_cast<std::size_t>(got));
  return foreign_file(start);
}

bool is_file(const std::string& path) {
  boost::system::error_code error;
  return boost::filesystem::is_regular_file(path, error);
}

std::string directory_of(const std::string& path) { return "/" + parent_path(path.substr(1)); }

/// The file of a store that the absolute `path` names, or the archive that it leads into; empty
/// where there is none.
std::string local_store_file(const std::string& path) {
  if (is_store_file(path) && is_file(path)) return path;
  for (std::string at = directory_of(path); at != "/"; at = directory_of(at)) {
    if (has_zip_name(at) && is_file(at)) return at;
  }
  return {};
}

Result<StorePlace> open_path(const std::string& source, const StoreOptions& options) {
  ZARRFS_TRY(const std::string path, local_path(source));
  const std::string file = local_store_file(path);
  if (file.empty()) {
    const auto foreign = is_file(path) ? foreign_local_file(path) : std::nullopt;
    if (foreign) return fail(Fault::kInvalid, source + ": is " + *foreign);
    ZARRFS_TRY(auto store, open_local_store(path, source, options.links, options.keep_open));
    return StorePlace{std::move(store), {}};
  }
  // The user names the file: a link in its place is followed.
  ZARRFS_TRY(auto directory,
             open_local_store(directory_of(file), source, LinkPolicy::kFollow, options.keep_open));
  ZARRFS_TRY(auto store,
             open_file(std::move(directory), last_name(file), path_below(path, file), source));
  if (store == nullptr) return no_object(source);
  return StorePlace{std::move(store), {}};
}

/// The URL of the directory that `url` lies in, and its last name.
std::pair<std::string, std::string> parent_of(const std::string& url) {
  const std::string path = url.substr(0, url.find('?'));
  return {parent_path(path) + url.substr(path.size()), last_name(path)};
}

/// How many characters of the URL `path` name a file that is a store by itself: up to the first
/// archive in it, or all of them. 0 where there is none.
std::size_t store_file_in(std::string_view path) {
  constexpr auto kNone = std::string_view::npos;
  std::size_t slash = path.find('/', std::min(path.size(), scheme_name(path).size() + 3));
  while (slash != kNone && (slash = path.find('/', slash + 1)) != kNone) {
    if (has_zip_name(path.substr(0, slash))) return slash;
  }
  return is_store_file(path) ? path.size() : 0;
}

Result<StorePlace> open_server(const std::string& source, const StoreOptions& options) {
  ZARRFS_TRY(const ServerPlace place, server_place(source));
  if (place.file.empty()) return open_remote_place(source, options.remote);
  RemoteOptions reading = options.remote;
  reading.write = false;  // archives are only read
  ZARRFS_TRY(StorePlace server, open_remote_place(place.url, reading));
  const std::string name = source.substr(0, source.find('?'));
  ZARRFS_TRY(auto store, open_file(server.store, place.file, place.below, name));
  if (store != nullptr) return StorePlace{std::move(store), {}};
  // Names of directories may end so, too.
  return place.below.empty() ? no_object(name) : open_remote_place(source, options.remote);
}

/// The key of a part of `source`, which is written as `encoded`.
std::optional<std::string> key_in(const std::string& source, const std::string& encoded) {
  const Scheme* const scheme = scheme_named(scheme_name(source));
  const bool key_is_encoded = scheme == nullptr || !scheme->bucket;
  return key_is_encoded ? percent_decode(encoded) : encoded;
}

/// The file itself that `source` names at its server.
std::optional<std::string> foreign_object(const std::string& source, const RemoteOptions& options) {
  const auto [parent, encoded] = parent_of(source);
  const auto name = key_in(source, encoded);
  if (!name || name->empty()) return std::nullopt;
  const auto server = open_remote_place(parent, options);
  if (!server) return std::nullopt;
  const auto file = server->store->open(*name);
  if (!file || *file == nullptr) return std::nullopt;
  const auto start =
      (*file)->read_range({0, std::min<std::uint64_t>((*file)->size(), kForeignStart)});
  return start ? foreign_file(*start) : std::nullopt;
}

}  // namespace

Result<ServerPlace> server_place(const std::string& versioned) {
  const std::string source = versioned_source(versioned).place;
  const std::string path = source.substr(0, source.find('?'));
  const std::size_t end = store_file_in(path);
  if (end == 0) return ServerPlace{source, "", ""};
  const auto [parent, encoded] = parent_of(path.substr(0, end) + source.substr(path.size()));
  std::string encoded_below = path.substr(std::min(path.size(), end + 1));
  while (encoded_below.ends_with('/')) encoded_below.pop_back();
  const auto name = key_in(source, encoded);
  const auto below = key_in(source, encoded_below);
  if (!name || !below)
    return fail(Fault::kInvalid, source + ": '%' without two hexadecimal digits");
  if (!is_store_path(*below)) return fail(Fault::kInvalid, source + ": is no path in an archive");
  return ServerPlace{parent, *name, *below};
}

Result<std::string> local_path(const std::string& versioned) {
  const std::string source = versioned_source(versioned).place;
  const std::string_view scheme = scheme_name(source);
  if (!scheme.empty() && scheme != "file") {
    return not_supported(source, scheme);
  }
  std::string path = source;
  if (!scheme.empty()) {
    ZARRFS_TRY(path, path_of_file_url(source));
  }
  if (path.empty()) {
    return fail(Fault::kInvalid, source.empty() ? "the source is an empty name; give a directory"
                                                : source + ": names no path");
  }
  if (path.find('\0') != std::string::npos) {
    return fail(Fault::kInvalid, source + ": the path holds a NUL byte");
  }
  try {
    return absolute_path(path);
  } catch (const std::exception& error) {
    return fail(Fault::kIo, source + ": cannot be made absolute: " + error.what());
  }
}

Result<StorePlace> open_place(const std::string& versioned, const StoreOptions& options) {
  const std::string source = versioned_source(versioned).place;
  if (is_local(source)) return open_path(source, options);
  const std::string_view name = scheme_name(source);
  if (scheme_named(name) != nullptr) return open_server(source, options);
  return fail(Fault::kUnsupported, source + ": stores behind " + std::string(name) +
                                       ":// are not supported; give " + source_kinds());
}

Result<std::unique_ptr<Store>> open_store(const std::string& source, LinkPolicy links,
                                          std::size_t keep_open) {
  ZARRFS_TRY(const std::string path, local_path(source));
  return open_local_store(path, source, links, keep_open);
}

Result<std::optional<LocalPlace>> local_place(const std::string& source) {
  ZARRFS_TRY(const std::string path, local_path(source));
  boost::system::error_code error;
  const auto real = boost::filesystem::canonical(path, error);
  if (error) return std::nullopt;
  return LocalPlace{real.string(), boost::filesystem::is_directory(real, error)};
}

Result<std::optional<SourceFile>> source_file(const std::string& source,
                                              const StoreOptions& options) {
  if (is_local(source)) {
    ZARRFS_TRY(const std::string path, local_path(source));
    if (!is_file(path) || !local_store_file(path).empty()) return std::nullopt;
    ZARRFS_TRY(const auto place, local_place(directory_of(path)));
    if (!place) return std::nullopt;
    ZARRFS_TRY(auto store,
               open_local_store(place->path, source, LinkPolicy::kFollow, options.keep_open));
    return SourceFile{std::move(store), last_name(path), place->path};
  }
  if (scheme_named(scheme_name(source)) == nullptr) return std::nullopt;
  const auto [parent, encoded] = parent_of(source);
  const auto name = key_in(source, encoded);
  if (!name || !is_plain_name(*name)) return std::nullopt;
  RemoteOptions reading = options.remote;
  reading.write = false;
  auto place = open_remote_place(parent, reading);
  if (!place) return std::nullopt;  // who opens the store says why
  return SourceFile{std::move(place->store), *name, parent.substr(0, parent.find('?'))};
}

std::optional<std::string> foreign_source(const std::string& versioned,
                                          const StoreOptions& options) {
  const std::string source = versioned_source(versioned).place;
  StoreOptions reading = options;
  reading.remote.write = false;
  const auto place = open_place(source, reading);
  if (place) {
    if (auto foreign = foreign_store(*place->store)) return foreign;
    const auto server = server_place(source);
    if (server && has_zip_name(server->file)) return std::nullopt;  // an archive, which is read
  }
  return is_local(source) ? std::nullopt : foreign_object(source, reading.remote);
}

bool is_local(const std::string& source) {
  const std::string place = versioned_source(source).place;
  const std::string_view scheme = scheme_name(place);
  return scheme.empty() || scheme == "file";
}

}  // namespace zarrfs
