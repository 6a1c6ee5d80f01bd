#include "core/store/http/advice.h"

#include <array>

namespace zarrfs {
namespace {

constexpr const char* kReadRights =
    "the credentials have expired, or lack the right to read objects and to list the bucket (S3: "
    "s3:GetObject, s3:ListBucket; Azure: sp=rl); requester_pays where the reader pays";
constexpr const char* kMayBeAbsent =
    "; where the bucket may not be listed, a missing object is answered so, too: absent=403";
constexpr const char* kWriteRights =
    "the credentials need the rights to get, put, delete and list (s3:PutObject, s3:DeleteObject)";

/// What servers say when they refuse, and what to do.
struct CodeAdvice {
  const char* code;
  const char* text;
};
constexpr std::array kCodeAdvice = {
    CodeAdvice{"InvalidAccessKeyId",
               "the server does not know this key: another profile (aws_profile), another server "
               "(endpoint), or a new key"},
    CodeAdvice{"SignatureDoesNotMatch",
               "the secret is not the one of this key, or a proxy changes the requests"},
    CodeAdvice{"ExpiredToken",
               "the credentials have expired: log in anew (for example `aws sso login`), or let "
               "credential_process get them"},
    CodeAdvice{"AuthorizationHeaderMalformed", "region=NAME, as the server says"},
    CodeAdvice{"PermanentRedirect", "the bucket is in another region: region=NAME"},
    CodeAdvice{"NoSuchBucket", "look at the bucket's name, endpoint, region and aws_profile"},
    CodeAdvice{"ContainerNotFound", "look at the account and the container in the URL"},
    CodeAdvice{
        "ResourceNotFound",
        "look at the account and the container in the URL; a container that is not public is "
        "answered so where requests go without credentials (anonymous)"},
    CodeAdvice{"PublicAccessNotPermitted",
               "nothing in this account is public: leave out anonymous, and give credentials"},
    CodeAdvice{"NoAuthenticationInformation", "it is not public: leave out anonymous"},
    CodeAdvice{"AuthenticationFailed",
               "the key or SAS is not one of this account, the SAS has expired or does not begin "
               "yet, or this machine's clock is off (timedatectl set-ntp true)"},
    CodeAdvice{"AuthorizationPermissionMismatch",
               "the SAS or the role lacks a right: to read and list (sp=rl, Storage Blob Data "
               "Reader), to write create, write and delete, too (sp=rlcwd, Storage Blob Data "
               "Contributor)"},
    CodeAdvice{"RequestTimeTooSkewed", "set this machine's clock (timedatectl set-ntp true)"},
};

std::string rights(const Refusal& refusal) {
  if (!refusal.of_bucket) return "the server lets nobody read it, or not with what ~/.netrc has";
  if (refusal.writes) return kWriteRights;
  return std::string(kReadRights) + (refusal.of_object ? kMayBeAbsent : "");
}

}  // namespace

std::string advice_for(const Refusal& refusal) {
  for (const CodeAdvice& one : kCodeAdvice) {
    if (refusal.code == one.code) return one.text;
  }
  const int status = refusal.status;
  if (status == 401) return "put name and password into ~/.netrc; for buckets, see credentials";
  if (status == 403) return rights(refusal);
  if (status >= 300 && status < 400) {
    return "the server points elsewhere, where requests with credentials do not go: give that URL";
  }
  if (status == 429 || status >= 500) {
    return "the server is overloaded or broken: try later, with fewer connections=";
  }
  return "look at the URL";
}

}  // namespace zarrfs
