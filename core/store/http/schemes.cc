#include "core/store/http/schemes.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace zarrfs {
namespace {

constexpr std::array kSchemes = {
    Scheme{.name = "file"},
    Scheme{.name = "http", .client = make_web_client},
    Scheme{.name = "https", .client = make_web_client},
    Scheme{.name = "s3",
           .client = make_s3_client,
           .bucket = true,
           .written = true,
           .certificates = "AWS_CA_BUNDLE"},
    Scheme{.name = "gs", .client = make_google_client, .bucket = true, .written = true},
    Scheme{.name = "az", .client = make_azure_client, .bucket = true, .written = true},
    Scheme{.name = "abfs", .client = make_azure_client, .bucket = true, .written = true},
    Scheme{.name = "abfss", .client = make_azure_client, .bucket = true, .written = true},
};

template <class Wanted>
std::string names_of(const Wanted& wanted, std::string_view ending, std::string_view between) {
  std::string names;
  for (const Scheme& scheme : kSchemes) {
    if (!wanted(scheme)) continue;
    if (!names.empty()) names += between;
    names += scheme.name;
    names += ending;
  }
  return names;
}

bool may_be_in_scheme(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '+' || letter == '-' ||
         letter == '.';
}

}  // namespace

std::span<const Scheme> schemes() { return kSchemes; }

const Scheme* scheme_named(std::string_view name) {
  const auto* const found =
      std::find_if(kSchemes.begin(), kSchemes.end(),
                   [name](const Scheme& scheme) { return scheme.name == name; });
  return found == kSchemes.end() ? nullptr : found;
}

std::string_view scheme_name(std::string_view source) {
  const std::size_t colon = source.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = source.substr(0, colon);
  if (!std::all_of(scheme.begin(), scheme.end(), may_be_in_scheme)) return {};
  const std::string_view rest = source.substr(colon + 1);
  const bool url = rest.starts_with("//") || (scheme == "file" && rest.starts_with("/"));
  return url ? scheme : std::string_view{};
}

std::string trusted_certificates(const Scheme& scheme, const RemoteOptions& options,
                                 const Environment& environment) {
  if (!options.ca_file.empty() || scheme.certificates == nullptr) return options.ca_file;
  return environment(scheme.certificates).value_or("");
}

std::string server_schemes() {
  return names_of([](const Scheme& scheme) { return scheme.client != nullptr; }, "", ", ");
}

std::string written_schemes() {
  return names_of([](const Scheme& scheme) { return scheme.written; }, "://", ", ");
}

std::string source_kinds() {
  return "a directory, a .zip or .b2nd file, or a URL (" +
         names_of([](const Scheme&) { return true; }, "", ", ") +
         "); icechunk:SOURCE?branch=NAME (tag=, snapshot=) for a revision of an Icechunk "
         "repository";
}

}  // namespace zarrfs
