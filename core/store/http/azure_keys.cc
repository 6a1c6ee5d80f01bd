#include "core/store/http/azure_keys.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <utility>

#include "core/base/base64.h"
#include "core/base/iso_time.h"
#include "core/base/lower_case.h"
#include "core/store/http/key_services.h"
#include "core/store/http/url.h"

namespace zarrfs {
namespace {

constexpr const char* kIdentityService = "http://169.254.169.254";
constexpr std::int64_t kLifeOfSas = 3600;  // seconds
constexpr const char* kSasVersion = "2020-10-02";
constexpr const char* kString = "AZURE_STORAGE_CONNECTION_STRING";
// Of every Azurite; "Use the Azurite emulator" publishes it.
constexpr const char* kEmulatorKey =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

Result<std::string> decoded_key(const std::string& text, const char* variable) {
  const auto bytes = from_base64(text);
  if (bytes && !bytes->empty()) return std::string(bytes->begin(), bytes->end());
  return fail(Fault::kInvalid, std::string(variable) + ": its key is no base64");
}

std::string without_question(const std::string& sas) {
  return sas.starts_with('?') ? sas.substr(1) : sas;
}

/// "Name=value;Name=value", with names in lower case.
std::map<std::string, std::string> parts_of(std::string_view text) {
  std::map<std::string, std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    parts[lower_case(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return parts;
}

Result<AzureAccount> of_connection_string(const std::string& text) {
  auto parts = parts_of(text);
  if (parts["usedevelopmentstorage"] == "true") {
    parts.try_emplace("accountname", "devstoreaccount1");
    parts.try_emplace("accountkey", kEmulatorKey);
    parts.try_emplace("blobendpoint", "http://127.0.0.1:10000/devstoreaccount1");
  }
  AzureAccount account{.name = parts["accountname"],
                       .sas = without_question(parts["sharedaccesssignature"]),
                       .endpoint = parts["blobendpoint"],
                       .origin = std::string("the environment (") + kString + ")"};
  if (!parts["accountkey"].empty()) {
    ZARRFS_TRY(account.key, decoded_key(parts["accountkey"], kString));
  }
  const std::string suffix = parts["endpointsuffix"];
  if (account.endpoint.empty() && !suffix.empty() && !account.name.empty()) {
    const std::string protocol = parts["defaultendpointsprotocol"];
    account.endpoint =
        (protocol.empty() ? "https" : protocol) + "://" + account.name + ".blob." + suffix;
  }
  if (account.name.empty() && account.endpoint.empty()) {
    return fail(Fault::kInvalid, std::string(kString) + ": names no account");
  }
  return account;
}

/// Of a query: the names in order and in lower case, with their values, decoded.
std::string canonical_parameters(std::string_view query) {
  std::map<std::string, std::string> parameters;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    const std::size_t equals = std::min(one.size(), one.find('='));
    const auto value = percent_decode(one.substr(std::min(one.size(), equals + 1)));
    parameters[lower_case(one.substr(0, equals))] = value.value_or("");
  }
  std::string text;
  for (const auto& [name, value] : parameters) {
    text += '\n';
    text += name;
    text += ':';
    text += value;
  }
  return text;
}

}  // namespace

Result<AzureAccount> azure_account(const Environment& environment) {
  if (const auto text = environment(kString)) return of_connection_string(*text);
  AzureAccount account{.name = environment("AZURE_STORAGE_ACCOUNT").value_or("")};
  if (const auto key = environment("AZURE_STORAGE_KEY")) {
    ZARRFS_TRY(account.key, decoded_key(*key, "AZURE_STORAGE_KEY"));
    account.origin = "the environment (AZURE_STORAGE_KEY)";
  } else if (const auto sas = environment("AZURE_STORAGE_SAS_TOKEN")) {
    account.sas = without_question(*sas);
    account.origin = "the environment (AZURE_STORAGE_SAS_TOKEN)";
  }
  return account;
}

bool is_sas(const std::string& query) {
  return query.starts_with("sig=") || query.find("&sig=") != std::string::npos;
}

std::string shared_key(const Signable& request, std::uint64_t body, const std::string& account,
                       const std::string& key) {
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers) headers[lower_case(name)] = value;
  if (body > 0) headers["content-length"] = std::to_string(body);
  std::string text = request.method + "\n";
  for (const char* name :
       {"content-encoding", "content-language", "content-length", "content-md5", "content-type",
        "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"}) {
    text += headers[name] + "\n";
  }
  for (const auto& [name, value] : headers) {
    if (name.starts_with("x-ms-")) text += name + ":" + value + "\n";
  }
  text += "/" + account + request.path + canonical_parameters(request.query);
  return "SharedKey " + account + ":" + to_base64(ByteView(hmac_sha256(key, text)));
}

std::string reading_sas(const std::string& path, const std::string& key, std::int64_t now) {
  const std::string end = iso_time(now + kLifeOfSas);
  const std::string version = kSasVersion;
  // Between and behind these: what narrows it, and headers that the answer is to have.
  const std::string text = "r\n\n" + end + "\n" + path + "\n\n\n\n" + version + "\nb\n\n\n\n\n\n";
  return "sp=r&sr=b&sv=" + version + "&se=" + percent_encode(end, false) +
         "&sig=" + percent_encode(to_base64(ByteView(hmac_sha256(key, text))), false);
}

Result<Credentials> find_azure_token(HttpClient& http, const Environment& environment) {
  HttpRequest request =
      service_request(environment("AZURE_POD_IDENTITY_AUTHORITY_HOST").value_or(kIdentityService) +
                      "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=" +
                      percent_encode("https://storage.azure.com/", false));
  if (const auto id = environment("AZURE_CLIENT_ID")) {
    request.url += "&client_id=" + percent_encode(*id, false);
  }
  request.headers.emplace_back("Metadata", "true");
  request.fresh = true;
  const std::string identity = "the machine's managed identity";
  const auto answer = fetch_from(http, std::move(request), identity);
  auto found = answer ? token_in(*answer, identity) : std::nullopt;
  if (found) return std::move(*found);
  return fail(Fault::kDenied,
              std::string("no credentials: not in ") + kString +
                  ", not in AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, and the machine has no "
                  "managed identity; -o anonymous reads what is public");
}

}  // namespace zarrfs
