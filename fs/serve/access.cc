#include "fs/serve/access.h"

#include <arpa/inet.h>

#include <algorithm>

#include "core/base/lower_case.h"
#include "core/base/printable.h"

namespace zarrfs {
namespace {

constexpr const char* kCookie = "zarrfs_token";
constexpr const char* kMethods = "GET, HEAD, OPTIONS, PROPFIND";

/// Without its port.
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.rfind(':'));
}

bool is_address(std::string_view host) {
  in6_addr place{};
  const std::string text(host);
  return ::inet_pton(AF_INET, text.c_str(), &place) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &place) == 1;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" ||
         host.ends_with(".localhost");
}

/// The host that the request is for: a whole URL comes before the field.
std::string_view authority_of(const Request& request, const Target& target) {
  return target.authority.empty() ? request.field("host") : std::string_view(target.authority);
}

/// Cookies know no ports, and the server at another port has another token.
std::string cookie_name(const Request& request) {
  const std::string_view host = request.field("host");
  const std::string_view port = host.substr(std::min(host.rfind(':'), host.size()));
  const bool is_port = port.size() > 1 && port.find_first_not_of("0123456789", 1) == port.npos;
  return is_port ? kCookie + std::string("_") + std::string(port.substr(1)) : kCookie;
}

/// The values of the cookies of that name.
std::vector<std::string> cookies_of(const Request& request) {
  const std::string begin = cookie_name(request) + "=";
  const std::string all = request.all("cookie");
  std::vector<std::string> values;
  for (std::string_view rest = all; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find_first_of(";,"));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::string_view cookie = one.substr(std::min(one.find_first_not_of(' '), one.size()));
    if (cookie.starts_with(begin)) values.emplace_back(cookie.substr(begin.size()));
  }
  return values;
}

}  // namespace

std::vector<std::string> AccessRules::known_viewers() {
  return {"https://neuroglancer-demo.appspot.com",
          "https://hms-dbmi.github.io",
          "https://avivator.gehlenborglab.org",
          "https://ome.github.io",
          "https://biongff.github.io",
          "https://kitware.github.io",
          "https://volumeviewer.allencell.org",
          "https://webknossos.org"};
}

bool Access::knows_host(const Request& request, const Target& target) const {
  const std::string host = lower_case(host_of(authority_of(request, target)));
  if (host.empty()) return request.version == 10;
  return is_loopback(host) || is_address(host) ||
         std::find(rules_.hosts.begin(), rules_.hosts.end(), host) != rules_.hosts.end();
}

bool Access::knows_origin(std::string_view origin) const {
  const auto& known = rules_.origins;
  if (std::find(known.begin(), known.end(), "*") != known.end()) return true;
  if (std::find(known.begin(), known.end(), origin) != known.end()) return true;
  const std::size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;  // "null": a file, or a page in a box
  return is_loopback(host_of(origin.substr(scheme + 3)));
}

bool Access::is_token(std::string_view given) const {
  // As long for a wrong one as for the right one.
  unsigned char differs = given.size() == rules_.token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    differs |= static_cast<unsigned char>(given[i] ^ rules_.token[i % rules_.token.size()]);
  }
  return differs == 0;
}

bool Access::has_token(const Request& request, const Target& target) const {
  if (rules_.token.empty()) return true;
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view given = request.field("authorization");
  if (lower_case(given.substr(0, kBearer.size())) == kBearer) {
    const std::size_t begin = given.find_first_not_of(' ', kBearer.size());
    return is_token(given.substr(std::min(begin, given.size())));
  }
  if (const std::string member = target.member("token"); !member.empty()) return is_token(member);
  const std::vector<std::string> cookies = cookies_of(request);
  return std::any_of(cookies.begin(), cookies.end(),
                     [this](const std::string& cookie) { return is_token(cookie); });
}

std::optional<Answer> Access::stop(const Request& request, const Target& target) const {
  if (request.count("host") > 1) return plain_answer(400, "there are several Host fields");
  if (request.version == 11 && request.count("host") == 0) {
    return plain_answer(400, "there is no Host field");
  }
  if (!knows_host(request, target)) {
    return plain_answer(421, "zarrfs serves nothing by the name " +
                                 printable(host_of(authority_of(request, target))) +
                                 "; start it with --allow-host to have it do so");
  }
  const std::string_view origin = request.field("origin");
  if (!origin.empty() && !knows_origin(origin)) {
    return plain_answer(403, "pages of " + printable(origin) +
                                 " may not read this; start zarrfs with --allow-origin to let "
                                 "them");
  }
  if (request.method == "OPTIONS") {  // which a browser sends without the token
    Answer answer;
    answer.status = 204;
    answer.set("Allow", kMethods);
    answer.set("DAV", "1");
    return answer;
  }
  if (request.method != "GET" && request.method != "HEAD" && request.method != "PROPFIND") {
    Answer answer = plain_answer(405, "this is served for reading only");
    answer.set("Allow", kMethods);
    return answer;
  }
  if (has_token(request, target)) return std::nullopt;
  Answer answer = plain_answer(401, "this needs the token that zarrfs was started with");
  answer.set("WWW-Authenticate", "Bearer realm=\"zarrfs\"");
  return answer;
}

void Access::mark(Answer& answer, const Request& request, const Target& target) const {
  answer.set("X-Content-Type-Options", "nosniff");
  answer.set("Referrer-Policy", "no-referrer");
  if (asks_for_token() && answer.status < 400 && is_token(target.member("token"))) {
    answer.set("Set-Cookie",
               cookie_name(request) + "=" + rules_.token + "; Path=/; HttpOnly; SameSite=Strict");
  }
  const std::string_view origin = request.field("origin");
  if (origin.empty() || !knows_origin(origin)) {
    answer.set("Vary", "Origin, Accept-Encoding, Accept");
    return;
  }
  answer.set("Access-Control-Allow-Origin", std::string(origin));
  answer.set("Vary", "Origin, Accept-Encoding, Accept");
  if (request.method != "OPTIONS") {
    answer.set("Access-Control-Expose-Headers",
               "Accept-Ranges, Content-Encoding, Content-Length, Content-Range, Date, ETag, "
               "Last-Modified, Retry-After");
    return;
  }
  answer.set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS");
  answer.set("Access-Control-Allow-Headers",
             "Authorization, Cache-Control, If-Match, If-Modified-Since, If-None-Match, If-Range, "
             "If-Unmodified-Since, Pragma, Range");
  answer.set("Access-Control-Max-Age", "86400");
  if (request.field("access-control-request-private-network") == "true") {
    answer.set("Access-Control-Allow-Private-Network", "true");
  }
}

}  // namespace zarrfs
