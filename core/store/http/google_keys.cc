#include "core/store/http/google_keys.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/store/http/key_services.h"

namespace zarrfs {
namespace {

constexpr std::int64_t kLifeOfFile = 600;        // seconds
constexpr std::int64_t kLifeOfAssertion = 3600;  // seconds; more is refused
constexpr const char* kTokenUri = "https://oauth2.googleapis.com/token";
constexpr const char* kScope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr const char* kOfAssertion = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr const char* kDefaults = "application_default_credentials.json";
constexpr const char* kNamed = "GOOGLE_APPLICATION_CREDENTIALS";

/// Base64 as JSON Web Tokens have it. Source: RFC 7515, appendix C.
std::string base64_of_token(std::string_view bytes) {
  std::string text = to_base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text.substr(0, text.find('='));
}

/// RSASSA-PKCS1-v1_5 with SHA-256; nothing where `pem` is no private key of RSA.
std::optional<std::string> rsa_signature(const std::string& pem, const std::string& text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> source(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  char none[] = "";  // else a password would be asked for at the terminal
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(source.get(), nullptr, nullptr, none), &EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) return std::nullopt;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  std::string signature(static_cast<std::size_t>(EVP_PKEY_size(key.get())), '\0');
  std::size_t length = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) != 1) {
    return std::nullopt;
  }
  signature.resize(length);
  return signature;
}

/// What a service account says of itself, signed. Source: RFC 7523.
std::optional<std::string> assertion(const Json& account, const std::string& audience) {
  const std::int64_t begin = present_time();
  const Json head{
      {"alg", "RS256"}, {"typ", "JWT"}, {"kid", member_text(account, "private_key_id")}};
  const Json claims{{"iss", member_text(account, "client_email")},
                    {"scope", kScope},
                    {"aud", audience},
                    {"iat", begin},
                    {"exp", begin + kLifeOfAssertion}};
  const std::string text =
      base64_of_token(dump_json(head)) + "." + base64_of_token(dump_json(claims));
  const auto signature = rsa_signature(member_text(account, "private_key"), text);
  if (!signature) return std::nullopt;
  return text + "." + base64_of_token(*signature);
}

/// kDenied, with what the service says, where it gives none.
Result<Credentials> exchange(HttpClient& http, const std::string& uri, const HeaderList& fields,
                             const std::string& origin, const char* remedy) {
  ZARRFS_TRY(const ServiceAnswer answer,
             ask_service(http, form_request(uri, fields), "Google's token service"));
  auto token = token_in(answer.text, origin);
  if (answer.status == 200 && token) return std::move(*token);
  const auto json = parse_json(answer.text, "a refusal");
  const bool told = json && json->is_object();
  const std::string error = told ? member_text(*json, "error") : "";
  return fail(Fault::kDenied,
              origin + ": Google's token service gives no token: status " +
                  std::to_string(answer.status) + " " + printable(error) + " " +
                  printable(told ? member_text(*json, "error_description") : "", 400) +
                  (error == "invalid_grant" ? std::string("; ") + remedy : std::string()));
}

Result<Credentials> of_service_account(HttpClient& http, const Json& account,
                                       const std::string& uri, const std::string& file) {
  const std::string origin = "a service account (" + file + ")";
  if (member_text(account, "client_email").empty()) {
    return fail(Fault::kDenied, file + ": has no client_email");
  }
  const auto made = assertion(account, uri);
  if (!made) return fail(Fault::kDenied, file + ": private_key is no private key of RSA");
  return exchange(http, uri, {{"grant_type", kOfAssertion}, {"assertion", *made}}, origin,
                  "the key may have been deleted, or this machine's clock is off (timedatectl "
                  "set-ntp true)");
}

Result<Credentials> of_person(HttpClient& http, const Json& person, const std::string& uri,
                              const std::string& file) {
  HeaderList fields{{"grant_type", "refresh_token"}};
  for (const char* name : {"client_id", "client_secret", "refresh_token"}) {
    fields.emplace_back(name, member_text(person, name));
    if (fields.back().second.empty()) return fail(Fault::kDenied, file + ": has no " + name);
  }
  return exchange(http, uri, fields, "gcloud's login (" + file + ")",
                  "log in anew: gcloud auth application-default login");
}

Result<Credentials> of_file(HttpClient& http, const std::string& text, const std::string& file) {
  const auto parsed = parse_json(text, file);
  if (!parsed || !parsed->is_object()) return fail(Fault::kDenied, file + ": is no JSON object");
  const Json& json = *parsed;
  const std::string type = member_text(json, "type");
  const std::string told = member_text(json, "token_uri");
  const std::string uri = told.empty() ? kTokenUri : told;
  ZARRFS_CHECK(check_private(uri, file + ": token_uri"));
  if (type == "service_account") return of_service_account(http, json, uri, file);
  if (type == "authorized_user") return of_person(http, json, uri, file);
  return fail(Fault::kDenied,
              file + ": zarrfs knows service_account and authorized_user, and not type \"" +
                  printable(type) +
                  "\": let CLOUDSDK_AUTH_ACCESS_TOKEN_FILE name a file that "
                  "holds what `gcloud auth print-access-token` prints");
}

/// Nothing where there is no such file.
Result<std::optional<Credentials>> of_defaults(HttpClient& http, const Environment& environment) {
  const auto named = environment(kNamed);
  const std::string folder =
      environment("CLOUDSDK_CONFIG")
          .value_or(environment("HOME").value_or("/root") + "/.config/gcloud");
  const std::string file = named.value_or(folder + "/" + kDefaults);
  const auto text = read_key_file(file);
  if (!text && named) {
    return fail(Fault::kDenied, file + " (" + kNamed + ") cannot be read");
  }
  if (!text) return std::nullopt;
  ZARRFS_TRY(Credentials found, of_file(http, *text, file));
  return found;
}

std::optional<Credentials> of_machine(HttpClient& http, const Environment& environment) {
  const std::string host = environment("GCE_METADATA_HOST").value_or("metadata.google.internal");
  HttpRequest request = service_request(
      "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token");
  request.headers.emplace_back("Metadata-Flavor", "Google");
  const auto answer = fetch_from(http, std::move(request), "the machine's service account");
  return answer ? token_in(*answer, "the machine's service account") : std::nullopt;
}

}  // namespace

Result<Credentials> find_google_token(HttpClient& http, const Environment& environment) {
  if (const auto token = environment("GOOGLE_OAUTH_ACCESS_TOKEN")) {
    return Credentials{
        .key = {}, .token = *token, .origin = "the environment (GOOGLE_OAUTH_ACCESS_TOKEN)"};
  }
  if (const auto file = environment("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE")) {
    const auto text = read_key_file(*file);
    if (text) {
      return Credentials{.key = {},
                         .token = stripped(*text),
                         .expires = present_time() + kLifeOfFile,
                         .origin = "a file (CLOUDSDK_AUTH_ACCESS_TOKEN_FILE)"};
    }
    return fail(Fault::kDenied, *file + " (CLOUDSDK_AUTH_ACCESS_TOKEN_FILE) cannot be read");
  }
  ZARRFS_TRY(auto found, of_defaults(http, environment));
  if (!found) found = of_machine(http, environment);
  if (found) return std::move(*found);
  return fail(Fault::kDenied,
              "no credentials: not in GOOGLE_OAUTH_ACCESS_TOKEN, not in the file "
              "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE, not in GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, "
              "not in GOOGLE_APPLICATION_CREDENTIALS or of `gcloud auth application-default "
              "login`, and not of the machine; -o anonymous reads what is public");
}

}  // namespace zarrfs
