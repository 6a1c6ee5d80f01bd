#include "core/store/http/credentials.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "core/base/json.h"
#include "core/base/lower_case.h"
#include "core/store/http/amazon_chains.h"
#include "core/store/http/command_output.h"
#include "core/store/http/key_services.h"

namespace zarrfs {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr const char* kMachineService = "http://169.254.169.254";
constexpr std::size_t kMostRoles = 8;  // that follow each other

/// Sections of ~/.aws/credentials, and those of ~/.aws/config, which call theirs "profile a".
Sections read_profiles(const Environment& environment) {
  const std::string home = environment("HOME").value_or("/root");
  const auto path_of = [&](const char* variable, const char* name) {
    return environment(variable).value_or(home + "/.aws/" + name);
  };
  Sections all = parse_sections(
      read_key_file(path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials")).value_or(""));
  for (auto& [name, values] :
       parse_sections(read_key_file(path_of("AWS_CONFIG_FILE", "config")).value_or(""))) {
    constexpr std::string_view kPrefix = "profile ";
    const std::string profile = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
    all[profile].insert(values.begin(), values.end());
  }
  return all;
}

}  // namespace

std::optional<std::string> setting_in(const Sections& sections, const std::string& profile,
                                      const std::string& name) {
  const auto section = sections.find(profile);
  if (section == sections.end()) return std::nullopt;
  const auto found = section->second.find(name);
  if (found == section->second.end()) return std::nullopt;
  return found->second;
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

Sections parse_sections(std::string_view text) {
  Sections sections;
  std::map<std::string, std::string>* current = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string line = stripped(raw);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      const std::size_t close = line.find(']');
      current =
          close == std::string::npos ? nullptr : &sections[stripped(line.substr(1, close - 1))];
      continue;
    }
    // Indented lines belong to nested settings, which mean nothing here.
    const bool nested = std::isspace(static_cast<unsigned char>(raw[0])) != 0;
    const std::size_t equals = line.find('=');
    if (current == nullptr || nested || equals == std::string::npos) continue;
    (*current)[lower_case(stripped(line.substr(0, equals)))] = stripped(line.substr(equals + 1));
  }
  return sections;
}

std::optional<std::int64_t> parse_iso_time(const std::string& text) {
  struct tm parts {};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&parts));
}

Result<Credentials> parse_credentials(std::string_view json, const std::string& from) {
  auto parsed = parse_json(std::string(json), from);
  if (!parsed || !parsed->is_object()) {
    return fail(Fault::kInvalid, from + " does not answer with a JSON object");
  }
  Credentials found;
  found.key.id = member_text(*parsed, "AccessKeyId");
  found.key.secret = member_text(*parsed, "SecretAccessKey");
  found.key.session_token = member_text(*parsed, "SessionToken");
  if (found.key.session_token.empty()) found.key.session_token = member_text(*parsed, "Token");
  if (found.key.id.empty() || found.key.secret.empty()) {
    return fail(Fault::kInvalid, from + " answers without AccessKeyId or SecretAccessKey");
  }
  found.expires = parse_iso_time(member_text(*parsed, "Expiration"));
  return found;
}

CredentialSource::CredentialSource(HttpClient& http, Environment environment, std::string profile)
    : http_(http),
      environment_(std::move(environment)),
      profile_was_named_(!profile.empty()),
      profile_(profile_was_named_ ? std::move(profile)
                                  : environment_("AWS_PROFILE").value_or("default")) {}

std::optional<std::string> CredentialSource::setting(const std::string& name) const {
  return setting_in(read_profiles(environment_), profile_, name);
}

Result<Credentials> CredentialSource::find() const {
  // A profile that was named goes before the environment.
  if (!profile_was_named_) {
    if (auto found = from_environment()) return std::move(*found);
    ZARRFS_TRY(auto web, from_web_identity());
    if (web) return std::move(*web);
  }
  const Sections sections = read_profiles(environment_);
  ZARRFS_TRY(auto of_profile, from_profile(sections, profile_, {}));
  if (of_profile) return std::move(*of_profile);
  if (profile_was_named_ && !sections.contains(profile_)) {
    return fail(Fault::kDenied, "there is no profile \"" + profile_ + "\" in ~/.aws");
  }
  ZARRFS_TRY(auto container, from_container());
  if (container) return std::move(*container);
  ZARRFS_TRY(auto machine, from_machine());
  if (machine) return std::move(*machine);
  return fail(Fault::kDenied,
              "no credentials: not in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in profile "
              "\"" +
                  profile_ +
                  "\" of ~/.aws/credentials, and not of the machine; -o anonymous reads what is "
                  "public");
}

