#include "core/store/http/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/store/http/headers.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr double kMostSeconds = 24 * 3600;

tl::unexpected<Error> not_one(const std::string& value, const std::string& wanted) {
  return fail(Fault::kInvalid, "\"" + value + "\" is not " + wanted);
}

/// A number of bytes: "64M".
Result<std::uint64_t> parse_bytes(const std::string& text) {
  std::string_view digits = text;
  unsigned shift = 0;
  constexpr std::string_view kUnits = "KMGT";
  if (!digits.empty()) {
    const std::size_t unit = kUnits.find(digits.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      digits.remove_suffix(1);
    }
  }
  const auto number = parse_whole_number(digits);
  const auto bytes = number ? checked_multiply(*number, std::uint64_t{1} << shift) : std::nullopt;
  if (!bytes || *bytes > (std::uint64_t{1} << 50U)) return not_one(text, "a size such as 64M");
  return *bytes;
}

Result<double> parse_time(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !std::isfinite(seconds) || seconds < 0 || seconds > kMostSeconds) {
    return not_one(text, "a number of seconds");
  }
  return seconds;
}

Result<void> set_endpoint(RemoteOptions& options, const std::string& value) {
  ZARRFS_TRY(const Url url, parse_url(value));
  if (url.scheme != "http" && url.scheme != "https") return not_one(value, "an http(s):// URL");
  options.endpoint = value;
  return {};
}

Result<void> set_addressing(RemoteOptions& options, const std::string& value) {
  if (value != "path" && value != "host") return not_one(value, "one of path, host");
  options.path_style = value == "path";
  return {};
}

Result<void> set_absent(RemoteOptions& options, const std::string& value) {
  if (value != "404" && value != "403") return not_one(value, "one of 404, 403");
  options.absent_403 = value == "403";
  return {};
}

Result<void> set_connections(RemoteOptions& options, const std::string& value) {
  const auto number = parse_whole_number(value);
  if (!number || *number < 1 || *number > 256) return not_one(value, "a number from 1 to 256");
  options.connections = *number;
  return {};
}

Result<void> set_text(std::string& field, const std::string& value) {
  if (value.empty()) return fail(Fault::kInvalid, "a value is missing");
  field = value;
  return {};
}

template <std::uint64_t RemoteOptions::*field>
Result<void> set_bytes(RemoteOptions& options, const std::string& value) {
  ZARRFS_TRY(options.*field, parse_bytes(value));
  return {};
}

template <double RemoteOptions::*field>
Result<void> set_time(RemoteOptions& options, const std::string& value) {
  ZARRFS_TRY(options.*field, parse_time(value));
  return {};
}

template <std::string RemoteOptions::*field>
Result<void> set_name(RemoteOptions& options, const std::string& value) {
  return set_text(options.*field, value);
}

template <bool RemoteOptions::*field>
Result<void> set_flag(RemoteOptions& options, const std::string& /*value*/) {
  options.*field = true;
  return {};
}

std::vector<RemoteOption> make_table() {
  using Options = RemoteOptions;
  return {
      {"endpoint", "URL", "",
       "URL of the server, if it is not the provider's own; for s3:// by default "
       "AWS_ENDPOINT_URL",
       set_endpoint},
      {"region", "NAME", "",
       "region that requests are signed for; by default AWS_REGION, or the profile's",
       set_name<&Options::region>},
      {"aws_profile", "NAME", "", "profile of ~/.aws/credentials and ~/.aws/config",
       set_name<&Options::profile>},
      {"anonymous", "", "", "requests to buckets are not signed: for public data",
       set_flag<&Options::anonymous>},
      {"requester_pays", "", "", "the reader pays for what the bucket sends",
       set_flag<&Options::requester_pays>},
      {"addressing", "path|host", "",
       "whether the bucket is in the path or in the host name; by default path if endpoint "
       "is given",
       set_addressing},
      {"ca_file", "FILE", "",
       "certificates to trust (PEM) instead of the system's; for s3:// by default "
       "AWS_CA_BUNDLE",
       set_name<&Options::ca_file>},
      {"absent", "404|403", "404",
       "403: the answer \"forbidden\" means that there is no such object, as in buckets "
       "that may not be listed; only for reading, and nothing is listed",
       set_absent},
      {"cache", "DIR", "", "directory for a cache on disk; mounts may share it",
       set_name<&Options::cache>},
      {"cache_size", "SIZE", "10G", "size of the cache on disk", set_bytes<&Options::cache_size>},
      {"memory_cache", "SIZE", "256M",
       "bytes of remote objects kept in memory; in a mount by default at most an eighth of "
       "memory",
       set_bytes<&Options::memory_cache>},
      {"connections", "N", "48", "requests to the server at the same time", set_connections},
      {"deadline", "SECONDS", "60",
       "how long a failing request is sent again before it is an error",
       set_time<&Options::deadline>},
      {"revalidate", "SECONDS", "10", "how long metadata of an object is trusted",
       set_time<&Options::revalidate>},
      {"stale_if_error", "SECONDS", "3600",
       "how much longer what is known is shown while the server does not answer; 0: not at "
       "all",
       set_time<&Options::stale_if_error>},
  };
}

Result<void> apply_one(RemoteOptions& options, const std::string& item) {
  const std::size_t equals = item.find('=');
  const std::string name = item.substr(0, equals);
  const auto& table = remote_options();
  const auto option = std::find_if(table.begin(), table.end(),
                                   [&](const RemoteOption& one) { return one.name == name; });
  if (option == table.end()) return fail(Fault::kInvalid, "there is no option \"" + name + "\"");
  const bool has_value = equals != std::string::npos;
  if (option->argument.empty() == has_value) {
    return fail(Fault::kInvalid,
                has_value ? "option " + name + " takes no value"
                          : "option " + name + " needs a value: " + name + "=" + option->argument);
  }
  auto done = option->set(options, has_value ? item.substr(equals + 1) : "");
  if (!done) done.error().message = "option " + name + ": " + done.error().message;
  return done;
}

}  // namespace

const std::vector<RemoteOption>& remote_options() {
  static const std::vector<RemoteOption> table = make_table();
  return table;
}

Result<void> apply_remote_options(RemoteOptions& options, std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string item(list.substr(0, comma));
    if (!item.empty()) ZARRFS_CHECK(apply_one(options, item));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return {};
}

}  // namespace zarrfs
