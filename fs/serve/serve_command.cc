#include "fs/serve/serve_command.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "core/base/lower_case.h"
#include "core/base/printable.h"
#include "core/cli/exit_code.h"
#include "core/store/http/schemes.h"
#include "fs/options/options_help.h"

namespace zarrfs {
namespace {

constexpr const char* kTokenVariable = "ZARRFS_SERVE_TOKEN";
constexpr unsigned kMostConnections = 65536;

/// Of "HOST:PORT", "[::1]:8000", "8000" or ":8000".
Result<void> parse_listen(const std::string& text, ServerSettings& server) {
  const std::size_t colon = text.rfind(':');
  const bool has_colon = colon != std::string::npos;
  std::string host = has_colon ? text.substr(0, colon) : "";
  const std::string port = has_colon ? text.substr(colon + 1) : text;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const char* const end = port.data() + port.size();
  const auto [stop, problem] = std::from_chars(port.data(), end, server.port);
  if (problem != std::errc() || stop != end || port.empty()) {
    return fail(Fault::kInvalid, "--listen " + printable(text) + " is not HOST:PORT");
  }
  if (!host.empty()) server.host = host;
  return {};
}

/// As browsers spell it: in lower case, without the usual port.
std::string as_sent(const std::string& origin) {
  std::string sent = lower_case(origin);
  for (const auto& [scheme, port] : {std::pair{"http://", ":80"}, std::pair{"https://", ":443"}}) {
    const bool usual = sent.starts_with(scheme) && sent.ends_with(port);
    if (usual) sent.resize(sent.size() - std::string_view(port).size());
  }
  return sent;
}

Result<void> check_origin(const std::string& origin) {
  const std::size_t scheme = origin.find("://");
  const bool whole = scheme != std::string::npos && scheme > 0 &&
                     origin.find('/', scheme + 3) == std::string::npos &&
                     origin.size() > scheme + 3;
  if (origin == "*" || origin == "null" || whole) return {};
  return fail(Fault::kInvalid, "--allow-origin " + printable(origin) +
                                   " is neither * nor a scheme with a host, as https://host");
}

}  // namespace

void ServeCommand::declare(CLI::App& app) {
  app.add_option("source", source_, "The store, or a group or array in it: " + source_kinds())
      ->type_name("SOURCE")
      ->required();
  app.add_option("--listen", listen_,
                 "The address and port to serve at; :PORT is on this machine only, 0.0.0.0:PORT "
                 "for all that reach it; port 0: any that is free")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("-o,--options", options_, "Options, separated by commas; may be repeated")
      ->type_name("OPTIONS")
      ->allow_extra_args(false);
  app.add_option("--allow-origin", origins_,
                 "Web pages that may read this, e.g. https://viewer.org; * for all; may be "
                 "repeated. By default known viewers: neuroglancer, Vizarr, Avivator, the "
                 "OME-NGFF validator, WEBKNOSSOS. Pages of this machine always may")
      ->type_name("ORIGIN")
      ->allow_extra_args(false);
  app.add_option("--allow-host", hosts_,
                 "A name by which clients may ask this server, besides localhost and addresses; "
                 "may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--token-file", token_file_,
                 "A file with the password that clients need in its first line, as a bearer token "
                 "or as ?token= of the URL; or set ZARRFS_SERVE_TOKEN")
      ->type_name("FILE");
  app.add_option("--connections", connections_, "Connections at a time, at most")
      ->check(CLI::Range(1U, kMostConnections))
      ->capture_default_str();
  app.add_flag("--stats", statistics_,
               "Serve counters, too: /.zarrfs/stats.json, and /.zarrfs/metrics for Prometheus");
  declare_options_help(app, OptionsOf::kServe);
}

Result<std::string> ServeCommand::token() const {
  std::string token;
  if (!token_file_.empty()) {
    std::ifstream file(token_file_);
    if (!std::getline(file, token) || token.empty()) {
      return fail(Fault::kInvalid, "--token-file " + printable(token_file_) + ": no token in it");
    }
  } else if (const char* given = std::getenv(kTokenVariable)) {
    token = given;
    if (token.empty()) return fail(Fault::kInvalid, std::string(kTokenVariable) + " is empty");
  }
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
  };
  if (!std::all_of(token.begin(), token.end(), fits)) {
    return fail(Fault::kInvalid, "the token may have letters, digits and -._~ only");
  }
  return token;
}

Result<ServeRequest> ServeCommand::request() const {
  ServeRequest request;
  request.source = source_;
  request.settings.access = MountSettings::Access::kReadOnly;
  for (const std::string& list : options_) {
    ZARRFS_CHECK(apply_serve_options(request.settings, list));
  }
  ZARRFS_CHECK(check_settings(request.settings));
  ZARRFS_CHECK(parse_listen(listen_, request.server));
  request.server.connections = connections_;
  for (const std::string& origin : origins_) ZARRFS_CHECK(check_origin(origin));
  if (!origins_.empty()) {
    request.access.origins.clear();
    std::transform(origins_.begin(), origins_.end(), std::back_inserter(request.access.origins),
                   as_sent);
  }
  for (const std::string& host : hosts_) request.access.hosts.push_back(lower_case(host));
  ZARRFS_TRY(request.access.token, token());
  request.statistics = statistics_;
  return request;
}

int ServeCommand::run(const Streams& streams) {
  auto wanted = request();
  if (!wanted) {
    streams.err << "zarrfs: " << wanted.error().message << "\n";
    return kUsage;
  }
  tell_words(wanted->settings, "zarrfs", streams.err);
  return run_serve(std::move(*wanted), streams.out, streams.err);
}

}  // namespace zarrfs
