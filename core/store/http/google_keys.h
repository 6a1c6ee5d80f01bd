// Tokens for Google's storage: where Google's own tools look for credentials. Secrets never get
// into messages. Source: "How Application Default Credentials works", "Using OAuth 2.0 for Server
// to Server Applications", "Access Compute Engine VM metadata". Thread-safe.
#pragma once

#include "core/store/http/credentials.h"

namespace zarrfs {

/// A token: from GOOGLE_OAUTH_ACCESS_TOKEN, the file named by CLOUDSDK_AUTH_ACCESS_TOKEN_FILE (good
/// for 10 minutes), the application default credentials (of GOOGLE_APPLICATION_CREDENTIALS or
/// gcloud: a service account, or a person who has logged in), or the machine's service account.
/// kDenied, saying where it looked, where there are none.
Result<Credentials> find_google_token(HttpClient& http, const Environment& environment);

}  // namespace zarrfs