std::optional<Credentials> CredentialSource::from_environment() const {
  const auto id = environment_("AWS_ACCESS_KEY_ID");
  const auto secret = environment_("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret) return std::nullopt;
  return Credentials{.key = {*id, *secret, environment_("AWS_SESSION_TOKEN").value_or("")},
                     .origin = "the environment (AWS_ACCESS_KEY_ID)"};
}

Result<std::optional<Credentials>> CredentialSource::from_web_identity() const {
  const auto file = environment_("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto arn = environment_("AWS_ROLE_ARN");
  if (!file || !arn) return std::nullopt;
  const AssumedRole role{.arn = *arn,
                         .session = environment_("AWS_ROLE_SESSION_NAME").value_or("zarrfs"),
                         .region = token_service_region(environment_, std::nullopt),
                         .origin = "a web identity (AWS_WEB_IDENTITY_TOKEN_FILE)"};
  ZARRFS_TRY(Credentials found, assume_role_by_token(http_, environment_, role, *file));
  return found;
}

/// `asked`: the profiles that have roles which are to be assumed with the keys of this one.
Result<std::optional<Credentials>> CredentialSource::from_profile(
    const Sections& sections, const std::string& profile, std::vector<std::string> asked) const {
  const auto setting = [&](const char* name) { return setting_in(sections, profile, name); };
  // A role may be assumed with the keys that stand beside it.
  const bool of_itself = std::find(asked.begin(), asked.end(), profile) != asked.end();
  if (!of_itself && setting("role_arn")) return from_role(sections, profile, std::move(asked));
  if (!of_itself && (setting("sso_session") || setting("sso_start_url"))) {
    ZARRFS_TRY(Credentials found, sso_credentials(http_, environment_, sections, profile));
    return found;
  }
  const auto id = setting("aws_access_key_id");
  const auto secret = setting("aws_secret_access_key");
  if (id && secret) {
    return Credentials{.key = {*id, *secret, setting("aws_session_token").value_or("")},
                       .origin = "profile \"" + profile + "\" of ~/.aws"};
  }
  const auto command = setting("credential_process");
  if (of_itself || !command) return std::nullopt;
  const std::string name = "credential_process of profile \"" + profile + "\"";
  ZARRFS_TRY(const std::string json, command_output(*command, name, kPatience));
  ZARRFS_TRY(Credentials found, parse_credentials(json, name));
  found.origin = name;
  return found;
}

Result<std::optional<Credentials>> CredentialSource::from_role(
    const Sections& sections, const std::string& profile, std::vector<std::string> asked) const {
  ZARRFS_TRY(const AssumedRole role, role_in(environment_, sections, profile));
  if (const auto file = setting_in(sections, profile, "web_identity_token_file")) {
    ZARRFS_TRY(Credentials found, assume_role_by_token(http_, environment_, role, *file));
    return found;
  }
  asked.push_back(profile);
  ZARRFS_TRY(const Credentials by, from_source(sections, profile, asked));
  ZARRFS_TRY(Credentials found, assume_role(http_, environment_, role, by));
  return found;
}

/// What a role is assumed with.
Result<Credentials> CredentialSource::from_source(const Sections& sections,
                                                  const std::string& profile,
                                                  const std::vector<std::string>& asked) const {
  const std::string name = "profile \"" + profile + "\" of ~/.aws";
  const auto other = setting_in(sections, profile, "source_profile");
  const auto kind = setting_in(sections, profile, "credential_source");
  Found found;
  if (other && asked.size() <= kMostRoles) {
    ZARRFS_TRY(found, from_profile(sections, *other, asked));
  } else if (kind == "Environment") {
    found = from_environment();
  } else if (kind == "EcsContainer") {
    ZARRFS_TRY(found, from_container());
  } else if (kind == "Ec2InstanceMetadata") {
    ZARRFS_TRY(found, from_machine());
  } else {
    return fail(Fault::kDenied,
                name + (other ? ": its source_profile leads to ever more roles"
                              : " has role_arn, but neither source_profile nor a "
                                "credential_source that is Environment, EcsContainer or "
                                "Ec2InstanceMetadata"));
  }
  if (found) return std::move(*found);
  return fail(Fault::kDenied, name + ": its role is to be assumed with the keys of " +
                                  (other ? "profile \"" + *other + "\"" : *kind) +
                                  ", which has none");
}

Result<std::optional<Credentials>> CredentialSource::from_container() const {
  std::optional<std::string> url = environment_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (const auto path = environment_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    url = "http://169.254.170.2" + *path;
  }
  if (!url) return std::nullopt;
  HttpRequest request = service_request(*url);
  std::optional<std::string> token = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = environment_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    token = read_key_file(*file);
  }
  if (token) request.headers.emplace_back("Authorization", stripped(*token));
  ZARRFS_TRY(const std::string json,
             fetch_from(http_, std::move(request), "the container's credentials"));
  ZARRFS_TRY(Credentials found, parse_credentials(json, "the container's credentials"));
  found.origin = "the container";
  return found;
}

Result<std::optional<Credentials>> CredentialSource::from_machine() const {
  if (environment_("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  const std::string base =
      environment_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(kMachineService);
  HttpRequest ask = service_request(base + "/latest/api/token");
  ask.method = "PUT";
  ask.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds", "21600");
  const auto token = fetch_from(http_, std::move(ask), "the machine's credentials");
  if (!token) return std::nullopt;  // not a machine of Amazon's
  const auto with_token = [&](const std::string& path) {
    HttpRequest request = service_request(base + path);
    request.headers.emplace_back("X-aws-ec2-metadata-token", stripped(*token));
    return fetch_from(http_, std::move(request), "the machine's credentials");
  };
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  const auto role = with_token(roles);
  if (!role) return std::nullopt;  // it has no role
  ZARRFS_TRY(const std::string json,
             with_token(roles + stripped(std::string_view(*role).substr(0, role->find('\n')))));
  ZARRFS_TRY(Credentials found, parse_credentials(json, "the machine's credentials"));
  found.origin = "the machine's role";
  return found;
}

}  // namespace zarrfs
