#include "core/store/http/key_services.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <fstream>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20U;
// Takes no room of bodies, which those who wait for keys may hold.
constexpr std::size_t kMostAnswer = std::size_t{64} << 10U;
constexpr std::uint64_t kUntoldLife = 600;  // seconds
constexpr std::uint64_t kLongestLife = std::uint64_t{1} << 30U;

bool is_of_this_machine(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24U == 127;
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return host == "localhost";
}

/// Some services write the number as a text.
std::uint64_t life_in(const Json& answer) {
  const auto lasts = answer.find("expires_in");
  if (lasts == answer.end()) return kUntoldLife;
  const auto number = lasts->is_string()            ? parse_whole_number(lasts->get<std::string>())
                      : lasts->is_number_unsigned() ? std::optional(lasts->get<std::uint64_t>())
                                                    : std::nullopt;
  return std::min(number.value_or(0), kLongestLife);
}

}  // namespace

std::int64_t present_time() { return static_cast<std::int64_t>(::time(nullptr)); }

std::string stripped(std::string_view text) {
  const auto blank = [](unsigned char letter) { return std::isspace(letter) != 0; };
  while (!text.empty() && blank(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && blank(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

std::optional<std::string> read_key_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < kMostText && (file.read(part.data(), part.size()), file.gcount() > 0)) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::string member_text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

HttpRequest service_request(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  request.part_limit = kMostAnswer;
  request.whole_limit = kMostAnswer;
  return request;
}

HttpRequest form_request(std::string url, const HeaderList& fields) {
  HttpRequest request = service_request(std::move(url));
  request.method = "POST";
  std::string text;
  for (const auto& [name, value] : fields) {
    text += (text.empty() ? "" : "&") + name + "=" + percent_encode(value, false);
  }
  request.body = RequestBody::of_text(std::move(text));
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  return request;
}

Result<ServiceAnswer> ask_service(HttpClient& http, HttpRequest request, const std::string& what) {
  std::vector<HttpRequest> requests;
  requests.push_back(std::move(request));
  const auto answers = http.perform(std::move(requests));
  const HttpAnswer& answer = answers.front();
  if (!answer) return fail(Fault::kDenied, what + " cannot be reached: " + answer.error().message);
  return ServiceAnswer{answer->status, std::string(answer->text())};
}

Result<std::string> fetch_from(HttpClient& http, HttpRequest request, const std::string& what) {
  ZARRFS_TRY(ServiceAnswer answer, ask_service(http, std::move(request), what));
  if (answer.status == 200) return std::move(answer.text);
  return fail(Fault::kDenied, what + " answers with " + std::to_string(answer.status));
}

Result<void> check_private(const std::string& url, const std::string& setting) {
  const auto parsed = parse_url(url);
  if (!parsed) return fail(Fault::kDenied, setting + ": " + parsed.error().message);
  const bool loopback = parsed->scheme == "http" && is_of_this_machine(parsed->host());
  if (loopback || parsed->scheme == "https") return {};
  return fail(Fault::kDenied, setting + ": " + parsed->text() +
                                  ": keys are asked for by https:// only, or of this machine");
}

std::optional<Credentials> token_in(const std::string& answer, const std::string& origin) {
  const auto json = parse_json(answer, "a token");
  const std::string token = json && json->is_object() ? member_text(*json, "access_token") : "";
  if (token.empty()) return std::nullopt;
  return Credentials{.key = {},
                     .token = token,
                     .expires = present_time() + static_cast<std::int64_t>(life_in(*json)),
                     .origin = origin};
}

}  // namespace zarrfs
