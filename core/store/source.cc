// SOURCE, as users write it: which kind of store it names (one table of kinds), and where.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/filesystem/operations.hpp>
#include <boost/filesystem/path.hpp>
#include <cctype>
#include <exception>
#include <string_view>
#include <utility>

#include "core/store/foreign.h"
#include "core/store/http/url.h"
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

/// The scheme of a URL ("s3" of "s3://bucket/a", "file" of "file:/a"), or nothing for a path.
std::string_view scheme_of(std::string_view source) {
  const std::size_t colon = source.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = source.substr(0, colon);
  for (const char letter : scheme) {
    const bool allowed = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '+' ||
                         letter == '-' || letter == '.';
    if (!allowed) return {};
  }
  const std::string_view rest = source.substr(colon + 1);
  const bool url = rest.starts_with("//") || (scheme == "file" && rest.starts_with("/"));
  return url ? scheme : std::string_view{};
}

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
  const auto absolute = boost::filesystem::absolute(path);
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

/// A local archive, or an array's file, where `path` is a file with such a name.
Result<std::unique_ptr<Store>> open_path(const std::string& source, const StoreOptions& options) {
  ZARRFS_TRY(const std::string path, local_path(source));
  boost::system::error_code error;
  const bool known = has_zip_name(path) || path.ends_with(kArrayFile);
  const bool is_file = boost::filesystem::is_regular_file(path, error);
  if (is_file && !known) {
    if (const auto foreign = foreign_local_file(path)) {
      return fail(Fault::kInvalid, source + ": is " + *foreign);
    }
  }
  if (!known || !is_file) {
    return open_local_store(path, source, options.links, options.keep_open);
  }
  if (path.ends_with(kArrayFile)) {
    const std::size_t slash = path.rfind('/');
    ZARRFS_TRY(auto directory, open_local_store(path.substr(0, slash + 1), source, options.links,
                                                options.keep_open));
    return open_lone_file(std::move(directory), path.substr(slash + 1), source);
  }
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return fail(system_error(errno, source));
  return open_zip_store(make_local_file(std::move(fd), status, source), source, nullptr);
}

/// The URL of the directory that `url` lies in, and its last name.
std::pair<std::string, std::string> parent_of(const std::string& url) {
  const std::string path = url.substr(0, url.find('?'));
  const std::size_t slash = path.rfind('/');
  return {path.substr(0, slash) + url.substr(path.size()), path.substr(slash + 1)};
}

Result<std::unique_ptr<Store>> open_server(const std::string& source, const StoreOptions& options) {
  ZARRFS_TRY(const ServerPlace place, server_place(source));
  if (place.archive.empty()) return open_remote_store(source, options.remote);
  RemoteOptions reading = options.remote;
  reading.write = false;  // archives are only read
  ZARRFS_TRY(std::shared_ptr<ObjectStore> server, open_remote_store(place.url, reading));
  ZARRFS_TRY(auto archive, server->open_for(place.archive, {OpenHint::Part::kEnd, kZipTail}));
  if (archive == nullptr) return fail(Fault::kInvalid, source + ": there is no such object");
  return open_zip_store(std::move(archive), source.substr(0, source.find('?')), server);
}

/// The file itself that `source` names at its server.
std::optional<std::string> foreign_object(const std::string& source, const RemoteOptions& options) {
  const auto [parent, encoded] = parent_of(source);
  const auto name = source.starts_with("http") ? percent_decode(encoded) : encoded;
  if (!name || name->empty()) return std::nullopt;
  const auto server = open_remote_store(parent, options);
  if (!server) return std::nullopt;
  const auto file = (*server)->open(*name);
  if (!file || *file == nullptr) return std::nullopt;
  const auto start =
      (*file)->read_range({0, std::min<std::uint64_t>((*file)->size(), kForeignStart)});
  return start ? foreign_file(*start) : std::nullopt;
}

/// The kinds of stores: how users write one (the scheme of its URL; none: a path), and what opens
/// it.
struct Kind {
  std::string_view scheme;
  Result<std::unique_ptr<Store>> (*open)(const std::string& source, const StoreOptions& options);
};

constexpr std::array kKinds = {
    Kind{"", open_path},        Kind{"file", open_path}, Kind{"http", open_server},
    Kind{"https", open_server}, Kind{"s3", open_server}, Kind{"gs", open_server},
};

}  // namespace

Result<ServerPlace> server_place(const std::string& source) {
  if (!has_zip_name(source)) return ServerPlace{source, ""};
  const auto [parent, encoded] = parent_of(source);
  const bool key_is_encoded = source.starts_with("http");
  const auto name = key_is_encoded ? percent_decode(encoded) : encoded;
  if (!name) return fail(Fault::kInvalid, source + ": '%' without two hexadecimal digits");
  return ServerPlace{parent, *name};
}

Result<std::string> local_path(const std::string& source) {
  const std::string_view scheme = scheme_of(source);
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

Result<std::unique_ptr<Store>> open_source(const std::string& source, const StoreOptions& options) {
  const std::string_view scheme = scheme_of(source);
  std::string known = "a directory, a .zip or .b2nd file";
  for (const Kind& kind : kKinds) {
    if (kind.scheme == scheme) return kind.open(source, options);
    if (!kind.scheme.empty()) known += ", " + std::string(kind.scheme) + "://";
  }
  return fail(Fault::kUnsupported, source + ": stores behind " + std::string(scheme) +
                                       ":// are not supported; give one of " + known);
}

Result<std::unique_ptr<Store>> open_store(const std::string& source, LinkPolicy links,
                                          std::size_t keep_open) {
  return open_source(source, {links, keep_open, {}});
}

std::optional<std::string> foreign_source(const std::string& source, const StoreOptions& options) {
  StoreOptions reading = options;
  reading.remote.write = false;
  const auto store = open_source(source, reading);
  if (store) {
    if (auto foreign = foreign_store(**store)) return foreign;
  }
  return is_local(source) ? std::nullopt : foreign_object(source, reading.remote);
}

bool is_local(const std::string& source) {
  const std::string_view scheme = scheme_of(source);
  return scheme.empty() || scheme == "file";
}

}  // namespace zarrfs
