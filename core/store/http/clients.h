// The clients of the table of schemes, a file each.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/store/http/credentials.h"
#include "core/store/http/object_client.h"
#include "core/store/http/options.h"
#include "core/store/http/url.h"

namespace zarrfs {

using MakeClient = Result<std::unique_ptr<ObjectClient>>(const Url& url,
                                                         const RemoteOptions& options,
                                                         HttpClient& http,
                                                         const Environment& environment);

MakeClient make_web_client;     ///< Any server of files.
MakeClient make_s3_client;      ///< Amazon's, or another one that speaks S3.
MakeClient make_google_client;  ///< Google Cloud Storage, by its XML API.
MakeClient make_azure_client;   ///< Azure Blob Storage.

}  // namespace zarrfs
