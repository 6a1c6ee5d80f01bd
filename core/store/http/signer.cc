#include "core/store/http/signer.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <span>

#include "core/base/lower_case.h"

namespace zarrfs {
namespace {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view text) {
  Digest digest{};
  unsigned int length = digest.size();
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
  return digest;
}

std::string_view as_view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string hex(std::span<const unsigned char> digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

/// Lower case names, values without the blanks around them and with single ones within.
HeaderList canonical_headers(const HeaderList& headers) {
  HeaderList made;
  for (const auto& [name, value] : headers) {
    std::string clean;
    for (const char letter : value) {
      const bool blank = letter == ' ' || letter == '\t';
      if (blank && (clean.empty() || clean.back() == ' ')) continue;
      clean += blank ? ' ' : letter;
    }
    if (clean.ends_with(' ')) clean.pop_back();
    made.emplace_back(lower_case(name), std::move(clean));
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return made;
}

std::string canonical_query(const std::string& query) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < query.size();) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    std::string part = query.substr(begin, end - begin);
    if (part.find('=') == std::string::npos) part += '=';
    if (part != "=") parts.push_back(std::move(part));
    begin = end + 1;
  }
  // By name, then by value: "=" must not count as a letter of the name.
  std::sort(parts.begin(), parts.end(), [](const std::string& a, const std::string& b) {
    const std::string name_a = a.substr(0, a.find('='));
    const std::string name_b = b.substr(0, b.find('='));
    return name_a != name_b ? name_a < name_b : a < b;
  });
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "&") + part;
  return text;
}

std::string signed_names(const HeaderList& canonical) {
  std::string names;
  for (const auto& [name, value] : canonical) names += (names.empty() ? "" : ";") + name;
  return names;
}

}  // namespace

Digest hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned int length = digest.size();
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length);
  return digest;
}

std::string amazon_date(std::int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm parts {};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), length};
}

std::string canonical_request(const Signable& request) {
  const HeaderList headers = canonical_headers(request.headers);
  std::string text = request.method + "\n" + (request.path.empty() ? "/" : request.path) + "\n" +
                     canonical_query(request.query) + "\n";
  for (const auto& [name, value] : headers) text += name + ":" + value + "\n";
  return text + "\n" + signed_names(headers) + "\n" + request.body_hash;
}

std::string authorization(const Signable& request, const AccessKey& key, const SigningScope& scope,
                          const std::string& date) {
  const std::string day = date.substr(0, 8);
  const std::string version = scope.google ? "GOOG4" : "AWS4";
  const std::string end = scope.google ? "goog4_request" : "aws4_request";
  const std::string credential = day + "/" + scope.region + "/" + scope.service + "/" + end;
  const std::string to_sign = version + "-HMAC-SHA256\n" + date + "\n" + credential + "\n" +
                              sha256_hex(canonical_request(request));
  const Digest of_day = hmac_sha256(version + key.secret, day);
  const Digest of_region = hmac_sha256(as_view(of_day), scope.region);
  const Digest of_service = hmac_sha256(as_view(of_region), scope.service);
  const Digest signing = hmac_sha256(as_view(of_service), end);
  return version + "-HMAC-SHA256 Credential=" + key.id + "/" + credential +
         ",SignedHeaders=" + signed_names(canonical_headers(request.headers)) +
         ",Signature=" + hex(hmac_sha256(as_view(signing), to_sign));
}

std::string sha256_hex(std::string_view text) { return hex(sha256(text)); }

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, 20> digest{};
  unsigned int length = digest.size();
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
  return hex(digest);
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr);
}
Sha256::~Sha256() { EVP_MD_CTX_free(state_->context); }

void Sha256::add(ByteView bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

std::string Sha256::finish() {
  Digest digest{};
  unsigned int length = digest.size();
  EVP_DigestFinal_ex(state_->context, digest.data(), &length);
  return hex(digest);
}

}  // namespace zarrfs
