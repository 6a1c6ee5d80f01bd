// The credentials of Azure's storage accounts: where they are found, which is where Azure's own
// tools look for them, and how a key signs a request. Secrets never get into messages. Source:
// "Authorize with Shared Key", "Configure Azure Storage connection strings", "Azure Instance
// Metadata Service". Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "core/store/http/credentials.h"
#include "core/store/http/signer.h"

namespace zarrfs {

/// What the environment says of an account; empty where it does not say.
struct AzureAccount {
  std::string name = {};
  std::string key = {};       ///< Bytes.
  std::string sas = {};       ///< A query, without '?'.
  std::string endpoint = {};  ///< A URL, with all that stands before the container.
  std::string origin = {};    ///< Where key or SAS are from.
};

/// Of AZURE_STORAGE_CONNECTION_STRING, else of AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or
/// AZURE_STORAGE_SAS_TOKEN. kInvalid, naming the variable, where one cannot be read.
Result<AzureAccount> azure_account(const Environment& environment);

/// A query of a URL that is a SAS: it has a signature.
bool is_sas(const std::string& query);

/// The value of the header Authorization for `request`, which has its x-ms-date; `body`: bytes that
/// go with it.
std::string shared_key(const Signable& request, std::uint64_t body, const std::string& account,
                       const std::string& key);

/// A SAS by which one blob can be read for an hour: Azure copies with that. `path`: "/blob/ACCOUNT/
/// CONTAINER/KEY", not encoded. Source: "Create a service SAS", of the version it names.
std::string reading_sas(const std::string& path, const std::string& key, std::int64_t now);

/// A token for storage, of the identity that Azure gave this machine (AZURE_CLIENT_ID chooses one).
Result<Credentials> find_azure_token(HttpClient& http, const Environment& environment);

}  // namespace zarrfs
