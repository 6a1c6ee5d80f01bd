// What to do where a server refuses, in words for users: the one place that has them, for messages
// and for `zarrfs doctor`. Pure functions.
#pragma once

#include <string>

namespace zarrfs {

/// What was refused.
struct Refusal {
  int status = 0;
  std::string code = {};   ///< Of the service's answer; empty where it told none.
  bool of_bucket = false;  ///< By a server of S3 or Google.
  bool writes = false;     ///< Else something was read.
  bool of_object = false;  ///< Which may be absent; else a listing.
};

std::string advice_for(const Refusal& refusal);

}  // namespace zarrfs
