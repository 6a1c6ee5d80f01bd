// The certificates that TLS trusts where no option names any: those of whichever system the program
// runs on. Sources: openssl-env(7) (SSL_CERT_FILE, SSL_CERT_DIR), curl(1) (CURL_CA_BUNDLE), and
// where distributions keep them.
#pragma once

#include <string>

#include "core/store/http/credentials.h"

namespace zarrfs {

struct Certificates {
  std::string file;       ///< Of many certificates (PEM); may be empty.
  std::string directory;  ///< Of certificates under the hashes of their names; may be empty.
  std::string origin;  ///< Where they are from, for messages; where there are none, what was tried.
};

/// What the environment names, whether it is there or not: SSL_CERT_FILE and SSL_CERT_DIR, else
/// CURL_CA_BUNDLE; a name that is empty counts for none. Else the first place that is there, below
/// `root`. Reads the file system.
Certificates find_certificates(const Environment& environment, const std::string& root);

/// Of this process and machine, found once. Thread-safe.
const Certificates& system_certificates();

}  // namespace zarrfs
