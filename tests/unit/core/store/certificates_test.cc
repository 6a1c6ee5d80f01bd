#include "core/store/http/certificates.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "tests/support/temp_dir.h"

namespace zarrfs {
namespace {

Environment with(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto at = values.find(name);
    if (at == values.end()) return std::nullopt;
    return at->second;
  };
}

TEST(Certificates, TheEnvironmentNamesThemThereOrNot) {
  const TempDir root;
  root.write("etc/ssl/certs/ca-certificates.crt", "");
  const Certificates both = find_certificates(
      with({{"SSL_CERT_FILE", "/a.pem"}, {"SSL_CERT_DIR", "/b"}, {"CURL_CA_BUNDLE", "/c"}}),
      root.path());
  EXPECT_EQ(both.file, "/a.pem");
  EXPECT_EQ(both.directory, "/b");
  EXPECT_EQ(both.origin, "/a.pem and /b");
  const Certificates directory = find_certificates(with({{"SSL_CERT_DIR", "/b"}}), root.path());
  EXPECT_EQ(directory.file + "," + directory.directory + "," + directory.origin, ",/b,/b");
  const Certificates bundle =
      find_certificates(with({{"SSL_CERT_FILE", ""}, {"CURL_CA_BUNDLE", "/c"}}), root.path());
  EXPECT_EQ(bundle.file + "," + bundle.directory + "," + bundle.origin, "/c,,/c");
}

TEST(Certificates, OfEachDistribution) {
  for (const std::string place :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/var/lib/ca-certificates/ca-bundle.pem",
        "/etc/ca-certificates/extracted/tls-ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    const TempDir root;
    root.write(place.substr(1), "");
    const Certificates found = find_certificates(with({}), root.path());
    EXPECT_EQ(found.file, root.path() + place);
    EXPECT_EQ(found.directory, "");
    EXPECT_EQ(found.origin, root.path() + place);
  }
}

TEST(Certificates, ADirectoryOfThemWhereThereIsNoFile) {
  const TempDir root;
  root.write("etc/ssl/certs/0a1b2c3d.0", "");
  const Certificates found = find_certificates(with({}), root.path());
  EXPECT_EQ(found.file, "");
  EXPECT_EQ(found.directory, root.path() + "/etc/ssl/certs");
}

TEST(Certificates, WhatWasTriedIsNamed) {
  const TempDir root;
  const Certificates none = find_certificates(with({}), root.path());
  EXPECT_EQ(none.file + none.directory, "");
  for (const std::string name :
       {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    EXPECT_NE(none.origin.find(name), std::string::npos) << name << " in " << none.origin;
  }
}

}  // namespace
}  // namespace zarrfs
