// Signs requests to S3 and what speaks like it. Source: AWS Signature Version 4 ("Create a signed
// AWS API request"). Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace zarrfs {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// Secrets: never in a message, a log or an argument of a program.
struct AccessKey {
  std::string id;
  std::string secret;
  std::string session_token;  ///< Empty where there is none.
};

/// What is signed.
struct Signable {
  std::string method;
  std::string path;    ///< As it is sent: percent-encoded, with the first slash.
  std::string query;   ///< As it is sent; in any order.
  HeaderList headers;  ///< With Host; every one of them is signed.
  std::string body_hash = "UNSIGNED-PAYLOAD";  ///< SHA-256 in hexadecimal.
};

struct SigningScope {
  std::string region;
  std::string service;
  bool google = false;  ///< By Google's names for the same: GOOG4-HMAC-SHA256.
};

/// "20130524T000000Z" of seconds since 1970.
std::string amazon_date(std::int64_t seconds);

/// The canonical request of `request`, which must hold x-amz-date already where it is to be signed.
std::string canonical_request(const Signable& request);

/// The value of the header Authorization for `request`, whose x-amz-date is `date`.
std::string authorization(const Signable& request, const AccessKey& key, const SigningScope& scope,
                          const std::string& date);

/// HMAC-SHA256 of `text`.
std::array<unsigned char, 32> hmac_sha256(std::string_view key, std::string_view text);

/// SHA-256 of `text`, in hexadecimal.
std::string sha256_hex(std::string_view text);

/// SHA-1 of `text`, in hexadecimal: for names that others give so, and nothing that is to be safe.
std::string sha1_hex(std::string_view text);

/// SHA-256 of what comes in pieces. One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(ByteView bytes);
  /// Once, at the end.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zarrfs
