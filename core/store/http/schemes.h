// The one table of schemes: what may stand before "://" in a SOURCE, who serves it, and what can be
// done there. Mounts, commands, the doctor, messages and the manual read it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/store/http/clients.h"

namespace zarrfs {

struct Scheme {
  std::string_view name;  ///< Lower case.
  /// The client of such a server; null for files of this machine.
  MakeClient* client = nullptr;
  /// Whether it names a bucket: objects that are listed, under keys that are not percent-encoded.
  bool bucket = false;
  /// Whether it is written to, by way of the spool. Until what is written is there it is one
  /// user's: such a mount is not for others.
  bool written = false;
  /// The environment's variable of the file of certificates that its other programs trust.
  const char* certificates = nullptr;
};

std::span<const Scheme> schemes();

/// The scheme of that name; null where there is none.
const Scheme* scheme_named(std::string_view name);

/// What stands before "://" in `source` ("file" of "file:/a", too); empty for a path.
std::string_view scheme_name(std::string_view source);

/// A file of certificates (PEM): the option's, else that of the scheme's variable; empty: the
/// system's.
std::string trusted_certificates(const Scheme& scheme, const RemoteOptions& options,
                                 const Environment& environment);

/// For messages and the manual, in the table's order: "http, https". All but those of this machine,
/// or those that are written to.
std::string server_schemes();
std::string written_schemes();
/// What SOURCE may be: "a directory, ..., or a URL (file, http)".
std::string source_kinds();

}  // namespace zarrfs
