#include "core/store/http/certificates.h"

#include <unistd.h>

#include <array>

namespace zarrfs {
namespace {

constexpr std::array kFiles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine, Gentoo
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, Red Hat and their clones
    "/etc/pki/tls/certs/ca-bundle.crt",                   // older ones of these
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/var/lib/ca-certificates/ca-bundle.pem",             // SUSE
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",   // Arch
    "/etc/ssl/cert.pem",                                  // Alpine
};
constexpr const char* kDirectory = "/etc/ssl/certs";

std::string value(const Environment& environment, const std::string& name) {
  return environment(name).value_or("");
}

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + " and " + other;
}

}  // namespace

Certificates find_certificates(const Environment& environment, const std::string& root) {
  const std::string file = value(environment, "SSL_CERT_FILE");
  const std::string directory = value(environment, "SSL_CERT_DIR");
  if (!file.empty() || !directory.empty()) return {file, directory, joined(file, directory)};
  if (const std::string bundle = value(environment, "CURL_CA_BUNDLE"); !bundle.empty()) {
    return {bundle, "", bundle};
  }
  std::string tried = "no SSL_CERT_FILE, SSL_CERT_DIR or CURL_CA_BUNDLE is set, and there is no ";
  for (const char* const known : kFiles) {
    const std::string path = root + known;
    if (::access(path.c_str(), R_OK) == 0) return {path, "", path};
    tried += path + ", ";
  }
  const std::string path = root + kDirectory;
  if (::access(path.c_str(), R_OK | X_OK) == 0) return {"", path, path};
  return {"", "", tried + "nor " + path};
}

const Certificates& system_certificates() {
  static const Certificates found = find_certificates(process_environment(), "");
  return found;
}

}  // namespace zarrfs
