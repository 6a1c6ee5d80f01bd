// SOURCE, as users write it: which kind of store it names (one table of kinds), and where.

#include <array>
#include <boost/filesystem/operations.hpp>
#include <boost/filesystem/path.hpp>
#include <cctype>
#include <exception>
#include <string_view>

#include "core/store/local_store.h"
#include "core/store/store.h"

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

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const int lower = std::tolower(static_cast<unsigned char>(letter));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

Result<std::string> decode_percent(std::string_view text, const std::string& source) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return fail(Fault::kInvalid, source + ": '%' at character " + std::to_string(i) +
                                       " of the path is not followed by two hexadecimal digits");
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
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
  return fail(Fault::kUnsupported, source + ": stores behind " + std::string(scheme) +
                                       ":// are not supported; give a directory");
}

Result<std::unique_ptr<Store>> open_directory(const std::string& source, LinkPolicy links,
                                              std::size_t keep_open) {
  ZARRFS_TRY(const std::string path, local_path(source));
  return open_local_store(path, source, links, keep_open);
}

/// The kinds of stores: how users write one (the scheme of its URL; none: a path), and what opens
/// it.
struct Kind {
  std::string_view scheme;
  Result<std::unique_ptr<Store>> (*open)(const std::string& source, LinkPolicy links,
                                         std::size_t keep_open);
};

constexpr std::array kKinds = {
    Kind{"", open_directory},
    Kind{"file", open_directory},
};

}  // namespace

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

Result<std::unique_ptr<Store>> open_store(const std::string& source, LinkPolicy links,
                                          std::size_t keep_open) {
  const std::string_view scheme = scheme_of(source);
  for (const Kind& kind : kKinds) {
    if (kind.scheme == scheme) return kind.open(source, links, keep_open);
  }
  return not_supported(source, scheme);
}

}  // namespace zarrfs
