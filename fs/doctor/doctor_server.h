// What a store at a server needs for being read, and written to, tried in turn: name, connection,
// clock, credentials, bucket, document, ranges, versions, conditional writes. Reads only, but for
// `writing`, which puts an object of its own and removes it. The same of an object that a store
// names. One thread at a time.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/store/http/options.h"
#include "fs/doctor/doctor.h"

namespace zarrfs {

struct ServerFinding {
  std::string name;
  Finding finding;
  std::string remedy;      ///< What to do where it is not good.
  std::string place = {};  ///< Where it is about chunks that lie elsewhere.
};
using TellServer = std::function<void(const ServerFinding&)>;

/// Tells each finding as soon as it is made; ends after one without which nothing else can be
/// tried. Returns whether a store can be read whose chunks may lie elsewhere. An Error where
/// `source` is no URL of a server, or an option is wrong.
Result<bool> examine_server(const std::string& source, const RemoteOptions& options, bool writing,
                            const TellServer& tell);

/// The same of the object `key` below the URL `root`, without asking for listings.
Result<void> examine_object(const std::string& root, const std::string& key,
                            const RemoteOptions& options, const TellServer& tell);

}  // namespace zarrfs
